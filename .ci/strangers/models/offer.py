"""Offers the tools of a server to models with SDKs that use the client `mcp` 2.

Prints a line for each SDK: its name, its version, and the error that has ended it.

Usage: offer.py MCP_URL KEY MODEL_URL
"""

import asyncio
import json
import sys
import urllib.request
from contextlib import asynccontextmanager
from importlib.metadata import version

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

URL, KEY, MODEL = sys.argv[1:]
HEADERS = {"Authorization": f"Bearer {KEY}"}


async def google_genai(model):
    from google import genai

    client = genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=model))
    async with session() as server:
        # A GenerateContentConfig would copy the session, which fails.
        config = {"tools": [server]}
        await client.aio.models.generate_content(model="gemini-3-pro", contents="Hello", config=config)


async def openai_agents(model):
    import agents
    from agents.mcp import MCPServerStreamableHttp

    agents.set_tracing_disabled(True)
    async with MCPServerStreamableHttp({"url": URL, "headers": HEADERS}) as server:
        agent = agents.Agent(
            name="recruiter",
            model=agents.OpenAIResponsesModel("gpt-5", openai_client(model)),
            mcp_servers=[server],
            mcp_config={"convert_schemas_to_strict": True},
        )
        await agents.Runner.run(agent, "Hello")


async def pydantic_ai(model):
    from dataclasses import replace

    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def strict(_, tools):
        return [replace(tool, strict=True) for tool in tools]

    provider = OpenAIProvider(openai_client=openai_client(model))
    toolset = MCPToolset(URL, headers=HEADERS).prepared(strict)
    await Agent(OpenAIResponsesModel("gpt-5", provider=provider), toolsets=[toolset]).run("Hello")


async def llama_index(model):
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    tools = await McpToolSpec(BasicMCPClient(URL, headers=HEADERS)).to_tool_list_async()
    # Its models are packages of their own, which send this.
    body = json.dumps({"tools": [tool.metadata.to_openai_tool() for tool in tools]}).encode()
    urllib.request.urlopen(urllib.request.Request(model, body, {"Content-Type": "application/json"}))


def openai_client(model):
    from openai import AsyncOpenAI

    return AsyncOpenAI(api_key="none", base_url=model, max_retries=0)


@asynccontextmanager
async def session():
    """A session of the client itself, in the legacy era."""
    async with (
        httpx2.AsyncClient(headers=HEADERS) as http,
        streamable_http_client(URL, http_client=http) as streams,
        ClientSession(*streams) as server,
    ):
        await server.initialize()
        yield server


for name, offer in [
    ("google-genai", google_genai),
    ("openai-agents", openai_agents),
    ("pydantic-ai-slim", pydantic_ai),
    ("llama-index-tools-mcp", llama_index),
]:
    error = None
    try:
        asyncio.run(offer(f"{MODEL}/{name}"))
    except Exception as raised:
        error = repr(raised)
    print(json.dumps([name, version(name), error]), flush=True)
