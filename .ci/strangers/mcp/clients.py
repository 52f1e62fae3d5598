"""Runs the Python clients of the Model Context Protocol from nothing but the address: mcp in both eras, and fastmcp.

Prints a row of the table for each.

Usage: clients.py MCP_URL TOOLS
"""

import asyncio
import re
import sys
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import fastmcp
import httpx2
from fastmcp.exceptions import ToolError
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp.types import ElicitResult

sys.path.append(str(Path(__file__).parents[2] / "clients"))
from member import Member

URL, TOOLS = sys.argv[1], int(sys.argv[2])
REDIRECT = "http://127.0.0.1:43121/callback"


async def main():
    for mode, era in [("legacy", "2025-11-25"), ("auto", "2026-07-28")]:
        asked = []
        member = Member()
        # Only a client with a handler says that it can ask. Legacy clients cannot be asked without a stream.
        handler = None if mode == "legacy" else lambda _, question: ask(asked, question)
        async with httpx2.AsyncClient(auth=Consent(member).provider, timeout=60) as http:
            transport = streamable_http_client(URL, http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=handler) as client:
                assert client.protocol_version == era, client.protocol_version
                listed = (await client.list_tools()).tools

                async def call(name, arguments):
                    result = await client.call_tool(name, arguments)
                    return result.structured_content, result.is_error and result.content[0].text

                way = await work(call, asked, member)
        row("mcp", era, listed, way)

    asked = []
    handler = lambda _, *question: accept(asked, question)
    # It opens a browser, which is browser.mjs here.
    async with fastmcp.Client(URL, auth="oauth", elicitation_handler=handler) as client:

        async def call(name, arguments):
            try:
                return (await client.call_tool(name, arguments)).structured_content, None
            except ToolError as error:
                return None, str(error)

        way = await work(call, asked, Member())
        row("fastmcp", client.session.protocol_version, await client.list_tools(), way)


async def ask(asked, question):
    asked.append(question.message)
    return ElicitResult(action="accept", content={"confirm": True})


async def accept(asked, question):
    asked.append(question[0])
    return {"confirm": True}


async def work(call, asked, member):
    """Reads, is refused, and does what must be confirmed. Returns how it was confirmed."""
    roles, refusal = await call("list_roles", {})
    assert not refusal and isinstance(roles["roles"], list), refusal
    _, refusal = await call("get_candidate", {"candidate_id": 1})
    assert refusal and "no such record" in refusal, refusal
    person = {"name": "Grace Hopper", "email": f"{uuid4()}@example.com"}
    candidate, refusal = await call("add_candidate", person)
    assert not refusal, refusal
    reject = {"candidate_id": candidate["id"], "action": "reject", "reason": "Prefers ships"}
    rejected, refusal = await call("move_candidate", reject)
    if refusal:
        [page] = re.findall(r"http\S+/dashboard/confirmations/[\w.~-]+", refusal)
        await asyncio.to_thread(member.confirm, page)
        rejected, refusal = await call("move_candidate", reject)
    assert not refusal and rejected["stage"] == "rejected", refusal
    return "in a form" if asked else "on a page"


def row(client, era, listed, way):
    assert len(listed) == TOOLS, listed
    print(f"{client:30} {version(client):8} {era:11} {len(listed):5}  {way}")


class Consent:
    """Registers the client and lets a member answer the consent page."""

    def __init__(self, member):
        self.member = member
        self.tokens = self.client = self.redirect = None
        # All that a client says about itself if it knows only the address.
        metadata = OAuthClientMetadata(client_name="A desktop host", redirect_uris=[REDIRECT])
        self.provider = OAuthClientProvider(URL, metadata, self, self.open, self.answer)

    async def open(self, url):
        assert self.redirect is None, "the member was asked twice"
        self.redirect = httpx2.URL(await asyncio.to_thread(self.member.allow, url))

    async def answer(self):
        answer = self.redirect.params
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


asyncio.run(main())
