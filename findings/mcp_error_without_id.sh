#!/usr/bin/env bash
# mcp (Python) 2.3.0: the error of a server that could not read the request's id.
#
# A server that refuses a request before it reads it, for example with 429, may answer with an error that has no `id`, as the
# specification of MCP says. One expects the client to show the message. It does not take such a body for an error, and says only
# "Server returned an error response". With `"id": null`, as JSON-RPC 2.0 writes it, or with the request's id, message and data
# arrive.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
venv/bin/python - <<'END'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from mcp import Client, MCPError

ERROR = {"code": -32000, "message": "The daily limit of 100 requests is used up.", "data": {"limit": 100}}


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        ids = {"/without": {}, "/null": {"id": None}, "/same": {"id": request.get("id")}}
        body = json.dumps({"jsonrpc": "2.0", "error": ERROR, **ids[self.path]}).encode()
        self.send_response(429)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


async def connect(path):
    """Returns what the client says about the error."""
    try:
        async with Client(f"http://127.0.0.1:{server.server_port}{path}", mode="legacy"):
            pass
    except BaseException as error:
        while isinstance(error, BaseExceptionGroup):
            [error] = error.exceptions
        assert isinstance(error, MCPError), error
        return error.error.message, error.error.data


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
shown = ERROR["message"], ERROR["data"]
for path, expected in [
    ("/without", ("Server returned an error response", None)),
    ("/null", shown),
    ("/same", shown),
]:
    found = asyncio.run(connect(path))
    print(path[1:], found)
    assert found == expected, "mcp reads errors in another way now"
END
