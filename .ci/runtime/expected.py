"""The expected result of each sample event, from the record of the tests and the contract."""

import json
import re

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from sam import ROOT

DOCUMENT = json.loads((ROOT / "functions/docs/contract.json").read_text())
REGISTRY = Registry().with_resource("urn:openapi", DRAFT202012.create_resource(DOCUMENT))

# What each event does in a test whose clock stands at the time of the events.
OUTCOMES = json.loads((ROOT / "tests/outcomes.json").read_text())
STATUS = {
    # The signature is as old as the event and expires after five minutes. main.py also sends the event with a new one.
    "voice_webhook_receive": 401,
}
# Results of jobs. The run for the stream's event works on the partition in the event, and the schedule's run on the others.
# How many tasks these are depends on the random identifiers of what earlier events have created.
DONE = {
    # How many requests fail depends on the network: the sample endpoints are on the internet.
    "deliver_schedule": {},
    "feed_stream": {"failed": 0},
    "feed_schedule": {"failed": 0},
    "tasks_stream": {"failed": 0},
    "tasks_schedule": {"failed": 0},
    "usage_reset_schedule": {"organizations": 2, "failed": 0},
}
# Results of another event after those. An import may have its next turn.
REPEATED = {"tasks_schedule": {"failed": 0}}


def check(name, event, response):
    """Checks the response to a sample request. Returns its status."""
    outcome = OUTCOMES[name]
    status = STATUS.get(name, outcome["status"])
    if is_documented(event):
        check_documented(event, response, status)
        return status
    assert response.get("statusCode") == status, f"{name}: expected {status}: {response}"
    assert header(response, "x-request-id") == event["requestContext"]["requestId"], f"{name}: {response}"
    kind, body = header(response, "content-type"), response.get("body", "")
    if "location" in outcome:
        location = header(response, "location")
        pattern = re.escape(outcome["location"]).replace(r"\*", r"[\w.-]+")
        assert re.fullmatch(pattern, location), f"{name} redirects to {location}"
    elif status == 204:
        assert header(response, "access-control-allow-origin") == "*", f"{name}: {response}"
    elif "title" in outcome:
        is_page = kind.startswith("text/html") and body.lower().startswith("<!doctype html>")
        assert is_page, f"{name} is not a page: {response}"
        assert f"<title>{outcome['title']}</title>" in body, f"{name} is the wrong page: {body}"
        assert "default-src 'none'" in header(response, "content-security-policy"), f"{name}: {response['headers']}"
    elif kind.startswith("application/json"):
        json.loads(body)
    else:
        assert body and not kind.startswith("text/html"), f"{name} is empty or a page: {response}"
    return status


def check_job(name, summary, done=None):
    """Checks the result of a job."""
    assert "errorType" not in summary and summary.items() >= (done or DONE[name]).items(), f"{name}: {summary}"
    return "ok "


def is_documented(event):
    """Whether an event is a request to an operation of the OpenAPI document."""
    method, _, path = event.get("routeKey", "").partition(" ")
    return method.lower() in DOCUMENT["paths"].get(path, {})


def check_documented(event, response, status):
    """Checks status, headers and body against the OpenAPI document."""
    method, _, path = event["routeKey"].partition(" ")
    pointer = follow(["paths", path, method.lower(), "responses", str(status)])
    documented = find(pointer)
    assert response.get("statusCode") == status, f"{event['routeKey']}: expected {status}: {response}"
    for name in documented.get("headers", {}):
        documented_header = follow([*pointer, "headers", name])
        value = header(response, name)
        if find(documented_header).get("required") or value is not None:
            validate([*documented_header, "schema"], value)
    for kind in documented.get("content", {}):
        assert header(response, "content-type").partition(";")[0] == kind, response
        body = response["body"]
        validate([*pointer, "content", kind, "schema"], json.loads(body) if kind == "application/json" else body)


def check_unauthorized(event, response):
    """Checks the response to an unknown key against the document. Its request id must be that of the event."""
    check_documented(event, response, 401)
    body = json.loads(response["body"])
    # The MCP endpoint returns the error inside a JSON-RPC message.
    body = body["error"]["data"] if "jsonrpc" in body else body
    assert body["code"] == "unauthorized" and body["request_id"] == event["requestContext"]["requestId"], body


def validate(pointer, value):
    escaped = "/".join(step.replace("~", "~0").replace("/", "~1") for step in pointer)
    Draft202012Validator({"$ref": f"urn:openapi#/{escaped}"}, registry=REGISTRY).validate(value)


def follow(pointer):
    """Resolves a reference in the document, and returns the pointer to its target."""
    reference = find(pointer).get("$ref")
    return follow(reference.removeprefix("#/").split("/")) if reference else pointer


def find(pointer):
    node = DOCUMENT
    for step in pointer:
        node = node[step]
    return node


def header(response, name):
    """A header of a response; None if it is missing."""
    return {key.lower(): value for key, value in response["headers"].items()}.get(name.lower())
