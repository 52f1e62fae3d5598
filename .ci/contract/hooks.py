"""Tells Schemathesis what the document cannot: when valid requests may be rejected, and what they need to succeed.

The lane fails if the service rejects a request that matches its schema. However, the current state may not allow a
valid request, and schemas cannot express some rules. Each such rejection is listed here with the complete message.
Most valid requests get existing ids, so that they are not all rejected.
"""

import hmac
import io
import json
import os
import re
import time
import zipfile
from base64 import urlsafe_b64encode
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import requests
import schemathesis
from hypothesis import strategies
from member import Member
from requests.auth import AuthBase, HTTPBasicAuth
from schemathesis.cli import EventHandler, handler
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.engine.events import ScenarioFinished
from schemathesis.openapi.checks import RejectedPositiveData, UseAfterFree

BASE = os.environ["CONTRACT_BASE"]
# The local service's signing key, which is the same on every machine.
SIGNING_KEY = b"0123456789abcdef0123456789abcdef"
REDIRECT_URI = "https://app.example/callback"
ROLE_STATUS = "(draft|open|paused|closed)"
SCREEN_STATUS = "(in_progress|completed|no_answer|failed|cancelled|declined)"
STAGE = "(applied|screening|interview|offer|hired|rejected)"
MOVES = [
    "advance_candidate",
    "reject_candidate",
    "withdraw_candidate",
    "unreject_candidate",
    "hire_candidate",
    "unhire_candidate",
]

# The parameters that find candidates.
SEARCHES = ["email", "phone", "external_id", "source", "tag", "q"]


class Excuse(NamedTuple):
    """A message (a pattern) that may reject a valid request, and the reason. `fits` limits it to some requests."""

    status: int
    sentence: str
    reason: str
    fits: Callable = lambda case: True


# The fields whose values were created for a case, by the case's id.
made_for = defaultdict(set)


def has_unknown_id(case):
    return not made_for[case.id].issuperset(case.path_parameters)


def may_cross(case):
    """Whether salary_min may exceed salary_max. A missing limit may come only from the existing role."""
    role = case.body["role"] if case.path.endswith("/quick_post") else case.body
    ends = [role[name] for name in ("salary_min", "salary_max") if name in role]
    # A blank string means null.
    if not all(isinstance(end, (int, float)) for end in ends):
        return False
    return ends[0] > ends[1] if len(ends) == 2 else len(ends) == 1 and case.method == "PATCH"


PORT = "(:[1-9][0-9]{0,3})?"
HOST = rf"(([a-z0-9](-?[a-z0-9]){{0,30}}\.){{0,3}}[a-z](-?[a-z0-9]){{0,30}}|127\.0\.0\.1){PORT}"
PLAIN_URL = rf"(?ais)https?://{HOST}([/?#].*)?"
PLAIN_REDIRECT_URI = rf"(?ai)(https://{HOST}|http://(localhost|127\.0\.0\.1){PORT})([/?].*)?|[^:]*\.[^:]*:/[^@]*"
URL_FIELDS = ["resume_url", "client_uri", "logo_uri", "tos_uri", "policy_uri"]


def has_unusual_host(case):
    urls = [case.body[name] for name in URL_FIELDS if case.body.get(name)]
    return not all(re.fullmatch(PLAIN_URL, url) for url in urls)


def has_too_large_actor(case):
    """Whether the actor's id is larger than any id."""
    digits = re.sub(r"\D", "", str((case.query or {}).get("actor")))
    return digits != "" and int(digits) > 2**53 - 1


def has_unusual_endpoint(case):
    """Whether a webhook endpoint's URL is more than a plain host and a path of letters."""
    return not re.fullmatch(r"https://[a-z]+(\.[a-z]{2,})+(/[a-z]*)*", str(case.body.get("url")))


def has_unusual_redirect_uri(case):
    return not all(re.fullmatch(PLAIN_REDIRECT_URI, uri) for uri in case.body["redirect_uris"])


GRANTS = {"authorization_code": ["code", "code_verifier", "redirect_uri"], "refresh_token": ["refresh_token"]}


def has_unknown_grant(case):
    return made_for[case.id].isdisjoint(("code", "refresh_token"))


def lacks_grant_type(case):
    return GRANTS.keys().isdisjoint(case.body["grant_types"])


def lacks_grant(case):
    return not all(case.body.get(name) for name in GRANTS[case.body["grant_type"]])


def has_candidate_and_other_filter(case):
    return "candidate_id" in case.query and not case.query.keys().isdisjoint(("role_id", "stage", "status", "result"))


