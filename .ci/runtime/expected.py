"""The expected result of each sample event: from the OpenAPI document for its operations, otherwise from this file."""

import json
import re

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from sam import ROOT

DOCUMENT = json.loads((ROOT / "functions/docs/openapi.json").read_text())
REGISTRY = Registry().with_resource("urn:openapi", DRAFT202012.create_resource(DOCUMENT))

STATUS = {
    "default_not_found": 404,
    # The signature is as old as the event and expires after five minutes. main.py also sends the event with a new one.
    "voice_webhook_receive": 401,
}
# The targets of redirects. A star stands for a part that differs each time.
LOCATION = {
    "careers_apply": "/careers/acme/recorded/apply?ticket=*",
    "dashboard_account_password": "/dashboard/settings/account?done=password-changed",
    "dashboard_account_notices_dismiss": "/dashboard/settings/account/notices?done=notices-dismissed",
    "dashboard_account_second_factor_remove": "/dashboard/settings/account?done=second-factor-removed",
    "dashboard_account_remove_passkey": "/dashboard/settings/account?done=passkey-removed",
    "dashboard_account_second_factor_set_up": "/dashboard/settings/account/second-factor",
    "dashboard_account_time_zone": "/dashboard/settings/account?done=time-zone-saved",
    "dashboard_account_sessions_end": "/dashboard/settings/account?done=session-ended",
    "dashboard_account_sessions_end_others": "/dashboard/settings/account?done=other-sessions-ended",
    "dashboard_api_keys_revoke": "/dashboard/settings/integrations/api-keys?done=key-revoked",
    "dashboard_career_page_change": "/dashboard/settings/career-page?done=career-page-changed",
    "dashboard_career_page_logo": "/dashboard/settings/career-page?done=logo-changed",
    "dashboard_quick_post_form": "/dashboard/roles/*?done=posted",
    "dashboard_role_edit_form": "/dashboard/roles/1700000000000017?done=role-saved",
    "dashboard_role_status": "/dashboard/roles/1700000000000017?done=role-paused",
    "dashboard_role_posting_form": "/dashboard/roles/1700000000000001?done=posting-saved",
    "dashboard_role_move": "/dashboard/roles/1700000000000017?moved=1700000000000052&moved_for=1700000000000017"
    "&moved_from=applied&moved_to=interview&moved_on=board&moved_by=*&done=moved",
    "dashboard_posting_status": "/dashboard/postings?done=posting-unpublished",
    "dashboard_candidate_new_form": "/dashboard/candidates/*?done=candidate-added",
    "dashboard_candidate_edit_form": "/dashboard/candidates/1700000000000051?done=candidate-saved",
    "dashboard_candidate_applications_form": "/dashboard/candidates/1700000000000051?done=applied",
    "dashboard_candidate_offer": "/dashboard/candidates/1700000000000046?done=offer-accepted",
    "dashboard_candidate_notes": "/dashboard/candidates/1700000000000051?done=note-added",
    "dashboard_candidate_notes_delete": "/dashboard/candidates/1700000000000051?done=note-deleted",
    "dashboard_candidate_consents_form": "/dashboard/candidates/1700000000000051?done=consent-recorded",
    "dashboard_candidate_move_form": "/dashboard/candidates/1700000000000057?moved=1700000000000057"
    "&moved_from=applied&moved_to=screening&moved_on=&moved_by=*&done=moved",
    "dashboard_candidate_invite_form": "/dashboard/candidates/1700000000000051?done=invited",
    "dashboard_posting_x_form": "/dashboard/postings/1700000000000002/x?done=posted-to-x",
    "dashboard_screen_cancel": "/dashboard/screens/1700000000000055?done=screen-cancelled",
    "dashboard_candidate_erase_form": "/dashboard/candidates?done=erased",
    "dashboard_candidate_legal_hold_form": "/dashboard/candidates/1700000000000051?done=hold-set",
    "dashboard_channels_voice": "/dashboard/settings/integrations/channels?done=call-countries-changed",
    "dashboard_channels_whatsapp_connect": "/dashboard/settings/integrations/channels?done=whatsapp-connected",
    "dashboard_channels_whatsapp_disconnect": "/dashboard/settings/integrations/channels?done=whatsapp-disconnected",
    # The connection to X has expired, because the event is older than ten minutes.
    "dashboard_channels_x_callback": "/dashboard/settings/integrations/channels?failed=x-stale",
    "dashboard_channels_x_connect": "https://x.com/i/oauth2/authorize?response_type=code&client_id=recorded"
    "&redirect_uri=https%3A%2F%2Fapi.rolecall.example%2Fdashboard%2Fsettings%2Fintegrations%2Fchannels%2Fx%2Fcallback"
    "&scope=tweet.read+tweet.write+users.read+offline.access&state=*&code_challenge=*&code_challenge_method=S256",
    "dashboard_channels_x_disconnect": "/dashboard/settings/integrations/channels?done=x-disconnected",
    "dashboard_confirmations_decide": "/dashboard/settings/integrations/connected-apps?done=call-confirmed",
    "dashboard_connected_app_narrow": "/dashboard/settings/integrations/connected-apps/1700000000000054?done=app-narrowed",
    "dashboard_connected_apps_revoke": "/dashboard/settings/integrations/connected-apps?done=app-revoked",
    "dashboard_confirm": "/dashboard/settings/members",
    "dashboard_members_remove": "/dashboard/settings/members?done=member-removed",
    "dashboard_members_role": "/dashboard/settings/members?done=role-changed",
    "dashboard_members_second_factor": "/dashboard/settings/members?done=second-factor-reset",
    "dashboard_members_second_factor_rule": "/dashboard/settings/members?done=second-factor-rule-saved",
    "dashboard_mode": "/dashboard",
    "dashboard_organization_change": "/dashboard/settings/organization?done=organization-changed",
    "dashboard_password": "/dashboard?done=password-set",
    "dashboard_privacy_change": "/dashboard/settings/privacy?done=privacy-changed",
    "dashboard_application_limits_change": "/dashboard/settings/application-limits?done=application-limits-saved",
    "dashboard_retention_change": "/dashboard/settings/retention?done=retention-set",
    "dashboard_second_factor_sign_in": "/dashboard/sign-in?done=sign-in-expired",
    "dashboard_sign_in": "/dashboard",
    "dashboard_sign_out": "/dashboard/sign-in?done=signed-out",
    "dashboard_sign_out_everywhere": "/dashboard/sign-in?done=signed-out",
    "dashboard_webhook_endpoint_delete": "/dashboard/webhooks?done=webhook-deleted",
    "dashboard_webhook_endpoint_ping": "/dashboard/webhooks/1700000000000061?done=webhook-pinged",
    "dashboard_webhook_endpoint_redeliver": "/dashboard/webhooks/1700000000000061?done=webhook-redelivering",
    "dashboard_webhook_endpoint_replay": "/dashboard/webhooks/1700000000000061?done=webhook-replaying",
    "dashboard_webhook_endpoint_update": "/dashboard/webhooks/1700000000000066?done=webhook-saved",
    "sign_in_add_create": "/dashboard/settings/account/passkeys?failed=expired",
    "sign_in_passkey_sign_in": "/dashboard/sign-in/passkey?failed=expired&return_to=%2Fdashboard",
    "oauth_authorize_decide": "http://127.0.0.1:8765/callback"
    "?code=rc_ac_L*&state=recorded&iss=https%3A%2F%2Fapi.rolecall.example",
}
# Pages, by their title and some of their content.
PAGES = {
    "careers_list": ("Openings at Acme", '<a href="/careers/acme/recorded">Recorded</a>'),
    "careers_privacy": ("Privacy – Acme", "How Acme uses your data"),
    "careers_received": (
        "Application received – Acme",
        'your application for <a href="/careers/acme/recorded"><bdi>Recorded</bdi></a>',
    ),
    "careers_show": ("Recorded – Acme", 'action="/careers/acme/recorded/apply"'),
    "dashboard_account": ("Account – Rolecall", 'value="ada@acme.example"'),
    "dashboard_account_notices": ("Security notices – Rolecall", "<h1>Security notices</h1>"),
    "dashboard_account_second_factor": ("Second factor – Rolecall", '<svg class="qr"'),
    "dashboard_account_second_factor_codes": ("Second factor – Rolecall", "Save your recovery codes"),
    "dashboard_api_keys": ("API keys – Rolecall", '<th scope="row">Acme demonstration</th>'),
    "dashboard_api_keys_create": ("API keys – Rolecall", "New live key: Recorded"),
    "dashboard_api_keys_rotate": ("API keys – Rolecall", "New live key: Recorded"),
    "dashboard_audit_log_show": ("Audit log – Rolecall", "What the log contains"),
    "dashboard_candidate": ("Recorded – Rolecall", 'href="mailto:recorded-3@example.com"'),
    "dashboard_quick_post": ("Post a job – Rolecall", 'name="role.title"'),
    "dashboard_role_edit": ("Edit Recorded – Rolecall", 'name="salary_min"'),
    "dashboard_role_posting": ("Posting of Recorded – Rolecall", 'name="public_description"'),
    "dashboard_role_bulk": ("Move candidates to interview – Rolecall", 'value="1700000000000058.applied"'),
    "dashboard_role_bulk_form": ("Move candidates to interview – Rolecall", "1 of 1 candidates moved."),
    "dashboard_posting_x": ("Post to X – Rolecall", "Post this text"),
    "dashboard_candidate_new": ("Add a candidate – Rolecall", 'name="external_id"'),
    "dashboard_candidate_edit": ("Edit Recorded – Rolecall", 'value="recorded-51@example.com"'),
    "dashboard_candidate_applications": ("Add an application of Recorded – Rolecall", 'name="role_id"'),
    "dashboard_candidate_consents": ("Record a consent of Recorded – Rolecall", 'name="wording"'),
    "dashboard_candidate_move": ("Reject Recorded – Rolecall", 'name="reason"'),
    "dashboard_candidate_invite": ("Invite Recorded to a voice screen – Rolecall", 'name="consent.wording"'),
    "dashboard_candidate_erase": ("Erase Recorded – Rolecall", "Erase for good"),
    "dashboard_candidate_legal_hold": ("Legal hold on Recorded – Rolecall", 'name="reason"'),
    "dashboard_screen": ("Voice screen of Recorded – Rolecall", "There is no transcript."),
    "dashboard_candidates": ("Candidates – Rolecall", '<td data-label="E-mail">recorded-3@example.com</td>'),
    "dashboard_suspects_list": ("Suspect forms – Rolecall", "suspect-1700000000000072@example.com"),
    "dashboard_suspects_act": ("Suspect forms – Rolecall", "1 of 1 forms accepted."),
    "dashboard_career_page": ("Career page – Rolecall", 'href="https://api.rolecall.example/careers/acme"'),
    "dashboard_channels": ("Channels – Rolecall", "<dt>Provider</dt><dd>None</dd>"),
    "dashboard_confirmations_show": ("Confirm a call – Rolecall", 'method="post"'),
    "dashboard_connected_app_show": ("Recorded – Rolecall", "<h1>Recorded"),
    "dashboard_connected_apps": ("Connected apps – Rolecall", 'Recorded</a> <span class="small">127.0.0.1</span>'),
    "dashboard_confirm_form": ("Enter your password – Rolecall", 'value="/dashboard/settings/members"'),
    "dashboard_members": ("Members – Rolecall", '<td data-label="E-mail">recorded-6@acme.example</td>'),
    "dashboard_members_invite": ("Members – Rolecall", "<strong>new@acme.example</strong>"),
    "dashboard_members_link": ("Members – Rolecall", "<strong>recorded-61@acme.example</strong>"),
    "dashboard_overview": ("Overview – Rolecall", "Pro plan, $99 a month"),
    "dashboard_password_form": ("Accept your invitation – Rolecall", 'value="recorded-62@acme.example"'),
    "dashboard_postings": ("Postings – Rolecall", "https://api.rolecall.example/careers/acme/recorded-to-publish"),
    "dashboard_organization": ("Organization – Rolecall", '<select id="time_zone" name="time_zone"'),
    "dashboard_privacy": ("Privacy – Rolecall", 'href="https://api.rolecall.example/careers/acme/privacy"'),
    "dashboard_application_limits_show": ("Application limits – Rolecall", 'name="posting" type="text"'),
    "dashboard_retention": ("Retention – Rolecall", '<h2 id="current">Current rule</h2>'),
    "dashboard_role": ("Recorded – Rolecall", 'href="https://api.rolecall.example/careers/acme/recorded"'),
    "dashboard_roles": ("Roles – Rolecall", '<a href="/dashboard/roles/1700000000000011">Recorded</a>'),
    "dashboard_sign_in_form": ("Sign in – Rolecall", 'name="return_to" value="/dashboard"'),
    "dashboard_webhook_endpoint_rotate": ("Webhook endpoint – Rolecall", '<h2 id="rotated">New secret</h2>'),
    "dashboard_webhook_endpoint_show": ("Webhook endpoint – Rolecall", "<code>whpk_"),
    "dashboard_webhooks_create": ("Webhooks – Rolecall", '<h2 id="added">Webhook endpoint added</h2>'),
    "dashboard_webhooks_list": ("Webhooks – Rolecall", '<a href="/dashboard/webhooks/1700000000000061">'),
    "default_show_start": ("Start – Rolecall", '<a href="/api/v1/openapi.json">OpenAPI document</a>'),
    "docs_show_page": ("Roles – Rolecall API", '<h2 id="create_role"><a href="#create_role">Create role</a></h2>'),
    "docs_show_start": ("Introduction – Rolecall API", "<code>https://api.rolecall.example/api/v1</code>"),
    "sign_in_add_show": ("Add a passkey – Rolecall", 'data-task="create"'),
    "sign_in_passkey_show": ("Sign in with a passkey – Rolecall", 'data-task="use"'),
    "oauth_authorize_ask": ("Allow access – Rolecall", "<h1>Allow <q>Recorded</q> access to Acme?</h1>"),
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
# Results of another event after those.
REPEATED = {"tasks_schedule": {"tasks": 0, "failed": 0}}


def check(name, event, response):
    """Checks the response to a sample request. Returns its status."""
    method, _, path = event["routeKey"].partition(" ")
    if is_documented(event):
        responses = DOCUMENT["paths"][path][method.lower()]["responses"]
        # Notifications to the MCP endpoint have another status than requests.
        success = min(int(status) for status in responses if status.startswith("2"))
        status = STATUS.get(name, success)
        check_documented(event, response, status)
        return status
    status = STATUS.get(name) or usual_status(name, method)
    assert response.get("statusCode") == status, f"{name}: expected {status}: {response}"
    assert header(response, "x-request-id") == event["requestContext"]["requestId"], f"{name}: {response}"
    kind, body = header(response, "content-type"), response.get("body", "")
    if status == 303:
        location = header(response, "location")
        pattern = re.escape(LOCATION[name]).replace(r"\*", r"[\w.-]+")
        assert re.fullmatch(pattern, location), f"{name} redirects to {location}"
    elif status == 204:
        assert header(response, "access-control-allow-origin") == "*", f"{name}: {response}"
    elif name in PAGES:
        title, content = PAGES[name]
        is_page = kind.startswith("text/html") and body.lower().startswith("<!doctype html>")
        assert is_page, f"{name} is not a page: {response}"
        assert f"<title>{title}</title>" in body and content in body, f"{name} is the wrong page: {body}"
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


def usual_status(name, method):
    if method == "OPTIONS":
        return 204
    return 303 if name in LOCATION else 200


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
