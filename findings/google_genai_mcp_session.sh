#!/usr/bin/env bash
# google-genai 3.6.1 with mcp 1.30.0 and 2.3.0: a session as a tool.
#
# One expects `GenerateContentConfig(tools=[session])` to work, as the documentation writes it. `generate_content` copies the
# configuration with everything in it, and a connected session cannot be copied, so it raises a TypeError before any request.
# The same configuration as a dictionary is not copied, and the tools are listed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >session.py <<'END'
import asyncio
from importlib.metadata import version

import anyio
from google import genai
from mcp import ClientSession
from mcp.types import ListToolsResult

listed = []


class Session(ClientSession):
    async def list_tools(self, *_, **__):
        listed.append(self)
        return ListToolsResult(tools=[])


async def use(kind):
    client = genai.Client(api_key="none", http_options={"base_url": "http://127.0.0.1:9"})
    _, reads = anyio.create_memory_object_stream(1)
    writes, _ = anyio.create_memory_object_stream(1)
    listed.clear()
    async with Session(reads, writes) as session:
        try:
            await client.aio.models.generate_content(model="gemini-3-pro", contents="Hello", config=kind(tools=[session]))
        except Exception as error:
            return type(error).__name__, len(listed)


for kind, expected in [(genai.types.GenerateContentConfig, ("TypeError", 0)), (dict, ("ConnectError", 1))]:
    error, times = asyncio.run(use(kind))
    print(f"mcp {version('mcp')}, {kind.__name__}: {error}, tools listed {times} times")
    assert (error, times) == expected, "google-genai treats sessions in another way now"
END
for mcp in 1.30.0 2.3.0; do
  python3 -m venv --clear venv
  venv/bin/pip install --quiet --disable-pip-version-check google-genai==3.6.1 "mcp==$mcp"
  venv/bin/python session.py
done