def has_both(*names):
    """Whether a query has all of these parameters."""
    return lambda case: case.query.keys() >= {*names}


def has_search_and_other_filter(case):
    given = case.query.keys() & {*SEARCHES, "role_id", "stage"}
    return len(given) > 1 and not given.isdisjoint(SEARCHES)


def has_symbols(case):
    """Whether `q` has no visible letters and digits. Some letters are invisible or only make a word longer."""
    return not any(c.isalnum() and c not in "\u0640\u115f\u1160\u3164\uffa0" for c in case.query["q"])


def lacks_screen(case):
    def part(value, name):
        return value.get(name) if isinstance(value, dict) else None

    message = case.body["message"]
    ids = [part(part(value, "customer"), "externalId") for value in (part(message, "call"), message)]
    return not any(isinstance(id, str) and id.strip() for id in ids)


# Rejections that depend on the service's state. The reason names the part of the state.
STATES = [
    Excuse(404, "Not found", "which ids exist", has_unknown_id),
    Excuse(410, "The candidate was erased", "which candidates were erased"),
    Excuse(410, "The files were deleted", "which files are kept"),
    Excuse(410, "The cursor has expired; .*", "which events the feed has"),
    Excuse(422, "An organization has at most 20 webhook endpoints", "the number of endpoints"),
    Excuse(422, "A third pair is too early: .*", "when the keys were rotated"),
    Excuse(422, "The webhook endpoint is disabled; enable it first", "whether it is enabled"),
    Excuse(409, "A legal hold on the candidate forbids the erasure", "the candidate's legal hold"),
    Excuse(400, "The cursor is not valid for this list", "which cursors the list returned"),
    Excuse(412, "The resource has changed since it was read", "the current version"),
    Excuse(422, "The idempotency key was used with a different request", "which keys were used"),
    Excuse(422, r"(email|(role\.)?external_id) is already in use", "which candidates and roles exist"),
    Excuse(422, r"(role\.)?closes_on must not be over", "the time"),
    Excuse(422, r"(defaults\.)?role_id must be the id of a role", "which roles exist"),
    Excuse(422, "3 imports are not finished. Run or cancel one first", "the number of imports"),
    Excuse(422, "Only a checked import can be run, but this one is [a-z]+", "the import's status"),
    Excuse(422, "Only an import that was run can be undone, but this one is [a-z]+", "the import's status"),
    Excuse(422, "The import is [a-z]+ already", "the import's status"),
    Excuse(422, "3 exports are being written. Wait until one is done", "the number of exports"),
    Excuse(422, "The plan (free|pro) has [0-9]+ exports? a day", "the number of exports"),
    Excuse(422, "Files can be sent until an import is run, but this one is [a-z]+", "the import's status"),
    Excuse(422, "Files can be assigned while a checked import has them, but this one is [a-z]+", "the import's status"),
    Excuse(422, "The ZIP file has not been uploaded", "whether a ZIP file is awaited"),
    Excuse(422, "role_id already has a job posting", "the role's posting"),
    Excuse(422, "role_id is a role that the candidate has already applied for", "the candidate's applications"),
    Excuse(422, "role_id must be the id of a role that the candidate has applied for", "the candidate's applications"),
    Excuse(422, "reason_id must be the id of an active rejection reason of the (team|candidate)", "the list of reasons"),
    Excuse(422, "resume_file_id must be the id of a file of the candidate", "the candidate's files"),
    Excuse(422, "application_id must be the id of an application of the candidate", "the candidate's applications"),
    Excuse(422, "content is required, or size for an upload", "one of two optional fields"),
    Excuse(422, "size can't be given beside content", "one of two optional fields"),
    Excuse(422, "content was refused: .*", "what the content is"),
    Excuse(422, r"content must be base64( \(RFC 4648, section 4\)|, without the beginning of a data: URL)", "its letters"),
    Excuse(422, "The file has not been uploaded", "the bucket"),
    Excuse(422, "A candidate has at most 20 files that the team adds. Delete one first.", "the candidate's files"),
    Excuse(
        422,
        r"data\[[0-9]+\]\.(id must be (the id of a rejection reason|given only once)|by can't be changed"
        "|name is the name of another reason of the same side)",
        "the list of reasons",
    ),
    Excuse(422, "data must have at most 100 items, with those that it leaves out", "the list of reasons"),
    Excuse(422, "data can't be blank", "a list is not optional", lambda case: "rejection_reasons" in case.path),
    Excuse(422, f"role_id must be the id of an open role, but this one is {ROLE_STATUS}", "the role's status"),
    Excuse(422, f"role_id must be the id of an open or paused role, but this one is {ROLE_STATUS}", "its status"),
    Excuse(422, "role_id is a role for which the candidate already has an unfinished voice screen", "other screens"),
    Excuse(422, f"status cannot go from {SCREEN_STATUS} to cancelled", "the screen's status"),
    Excuse(422, "result cannot go from null to (confirmed|overruled)", "the screen's result"),
    Excuse(422, f"status cannot go from {ROLE_STATUS} to {ROLE_STATUS} with [a-z]+; .+", "the role's status"),
    Excuse(
        422,
        f"stage cannot go from {STAGE} to ({STAGE}|the stage before (rejection|hire))",
        "the stage of the application or the candidate",
    ),
    Excuse(
        422,
        r"the role ([0-9]+) is closed; reopen it first with POST /api/v1/roles/\1/reopen",
        "the role's status",
    ),
    Excuse(422, "published cannot become true while the role is closed", "the role's status"),
    Excuse(422, "job_posting cannot be published, because the role has none", "the role's posting"),
    Excuse(422, "job_posting_id must be the id of a job posting", "which postings exist"),
    Excuse(422, "job_posting_id must be the id of a published job posting", "whether it is published"),
    Excuse(422, f"job_posting_id must belong to an open role, but this one is {ROLE_STATUS}", "the role's status"),
    Excuse(
        422, "job_posting_id was already posted with this text, and X rejects duplicates", "what was posted"
    ),
    Excuse(
        400,
        "The code or token is unknown, already used, expired, or issued to another client.",
        "what was granted",
        has_unknown_grant,
    ),
    Excuse(400, "scope may contain only scopes that were granted.", "what was granted"),
    Excuse(400, "resource must be http.*/api/v1.", "the service's URL"),
    Excuse(429, "Too many requests from your IP address. Try again later.", "the number of earlier requests"),
]

