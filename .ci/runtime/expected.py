"""What each recorded event is to be answered: by the OpenAPI document where that says it, else by what is written here."""

import json

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from sam import ROOT

DOCUMENT = json.loads((ROOT / "functions/docs/openapi.json").read_text())
REGISTRY = Registry().with_resource("urn:openapi", DRAFT202012.create_resource(DOCUMENT))

# Forms are answered with a redirect, which leads to the page that says what was done. These are answered with a page.
NOT_REDIRECTED = {"dashboard_api_keys_create", "dashboard_members_invite", "dashboard_members_link"}
STATUS = {
    "default_method_not_allowed": 405,
    "default_not_found": 404,
    # The signature is as old as the recording, and is good for five minutes. main.py sends it signed anew, too.
    "voice_webhook_receive": 401,
}
# Where redirects lead; of an address only the beginning is given.
LOCATION = {
    "dashboard_channels_x_connect": "https://x.com/i/oauth2/authorize?response_type=code&client_id=recorded&",
    # Nobody comes back from X later than ten minutes, and only X has a code that is good.
    "dashboard_channels_x_callback": "/dashboard/settings/integrations/channels?failed=x-stale",
    "dashboard_mode": "/dashboard",
    "dashboard_sign_in": "/dashboard",
    "oauth_authorize_decide": "http://127.0.0.1:8765/callback?code=rc_ac_L",
    "careers_apply": "/careers/acme/recorded/apply",
}


# What jobs have done. The schedule's run takes up what the stream tells of.
DONE = {
    "tasks_schedule": {"tasks": 2, "failed": 0},
    "tasks_stream": {"failed": 0},
    "usage_reset_schedule": {"organizations": 2, "failed": 0},
}


def check(name, event, answer):
    """The answer to a recorded request is the one that it is about. Returns the status."""
    method, _, path = event["routeKey"].partition(" ")
    if is_documented(event):
        responses = DOCUMENT["paths"][path][method.lower()]["responses"]
        [success] = [int(status) for status in responses if status.startswith("2")]
        status = STATUS.get(name, success)
        check_documented(event, answer, status)
        return status
    status = STATUS.get(name) or usual_status(name, method)
    assert answer.get("statusCode") == status, f"{name}: expected {status}: {answer}"
    assert header(answer, "x-request-id") == event["requestContext"]["requestId"], f"{name}: {answer}"
    kind, body = header(answer, "content-type"), answer.get("body", "")
    if status == 303:
        location = header(answer, "location")
        usual = "?done=" in location and not location.startswith("/dashboard/sign-in?return_to")
        assert location.startswith(LOCATION[name]) if name in LOCATION else usual, f"{name} leads to {location}"
    elif status == 204:
        assert header(answer, "access-control-allow-origin") == "*", f"{name}: {answer}"
    elif kind.startswith("text/html"):
        assert body.lower().startswith("<!doctype html>"), f"{name} is no page: {body}"
        assert "default-src 'none'" in header(answer, "content-security-policy"), f"{name}: {answer['headers']}"
    elif kind.startswith("application/json"):
        json.loads(body)
    else:
        assert body, f"{name}: the answer is empty"
    return status


def check_job(name, summary):
    """A job has done what there was to do."""
    assert "errorType" not in summary and summary.items() >= DONE[name].items(), f"{name}: {summary}"
    return "ok "


def is_documented(event):
    """Whether it is a request to a row that the document has."""
    method, _, path = event.get("routeKey", "").partition(" ")
    return method.lower() in DOCUMENT["paths"].get(path, {})


def usual_status(name, method):
    if method == "OPTIONS":
        return 204
    is_form = method == "POST" and name not in NOT_REDIRECTED
    return 303 if is_form or name in LOCATION else 200


def check_documented(event, answer, status):
    """Status, headers and body are as the OpenAPI document says."""
    method, _, path = event["routeKey"].partition(" ")
    pointer = follow(["paths", path, method.lower(), "responses", str(status)])
    response = find(pointer)
    assert answer.get("statusCode") == status, f"{event['routeKey']}: expected {status}: {answer}"
    for name in response.get("headers", {}):
        documented = follow([*pointer, "headers", name])
        given = header(answer, name)
        if find(documented).get("required") or given is not None:
            validate([*documented, "schema"], given)
    for kind in response.get("content", {}):
        assert header(answer, "content-type").partition(";")[0] == kind, answer
        body = answer["body"]
        validate([*pointer, "content", kind, "schema"], json.loads(body) if kind == "application/json" else body)


def check_refused(event, answer):
    """An unknown key is answered as the document says, and so that the request can be found in the log."""
    check_documented(event, answer, 401)
    body = json.loads(answer["body"])
    assert body["code"] == "unauthorized" and body["request_id"] == event["requestContext"]["requestId"], body


def validate(pointer, value):
    escaped = "/".join(step.replace("~", "~0").replace("/", "~1") for step in pointer)
    Draft202012Validator({"$ref": f"urn:openapi#/{escaped}"}, registry=REGISTRY).validate(value)


def follow(pointer):
    """Where in the document something really stands."""
    reference = find(pointer).get("$ref")
    return follow(reference.removeprefix("#/").split("/")) if reference else pointer


def find(pointer):
    node = DOCUMENT
    for step in pointer:
        node = node[step]
    return node


def header(answer, name):
    """A header of an answer; None where it has none of that name."""
    return {key.lower(): value for key, value in answer["headers"].items()}.get(name.lower())
