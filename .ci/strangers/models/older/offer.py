"""Offers the tools of a server to models with SDKs that need the client `mcp` 1.

Prints a line for each SDK: its name, its version, and the error that has ended it.

Usage: offer.py MCP_URL KEY MODEL_URL
"""

import asyncio
import json
import sys
import urllib.request
from importlib.metadata import version

URL, KEY, MODEL = sys.argv[1:]
HEADERS = {"Authorization": f"Bearer {KEY}"}


async def semantic_kernel(model):
    from semantic_kernel import Kernel
    from semantic_kernel.connectors.ai.function_calling_utils import kernel_function_metadata_to_function_call_format
    from semantic_kernel.connectors.mcp import MCPStreamableHttpPlugin

    kernel = Kernel()
    async with MCPStreamableHttpPlugin("rolecall", URL, headers=HEADERS, load_prompts=False) as plugin:
        kernel.add_plugin(plugin)
        functions = kernel.get_full_list_of_function_metadata()
        send(model, map(kernel_function_metadata_to_function_call_format, functions))


async def autogen(model):
    from autogen_ext.tools.mcp import StreamableHttpServerParams, mcp_server_tools

    tools = await mcp_server_tools(StreamableHttpServerParams(url=URL, headers=HEADERS))
    send(model, (tool.schema for tool in tools))


def send(model, tools):
    """Sends what the SDK's models would send: they need many more packages."""
    body = json.dumps({"tools": list(tools)}).encode()
    urllib.request.urlopen(urllib.request.Request(model, body, {"Content-Type": "application/json"}))


async def langchain_openai(model):
    from langchain_openai import ChatOpenAI

    chat = ChatOpenAI(model="gpt-5", api_key="none", base_url=model, max_retries=0)
    await chat.bind_tools(await langchain_tools(), strict=True).ainvoke("Hello")


async def langchain_google(model):
    from langchain_google_genai import ChatGoogleGenerativeAI

    chat = ChatGoogleGenerativeAI(model="gemini-3-pro", api_key="none", base_url=model, max_retries=1)
    await chat.bind_tools(await langchain_tools()).ainvoke("Hello")


async def langchain_tools():
    from langchain_mcp_adapters.client import MultiServerMCPClient

    servers = {"rolecall": {"transport": "streamable_http", "url": URL, "headers": HEADERS}}
    return await MultiServerMCPClient(servers).get_tools()


for name, offer in [
    ("semantic-kernel", semantic_kernel),
    ("autogen-ext", autogen),
    ("langchain-openai", langchain_openai),
    ("langchain-google-genai", langchain_google),
]:
    error = None
    try:
        asyncio.run(offer(f"{MODEL}/{name}"))
    except Exception as raised:
        error = repr(raised)
    print(json.dumps([name, version(name), error]), flush=True)
