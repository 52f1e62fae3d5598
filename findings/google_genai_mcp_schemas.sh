#!/usr/bin/env bash
# google-genai 3.6.1 with mcp 2.3.0: what becomes of the schemas of a server's tools.
#
# One expects every valid schema of a tool to reach the model. But `additionalProperties: false`, which makes a schema strict and
# which most generators write, ends the conversion with an AttributeError, so no request is sent at all. And the description
# of an optional argument is lost if it stands beside `anyOf`, where generators put it; inside the alternative, it is kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check google-genai==3.6.1 mcp==2.3.0
venv/bin/python -W ignore - 2>/dev/null <<'END'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from google import genai
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.types import ListToolsResult, Tool

requests = []


class Model(BaseHTTPRequestHandler):
    """Keeps the request, and answers with an error."""

    def do_POST(self):
        requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(400)
        self.end_headers()

    def log_message(self, *_):
        pass


model = HTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
client = genai.Client(api_key="none", http_options={"base_url": f"http://127.0.0.1:{model.server_port}"})


async def offer(schema):
    """Returns the arguments that the model sees, or the error before the request."""
    async def list_tools(*_):
        return ListToolsResult(tools=[Tool(name="search", description="Searches", input_schema=schema)])

    async with Client(Server("search", on_list_tools=list_tools)) as server:
        requests.clear()
        try:
            await client.aio.models.generate_content(
                model="gemini-3-pro", contents="Hello", config={"tools": [server.session]}
            )
        except Exception as error:
            if not requests:
                return repr(error)
        return requests[0]["tools"][0]["functionDeclarations"][0]["parameters"]["properties"]


def check(what, schema, expected):
    found = asyncio.run(offer(schema))
    print(f"{what}: {found}")
    assert found == expected, "google-genai converts schemas in another way now"


text = {"type": "string"}
null = {"type": "null"}
words = {"description": "Words"}
seen = {"type": "STRING", "nullable": True}
check("closed", {"type": "object", "properties": {"q": text}, "additionalProperties": False},
      '''AttributeError("'bool' object has no attribute 'items'")''')
check("open", {"type": "object", "properties": {"q": text}}, {"q": {"type": "STRING"}})
check("beside", {"type": "object", "properties": {"q": {"anyOf": [text, null], **words}}}, {"q": seen})
check("inside", {"type": "object", "properties": {"q": {"anyOf": [{**text, **words}, null]}}}, {"q": {**seen, **words}})
END