# Rules that no schema can express, with the reason.
RULES = [
    Excuse(422, r"(role\.)?salary_min must be at most salary_max", "a schema cannot compare fields", may_cross),
    Excuse(
        422,
        r"(role\.)?(pay\.min must be at most max|pay\.min can't be blank without max|pay can't be combined with salary_min, .*)",
        "a schema cannot compare fields, and generators do not support fields that depend on each other",
    ),
    Excuse(422, "salary_currency can't be changed while the pay is not annual; set pay instead", "it depends on the role"),
    Excuse(
        422,
        r"(role\.)?(location|country) is that of the first of the locations; set locations instead",
        "a schema cannot compare fields",
    ),
    Excuse(
        422,
        r"(role\.)?locations\[\d+\]\.city can't be blank without a region or a country",
        "generators do not support fields that depend on each other",
    ),
    Excuse(
        422,
        r"(role\.)?(locations\[\d+\]\.)?(country|salary_currency|pay\.currency) must be an ISO [0-9-]+ .*",
        "the list of codes may change, so the schema has only their form",
    ),
    Excuse(
        422,
        r"(job_posting\.)?questions\[\d+\]\.options must (be empty for a question of this kind|have at least 2 items|be different from each other)",
        "a schema cannot compare fields",
    ),
    Excuse(
        422,
        r"(job_posting\.)?questions (must have at most 20000 characters together)",
        "a schema cannot limit the fields of several objects together",
    ),
    Excuse(
        422,
        r"(job_posting\.)?questions\[\d+\]\.id must (be the id of a question of this job posting|not be given twice)",
        "which questions the posting has",
    ),
    Excuse(
        422,
        r"answers\[\d+\]\.question_id must be the id of a question of the role's job posting",
        "which questions the posting has",
    ),
    Excuse(
        422,
        r"answers\[\d+\]\.value (must be a string, a number, a boolean or an array of strings|can't be blank)",
        "generators do not support values of several types",
    ),
    Excuse(422, "rows can be given only with the format ndjson", "generators do not support fields that depend on each other"),
    Excuse(422, "kinds must have at least one item", "an empty list means none elsewhere"),
    Excuse(422, "rows must have at least one item", "an empty list of optional objects means none elsewhere"),
    Excuse(422, "answers can't be given without role_id", "generators do not support fields that depend on each other"),
    Excuse(422, r"(consent\.)?obtained_at must not be in the future", "a schema has no clock"),
    Excuse(422, "actor must be .*", "the pattern has the length of ids, but not their maximum", has_too_large_actor),
    Excuse(422, "scheduled_at must be in the future", "a schema has no clock"),
    Excuse(422, "scheduled_at must be within 90 days", "a schema has no clock"),
    Excuse(
        422,
        "resume_url must be a URL with a well-formed host, such as https://example.com",
        "valid hosts depend on IDNA tables; the schema's pattern covers ordinary hosts",
        has_unusual_host,
    ),
    Excuse(
        422,
        "url must .*",
        "valid hosts and normalized URLs would need a long pattern; the short one covers ordinary ones",
        has_unusual_endpoint,
    ),
    Excuse(
        400,
        "[a-z]+_uri must be a URL with a well-formed host, such as https://example.com.",
        "the same as for resume_url",
        has_unusual_host,
    ),
    Excuse(
        400,
        "A redirect URI must .*",
        "all valid hosts and ports would need a long pattern; the short one covers ordinary ones",
        has_unusual_redirect_uri,
    ),
    Excuse(
        400,
        "grant_types must contain authorization_code or refresh_token.",
        "unknown ones are left out, and generators of requests do not support `contains`",
        lacks_grant_type,
    ),
    Excuse(
        400,
        "(code|code_verifier|redirect_uri|refresh_token) is missing.",
        "a form is flat, and generators do not support fields that depend on each other",
        lacks_grant,
    ),
    Excuse(
        400,
        "Client credentials must be sent in the header or in the form, not in both.",
        "the form's schema cannot refer to the header",
        lambda case: case.body.get("client_secret"),
    ),
    Excuse(
        401,
        "The client is unknown, or its secret is wrong.",
        "the form's schema cannot refer to the header",
        lambda case: case.body.get("client_id"),
    ),
    Excuse(400, "The request body is not a callback", "the provider defines messages", lacks_screen),
    Excuse(422, "q must contain a letter or a digit", "which characters are letters depends on Unicode", has_symbols),
    *[
        Excuse(422, sentence, "the schema of a parameter cannot refer to other parameters", fits)
        for sentence, fits in [
            ("candidate_id can't be combined with (role_id|stage|status|result)", has_candidate_and_other_filter),
            ("external_id can't be combined with (status|include)", lambda case: "external_id" in (case.query or {})),
            ("updated_after can't be combined with [a-z_]+", lambda case: "updated_after" in (case.query or {})),
            ("(email|phone|external_id|source|tag|q) can't be combined with [a-z_]+", has_search_and_other_filter),
            ("stage can't be combined with status", has_both("stage", "status")),
            ("actor can't be combined with action", has_both("actor", "action")),
            ("cursor can't be combined with after", has_both("cursor", "after")),
            ("from must be before to", has_both("from", "to")),
            ("status can't be combined with result", has_both("status", "result")),
        ]
    ],
]


