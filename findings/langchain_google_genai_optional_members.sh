#!/usr/bin/env bash
# langchain-google-genai 4.4.3: the optional members of an object in a tool's arguments.
#
# One expects `required` to be passed on. For the arguments themselves, it is; for an object among them, it is ignored, and every
# member without a `default` is required, also if the schema says that it may be null. The model must invent them. A member stays
# optional only with a `default`, and arguments are safest without objects.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check langchain-google-genai==4.4.3
venv/bin/python - 2>/dev/null <<'END'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from langchain_core.tools import StructuredTool
from langchain_google_genai import ChatGoogleGenerativeAI

requests = []


class Model(BaseHTTPRequestHandler):
    """Keeps the request, and answers with an error."""

    def do_POST(self):
        requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(400)
        self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
model = ChatGoogleGenerativeAI(
    model="gemini-3-pro", api_key="none", base_url=f"http://127.0.0.1:{server.server_port}", max_retries=1
)
members = {
    "title": {"type": "string"},
    "team": {"type": "string"},
    "city": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "country": {"type": "string", "default": "DE"},
}
schema = {"type": "object", "properties": members, "required": ["title"]}
outer = {"type": "object", "properties": {"role": schema, **members}, "required": ["title"]}
tool = StructuredTool(name="save", description="Saves a role", args_schema=outer, func=print)
try:
    model.bind_tools([tool]).invoke("Hello")
except Exception:
    pass
parameters = requests[0]["tools"][0]["functionDeclarations"][0]["parameters"]
required = parameters["required"], parameters["properties"]["role"]["required"]
print("required arguments:", required[0])
print("required members of the object:", required[1])
if required != (["title"], ["title", "team", "city"]):
    raise SystemExit("langchain-google-genai requires other members now")
END
