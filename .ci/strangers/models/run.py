"""Shows what models see of the tools: published SDKs read them from /mcp, and their requests to the model are recorded.

Each SDK must offer its model every tool with all arguments, their descriptions and their values. A strict SDK makes
every argument required, so the model must be able to answer null where an argument is optional.

Usage: run.py ROLECALL
"""

import json
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

FOLDER = Path(__file__).parent
# The AI SDK needs Node.js 22.
NODE = FOLDER.parents[1] / "mcp/node_modules/.bin/node"
PROGRAMS = [
    [FOLDER.parent / ".venv/bin/python", FOLDER / "offer.py"],
    [FOLDER / "older/.venv/bin/python", FOLDER / "older/offer.py"],
    [NODE, FOLDER / "offer.mjs"],
]


class Recorder(BaseHTTPRequestHandler):
    """Stands in for every model. Keeps the request under the first part of its path, and answers with an error."""

    requests = {}

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.requests.setdefault(unquote(self.path.split("/")[1]), body)
        answer = json.dumps({"error": {"message": "recorded", "code": 400, "type": "recorded"}}).encode()
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def main():
    command = [sys.argv[1], "--memory", "--demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
        try:
            base = service.stdout.readline().split()[1]
            key = service.stdout.readline().split()[2]
            failed = judge(list_tools(base, key), offers(base, key))
        finally:
            service.terminate()
    sys.exit(failed)


def list_tools(base, key):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{base}/mcp", message, headers)) as answer:
        return {tool["name"]: tool["inputSchema"] for tool in json.load(answer)["result"]["tools"]}


def offers(base, key):
    """Returns, by SDK, its version and what it has sent to the model, or why it has sent nothing."""
    recorder = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=recorder.serve_forever, daemon=True).start()
    model = f"http://127.0.0.1:{recorder.server_port}"
    errors = {}
    for program in PROGRAMS:
        command = [*program, f"{base}/mcp", key, model]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300)
        # One line for each SDK: its name, its version, and the error that has ended it.
        lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("[")]
        assert run.returncode == 0 and lines, f"{program[1]}: {run.stdout}{run.stderr}"
        errors |= {name: (version, error) for name, version, error in lines}
    recorder.shutdown()
    return {name: (version, Recorder.requests.get(name), error) for name, (version, error) in errors.items()}


def judge(tools, offers):
    failed = False
    print(f"{'SDK':30} {'version':8} offers")
    for name, (version, request, error) in offers.items():
        functions = {function["name"]: function for function in declarations(request)} if request else {}
        offered = {tool: schema(function) for tool, function in functions.items()}
        faults = {tool: list(compare(ours, offered[tool])) for tool, ours in tools.items() if tool in offered}
        intact = list(faults.values()).count([])
        is_strict = any(function.get("strict") for function in functions.values())
        print(f"{name:30} {version:8} {intact} of {len(tools)} tools{', strict' * is_strict}")
        if not request:
            print(f"    {error}")
        for tool in tools:
            for fault in faults.get(tool, ["is missing"] if request else []):
                print(f"    {tool}: {fault}")
        failed |= intact < len(tools)
    return failed


def declarations(request):
    """Yields the functions in a request to OpenAI (two forms), Anthropic or Google."""
    for tool in request["tools"]:
        for function in tool.get("functionDeclarations", [tool.get("function", tool)]):
            # Semantic Kernel puts the server's name before.
            yield {**function, "name": function["name"].removeprefix("rolecall-")}


def schema(function):
    """The schema of a function's arguments."""
    names = ("parameters", "parametersJsonSchema", "input_schema")
    return next(function[name] for name in names if function.get(name) is not None)


def compare(tool, offered, place=""):
    """Yields what an SDK has made worse of an object's schema."""
    for name, argument in tool.get("properties", {}).items():
        where = f"{place}{name}"
        if name not in offered.get("properties", {}):
            yield f"{where} is missing"
            continue
        found = offered["properties"][name]
        ours, theirs = value(argument), value(found)
        if description(argument) not in description(found):
            yield f"{where} has lost its description"
        if ours.get("enum") != theirs.get("enum"):
            yield f"{where} has the values {theirs.get('enum')}"
        if ours["type"] != str(theirs.get("type")).lower():  # Google's types are in capitals.
            yield f"{where} has the type {theirs.get('type')}"
        is_optional = name not in tool.get("required", [])
        if is_optional and name in offered.get("required", []) and not can_be_empty(found):
            yield f"{where} must be invented"
        if ours["type"] == "object":
            yield from compare(ours, theirs, f"{where}.")


def alternatives(schema):
    return schema.get("anyOf") or schema.get("any_of") or [schema]


def value(schema):
    """The schema of an argument's value, without null."""
    return next(each for each in alternatives(schema) if each.get("type") != "null")


def description(schema):
    return schema.get("description") or value(schema).get("description", "")


def can_be_empty(schema):
    """Whether a model can say that it has no value: with null, or with an object that has none."""
    if schema.get("nullable") or any(each.get("type") == "null" for each in alternatives(schema)):
        return True
    members = schema.get("properties")
    return bool(members) and all(map(can_be_empty, members.values()))


main()