# The number of rejections to which each combination of excuses applied.
excused = Counter()


def find_excuse(status, sentence, case):
    """Returns the message of the matching excuse. A field whose value was created for this case has no excuse."""
    if sentence.split()[0] in made_for[case.id]:
        return None
    fitting = (
        excuse.sentence
        for excuse in STATES + RULES
        if excuse.status == status and re.fullmatch(excuse.sentence, sentence) and excuse.fits(case)
    )
    return next(fitting, None)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether this is a failure. A rejection is not a failure if all its messages are excused."""
    if case.path == "/mcp":
        # The document has the form of messages, and the protocol their meaning: methods, revisions and parameters.
        if isinstance(failure, RejectedPositiveData):
            return response.status_code not in (400, 404)
        # Each message of a batch has an answer of its own.
        return not (isinstance(failure, AcceptedNegativeData) and isinstance(case.body, list))
    if isinstance(failure, UseAfterFree):
        # DELETE closes a role without deleting it. A legal hold can be set again after it was lifted.
        return failure.operation not in ("DELETE /api/v1/roles/{id}", "DELETE /api/v1/candidates/{id}/legal_hold")
    if not isinstance(failure, RejectedPositiveData):
        return True
    answer = response.json()
    sentences = answer.get("messages") or [answer.get("error_description") or answer["error"]]
    excuses = tuple(find_excuse(response.status_code, sentence, case) for sentence in sentences)
    if None in excuses:
        return True
    excused[excuses] += 1
    return False


# Without a format, Schemathesis generates entity tags without quotes and considers them valid.
TAG = r'(W/)?"[!#-+\--~]{0,20}"'
TAGS = strategies.from_regex(rf"\*|{TAG}(, ?{TAG}){{0,3}}", fullmatch=True)
schemathesis.openapi.format("entity-tags", TAGS)


# Most strings with the form of a code are not codes.
CURRENCIES = ["CHF", "eur", "Jpy", "USD"]
CODES = {"country": ["AT", "br", "De", "US"], "salary_currency": CURRENCIES, "currency": CURRENCIES}
for name, codes in CODES.items():
    schemathesis.openapi.format(name, strategies.sampled_from(codes))

# Most strings are not phone numbers.
PHONES = ["+14155552671", "+49 (0)30 901820", "0033 6 12 34 56 78", "tel:+44-20-7946-0958"]
schemathesis.openapi.format("phone", strategies.sampled_from(PHONES))


@schemathesis.hook
def before_load_schema(context, document):
    components = document["components"]
    components["parameters"]["If-Match"]["schema"]["format"] = "entity-tags"
    for schema in ("RoleInput", "RolePatch", "RoleLocationInput", "PayInput"):
        properties = components["schemas"][schema]["properties"]
        for name in CODES.keys() & properties.keys():
            properties[name]["format"] = name
    # Schemathesis accepts any rejection of a valid request at a known token URL.
    for scheme in components["securitySchemes"].values():
        for flow in scheme.get("flows", {}).values():
            flow["tokenUrl"] = ""


class Maker:
    """Creates resources in the state that an operation requires."""

    def __init__(self):
        self.session, self.member, self.number, self.code = requests.Session(), Member(), 0, {}
        self.applied_role, self.submitted, self.checked, self.imported = None, None, None, None
        self.matched = None
        self.session.headers["Authorization"] = f"Bearer {os.environ['CONTRACT_KEY']}"

    def send(self, method, path, **body):
        url = f"{BASE}/api/v1/{path}"
        response = self.session.request(method, url, json=body or None, timeout=300)
        response.raise_for_status()
        return response.json()

    def next(self):
        self.number += 1
        return self.number

    def role(self, *actions):
        id = self.send("POST", "roles", title=f"Cook {self.next()}")["id"]
        for action in actions:
            self.send("POST", f"roles/{id}/{action}")
        return id

    def closed_role(self):
        return self.send("DELETE", f"roles/{self.role()}")["id"]

    def posting(self):
        return self.send("POST", "quick_post", role={"title": f"Cook {self.next()}"})["job_posting"]["id"]

    def slug(self):
        return self.send("POST", "quick_post", role={"title": f"Cook {self.next()}"})["job_posting"]["slug"]

    def candidate(self):
        return self.send("POST", "candidates", name="Ada", email=f"made.{self.next()}@example.com")["id"]

    def applicant(self, *actions):
        """A candidate with one application, for `applied_role`."""
        id = self.candidate()
        self.application(id)
        for action in actions:
            self.send("POST", f"candidates/{id}/{action}")
        return id

    def application(self, candidate=None):
        self.applied_role = self.role("publish")
        path = f"candidates/{candidate or self.candidate()}/applications"
        return self.send("POST", path, role_id=self.applied_role)["id"]

    def role_with_application(self):
        self.application()
        return self.applied_role

    def submission(self):
        """A candidate's submitted form, the same each time, because only so many forms of an address become applications."""
        if self.submitted is None:
            posted = self.send("POST", "quick_post", role={"title": f"Cook {self.next()}"})
            email = f"made.{self.next()}@example.com"
            form = {"name": "Ada", "email": email, "consent": "yes"}
            requests.post(f"{posted['job_posting']['public_url']}/apply", data=form, timeout=300).raise_for_status()
            candidate = self.send("GET", f"candidates?email={email}")["data"][0]["id"]
            applied = self.send("GET", f"candidates/{candidate}")["touchpoints"][0]
            self.submitted = candidate, applied["detail"]["submission_id"]
        return self.submitted

    def file(self):
        """A file of a new candidate."""
        candidate = self.candidate()
        self.filed = candidate, self.send("POST", f"candidates/{candidate}/files", name="x", content="SGVsbG8=")["id"]
        return candidate

    def new_import(self):
        """An import that is checked. Others make room for it."""
        for one in self.send("GET", "imports")["data"]:
            if one["status"] in ("waiting", "checking", "checked") and one["id"] not in (self.checked, self.matched):
                self.send("POST", f"imports/{one['id']}/cancel")
        row = {"name": "Ada", "email": f"made.{self.next()}@example.com"}
        id = self.send("POST", "imports", format="ndjson", rows=[row])["id"]
        self.wait_for_import(id, "checked")
        return id

    def checked_import(self):
        """An import that is checked, the same each time: it can be run once."""
        if self.checked is None:
            self.checked = self.new_import()
        return self.checked

    def matched_import(self):
        """A checked import whose first file has no row, the same each time."""
        if self.matched is None:
            id, archive = self.new_import(), io.BytesIO()
            with zipfile.ZipFile(archive, "w") as written:
                written.writestr("nobody.txt", "Hello")
            ticket = self.send("POST", f"imports/{id}/files")["upload"]
            sent = {"file": archive.getvalue()}
            requests.post(ticket["url"], data=ticket["fields"], files=sent, timeout=300).raise_for_status()
            self.send("POST", f"imports/{id}/complete")
            self.wait_for_import(id, "checked")
            self.matched = id
        return self.matched

    def done_import(self):
        """An import that was run, the same each time: undoing it again changes nothing."""
        if self.imported is None:
            self.imported = self.new_import()
            self.send("POST", f"imports/{self.imported}/run")
            self.wait_for_import(self.imported, "done")
        return self.imported

    def wait_for_import(self, id, status):
        while self.send("GET", f"imports/{id}")["status"] != status:
            time.sleep(0.2)

    def screen(self, **schedule):
        path = f"candidates/{self.candidate()}/invite_screen"
        return self.send("POST", path, role_id=self.role("publish"), **schedule)["id"]

    def later_screen(self):
        """A screen whose call is not due during the test."""
        tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
        return self.screen(scheduled_at=f"{tomorrow:%Y-%m-%dT%H:%M:%SZ}")

    def client(self):
        """Registers an application. Returns its id and secret."""
        body = {"redirect_uris": [REDIRECT_URI]}
        client = requests.post(f"{BASE}/oauth/registrations", json=body, timeout=300).json()
        return client["client_id"], client["client_secret"]

    def tokens(self):
        return requests.post(f"{BASE}/oauth/token", data=self.code, auth=CLIENT, timeout=300).json()

    def grant(self, grant_type):
        """Has a member consent. Returns the parameters that our application exchanges for tokens.

        Because an organization can have only 50 grants, it first presents the last code again, which ends its grant.
        """
        self.tokens()
        verifier = "v" * 43
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
        query = {"response_type": "code", "client_id": CLIENT[0], "redirect_uri": REDIRECT_URI, "scope": "roles:read"}
        query |= {"code_challenge": challenge, "code_challenge_method": "S256"}
        redirect = self.member.allow(f"{BASE}/oauth/authorize?{urlencode(query)}")
        self.code = {"grant_type": "authorization_code", "redirect_uri": REDIRECT_URI, "code_verifier": verifier}
        self.code["code"] = parse_qs(urlsplit(redirect).query)["code"][0]
        return self.code if grant_type == "authorization_code" else {"refresh_token": self.tokens()["refresh_token"]}

    def callback(self):
        """A provider's callback for a screen."""
        call = {"id": f"call-{self.next()}", "customer": {"externalId": f"1-live-{self.screen()}"}}
        return {"type": "end-of-call-report", "endedReason": "customer-busy", "call": call}


class Signature(AuthBase):
    """Signs requests like the voice simulator, with the current time. Leaves missing or malformed headers unchanged."""

    def __init__(self):
        purpose = b"voice simulator"
        key = hmac.digest(SIGNING_KEY, len(purpose).to_bytes(8) + purpose, "sha256")
        self.secret = urlsafe_b64encode(key).rstrip(b"=")

    def __call__(self, request):
        if "X-Signature" in request.headers and re.fullmatch("[0-9]+", request.headers.get("X-Timestamp", "")):
            request.headers["X-Timestamp"] = str(int(time.time()))
            body = request.body.encode() if isinstance(request.body, str) else request.body or b""
            signed = request.headers["X-Timestamp"].encode() + b"." + body
            request.headers["X-Signature"] = hmac.new(self.secret, signed, "sha256").hexdigest()
        return request


make = Maker()
CLIENT = make.client()


@schemathesis.hook
def after_load_schema(context, schema):
    """Sets the authentication of operations without API keys. The first match applies, and API keys match them all."""
    client = schema.auth.set_from_requests(HTTPBasicAuth(*CLIENT))
    client.apply_to(path=["/oauth/token", "/oauth/revoke"])
    schema.auth.set_from_requests(Signature()).apply_to(path="/webhooks/voice/{provider}")
    schema.auth.providers.reverse()


# The functions that create usable values, by operation and field.
CREATORS = {
    "publish_role": {"id": make.role},
    "pause_role": {"id": lambda: make.role("publish")},
    "resume_role": {"id": lambda: make.role("publish", "pause")},
    "reopen_role": {"id": make.closed_role},
    "create_job_posting": {"role_id": make.role},
    "update_role": {"id": make.role},
    "update_job_posting": {"id": make.posting},
    "publish_job_posting": {"id": make.posting},
    "unpublish_job_posting": {"id": make.posting},
    "list_candidates": {"role_id": make.role_with_application},
    "create_candidate": {"role_id": lambda: make.role("publish")},
    "show_candidate": {"id": make.candidate},
    "update_candidate": {"id": make.candidate},
    "advance_candidate": {"id": make.applicant, "role_id": lambda: make.applied_role},
    "reject_candidate": {
        "id": make.applicant,
        "role_id": lambda: make.applied_role,
        "reason_id": lambda: 1,
    },
    "withdraw_candidate": {
        "id": make.applicant,
        "role_id": lambda: make.applied_role,
        "reason_id": lambda: 9,
    },
    "unreject_candidate": {"id": lambda: make.applicant("reject"), "role_id": lambda: make.applied_role},
    "hire_candidate": {"id": make.applicant, "role_id": lambda: make.applied_role},
    "unhire_candidate": {"id": lambda: make.applicant("hire"), "role_id": lambda: make.applied_role},
    "apply_candidate": {"id": make.candidate, "role_id": lambda: make.role("publish")},
    "erase_candidate": {"id": make.candidate},
    "set_legal_hold": {"id": make.candidate},
    "lift_legal_hold": {"id": make.candidate},
    "invite_screen": {"id": make.candidate, "role_id": lambda: make.role("publish")},
    "list_applications": {"role_id": make.role_with_application, "candidate_id": make.applicant},
    "show_application": {"id": make.application},
    "show_submission": {"id": lambda: make.submission()[0], "submission_id": lambda: make.submission()[1]},
    "list_files": {"id": make.file},
    "create_file": {"id": make.candidate},
    **{
        operation: {"id": make.file, "file_id": lambda: make.filed[1]}
        for operation in ("show_file", "complete_file", "delete_file")
    },
    "run_import": {"id": make.checked_import},
    "create_import_files": {"id": make.new_import},
    "assign_import_file": {"id": make.matched_import, "number": lambda: 1, "row": lambda: 1},
    "undo_import": {"id": make.done_import},
    "list_voice_screens": {"role_id": make.role_with_application, "candidate_id": make.applicant},
    "show_voice_screen": {"id": make.screen},
    "cancel_voice_screen": {"id": make.later_screen},
    "post_job": {"job_posting_id": make.posting},
    "list_jobs": {"org": lambda: "acme"},
    "show_sitemap": {"org": lambda: "acme"},
    "show_indeed": {"org": lambda: "acme"},
    "show_linkedin": {"org": lambda: "acme"},
    "show_form": {"org": lambda: "acme", "slug": make.slug},
    "receive_voice_webhook": {"provider": lambda: "simulator", "message": make.callback},
    "register_client": {"redirect_uris": lambda: [REDIRECT_URI]},
    "issue_tokens": {
        "client_id": lambda: CLIENT[0],
        "scope": lambda: "roles:read",
        "resource": lambda: [f"{BASE}/api/v1"],
    },
    "revoke_token": {"client_id": lambda: CLIENT[0]},
}
valid = Counter()


def drop_filters(query, is_for_candidate):
    """Drops filters of a list of applications or screens that can't be combined with the others."""
    if is_for_candidate and "candidate_id" in query:
        dropped = ["role_id", "stage", "status", "result"]
    else:
        dropped = ["candidate_id", "status" if "stage" in query or "result" in query else None]
    for name in dropped:
        query.pop(name, None)


def keep_one_search(query, is_search):
    """Drops filters of the list of candidates that can't be combined."""
    searches = [name for name in SEARCHES if name in query]
    dropped = ["role_id", "stage", *searches[1:]] if is_search and searches else searches
    for name in dropped:
        query.pop(name, None)


def keep_changes(query, asks_for_changes):
    """Drops what can't be combined with the question for changes, or the question."""
    if asks_for_changes and "updated_after" in query:
        for name in query.keys() - {"updated_after", "limit", "cursor"}:
            query.pop(name)
    else:
        query.pop("updated_after", None)


def drop_statements(role):
    """Drops what a role says a second time, and what says nothing."""
    pay, locations = role.get("pay"), role.get("locations")
    if isinstance(pay, dict):
        for name in ("salary_min", "salary_max", "salary_currency"):
            role.pop(name, None)
        if pay.get("max"):
            pay.pop("min", None)
    if isinstance(role.get("closes_on"), str):
        role["closes_on"] = "2100-12-31"
    if isinstance(locations, list) and locations:
        for name in ("location", "country"):
            role.pop(name, None)
        for place in locations:
            if isinstance(place, dict):
                place["city"] = "Oslo"


def settle_questions(posting):
    """Gives questions options that their kinds can have, and no identifiers."""
    questions = posting.get("questions")
    for question in questions if isinstance(questions, list) else []:
        if isinstance(question, dict):
            question.pop("id", None)
            question["options"] = ["Early", "Late"] if str(question.get("kind")).endswith("_choice") else []


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives valid requests new keys and e-mail addresses, filters that can be combined, and existing ids unless a link
    provides them.

    Leaves every third request unchanged, except in the stateful phase, where repeated requests must get the same
    response.
    """
    operation, meta = case.operation.definition.raw["operationId"], case.meta
    if meta is None or meta.generation.mode.is_negative or case.method != case.operation.method.upper():
        return
    is_stateful = meta.phase.name.value == "stateful"
    valid[operation] += 1
    if valid[operation] % 3 == 0 and not is_stateful:
        return
    if "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = f"{make.next()}{case.headers['Idempotency-Key']}"[:255]
    body = case.body if isinstance(case.body, dict) else {}
    if "email" in body:
        body["email"] = f"{make.next()}@example.com"
        made_for[case.id].add("email")
    if operation in ("issue_tokens", "revoke_token"):
        # The secret is in the header.
        body.pop("client_secret", None)
    if operation == "issue_tokens":
        granted = make.grant(body["grant_type"])
        body |= granted
        made_for[case.id].update(granted)
    if "external_id" in body and operation in ("create_candidate", "update_candidate"):
        body["external_id"] = f"{make.next()}"
        made_for[case.id].add("external_id")
    if operation in ("create_role", "update_role", "create_quick_post"):
        role = body.get("role") if operation == "create_quick_post" else body
        if isinstance(role, dict):
            drop_statements(role)
            if "external_id" in role:
                role["external_id"] = f"{make.next()}"
    if operation in ("create_job_posting", "update_job_posting", "create_quick_post"):
        posting = body if operation == "update_job_posting" else body.get("job_posting")
        if isinstance(posting, dict):
            settle_questions(posting)
    if operation in ("create_candidate", "apply_candidate"):
        # Only a role that was made for the case could have questions.
        body.pop("answers", None)
    if operation == "create_file":
        # Few generated contents are documents.
        body.pop("application_id", None)
        if body.get("content") is not None and valid[operation] % 2 == 0:
            body["content"] = "SGVsbG8="
            body.pop("size", None)
        else:
            body.pop("content", None)
            body["size"] = body.get("size") or 5
    if operation == "replace_rejection_reasons":
        for reason in body.get("data") or []:
            if isinstance(reason, dict):
                reason.pop("id", None)
    if "updated_after" in (case.query or {}):
        keep_changes(case.query, valid[operation] % 4 == 1)
    if operation in ("list_applications", "list_voice_screens"):
        drop_filters(case.query, valid[operation] % 2 == 0)
    if operation == "list_audit_log":
        case.query.pop("actor" if valid[operation] % 2 == 0 else "action", None)
        if "from" in case.query:
            case.query.pop("to", None)
    if operation == "list_candidates":
        if is_stateful:
            # The search index may lag behind.
            case.query.pop("q", None)
        keep_one_search(case.query, valid[operation] % 2 == 0)
    for field, create in CREATORS.get(operation, {}).items():
        if field in case.path_parameters:
            if is_stateful and not any(draw.location == "path" for draw in meta.pool_draws):
                continue
            case.path_parameters[field] = create()
        elif field in case.query:
            # The service accepts unknown ids in filters, so they need no excuse.
            case.query[field] = create()
            continue
        elif operation in MOVES and "id" not in made_for[case.id]:
            # Only a candidate that was created for this case has applied for the role.
            continue
        elif body.get(field) is not None:
            body[field] = create()
        else:
            continue
        made_for[case.id].add(field)


@handler()
class Tally(EventHandler):
    """Counts the cases by phase, operation and status, and the links that were followed.

    It writes the counts to a file for run.py, with all excuses and those that applied.
    """

    def __init__(self, *args, **params):
        self.cases, self.links = Counter(), Counter()

    def handle_event(self, ctx, event):
        if not isinstance(event, ScenarioFinished):
            return
        for id, node in event.recorder.cases.items():
            interaction = event.recorder.interactions.get(id)
            if interaction is None or interaction.response is None:
                continue
            self.cases[event.phase.value, node.value.operation.label, interaction.response.status_code] += 1
            if node.transition and node.is_transition_applied:
                self.links[node.transition.id] += 1

    def shutdown(self, ctx):
        with open(os.environ["CONTRACT_TALLY"], "w", encoding="utf-8") as file:
            tally = {"cases": self.cases, "links": self.links, "excused": excused}
            tally = {name: list(counter.items()) for name, counter in tally.items()}
            json.dump(tally | {"excuses": [excuse.sentence for excuse in STATES + RULES]}, file)
