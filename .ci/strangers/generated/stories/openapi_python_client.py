"""The README's walkthrough, and the story, with the client that openapi-python-client generates."""

import datetime
import time
from os import environ
from typing import TypeVar

from rolecall_client import AuthenticatedClient
from rolecall_client.api.candidates import (
    advance_candidate,
    create_candidate,
    hire_candidate,
    invite_screen,
    list_candidates,
    reject_candidate,
    show_candidate,
)
from rolecall_client.api.quick_post import create_quick_post
from rolecall_client.api.roles import create_role, list_roles, show_role, update_role
from rolecall_client.api.voice_screens import show_voice_screen
from rolecall_client.models import (
    Advance,
    AdvanceStage,
    CandidateDetail,
    CandidateInput,
    GatewayError,
    Hire,
    Invalid,
    ListedRoleList,
    Problem,
    ProblemOrGatewayError,
    QuickPostInput,
    RemotePolicy,
    RoleInput,
    RolePatch,
    VoiceScreenDetail,
    VoiceScreenInput,
)

Data = TypeVar("Data")


def done(answer: Data | Problem | ProblemOrGatewayError | GatewayError | Invalid | None) -> Data:
    """Returns the data of a successful request."""
    if answer is None or isinstance(answer, (Problem, ProblemOrGatewayError, GatewayError, Invalid)):
        raise AssertionError(answer)
    return answer


base = environ["ROLECALL"]
client = AuthenticatedClient(base, environ["ROLECALL_KEY"])

# Create and publish a role with its posting. A repeated request is replayed; with another body it is rejected.
engineer = RoleInput(title="Senior Rust Engineer", remote_policy=RemotePolicy.REMOTE, salary_min=150_000)
quick = QuickPostInput(role=engineer)
posted = done(create_quick_post.sync(client=client, body=quick, idempotency_key="openapi_python_client"))
again = create_quick_post.sync_detailed(client=client, body=quick, idempotency_key="openapi_python_client")
assert again.headers["Idempotency-Replayed"] == "true" and done(again.parsed) == posted
quick.publish = False
other = create_quick_post.sync(client=client, body=quick, idempotency_key="openapi_python_client")
assert isinstance(other, Invalid) and other.code == "idempotency_mismatch", other
role = posted.role
assert role.status == "open" and role.job_posting_url == posted.job_posting.public_url
print("key")

# Add a candidate, screen and hire her.
new = CandidateInput(name="Grace Hopper", email="grace@python.example", role_id=role.id)
grace = done(create_candidate.sync(client=client, body=new))
assert grace.phone is None and grace.created_at.tzinfo is not None
invited = done(invite_screen.sync(grace.id, client=client, body=VoiceScreenInput(role_id=role.id)))
deadline = time.monotonic() + 300
while True:
    screen = show_voice_screen.sync(invited.id, client=client)
    assert isinstance(screen, VoiceScreenDetail), screen
    if screen.completed_at is not None:
        break
    assert time.monotonic() < deadline, "the screen has not completed"
    time.sleep(0.1)
assert screen.scores is not None and screen.scores.overall is not None and screen.transcript
offered = done(advance_candidate.sync(grace.id, client=client, body=Advance(stage=AdvanceStage.OFFER)))
assert offered.stage == "offer"
hire = Hire(start_date=datetime.date(2027, 1, 4))
[moved] = done(hire_candidate.sync(grace.id, client=client, body=hire)).applications
hired = show_candidate.sync(grace.id, client=client)
assert isinstance(hired, CandidateDetail) and hired.applications == [moved]
first, second = hired.touchpoints[:2]
assert first.kind == "hired" and first.detail.start_date == hire.start_date
assert second.kind == "stage_changed" and second.detail.to == "offer"

# Create some drafts, and list all roles page by page.
for title in ["Data Engineer", "Product Designer", "Recruiter"]:
    done(create_role.sync(client=client, body=RoleInput(title=title)))
page: ListedRoleList = done(list_roles.sync(client=client, limit=2))
titles = [listed.title for listed in page.data]
while page.next_cursor is not None:
    page = done(list_roles.sync(client=client, limit=2, cursor=page.next_cursor))
    titles += [listed.title for listed in page.data]
assert titles[:4] == ["Recruiter", "Product Designer", "Data Engineer", engineer.title], titles
print("pages")

# Update a role, also with a stale version.
version = show_role.sync_detailed(role.id, client=client).headers["ETag"]
berlin = RolePatch(location="Berlin", salary_min=None)
placed = done(update_role.sync(role.id, client=client, body=berlin, if_match=version))
assert (placed.location, placed.salary_min) == ("Berlin", None)
print("null")
lost = update_role.sync(role.id, client=client, body=RolePatch(location=None), if_match=version)
assert isinstance(lost, Problem) and lost.code == "precondition_failed", lost

# Make mistakes.
mistakes = create_role.sync(client=client, body=RoleInput(title=" ", salary_min=2, salary_max=1))
assert isinstance(mistakes, Invalid), mistakes
assert mistakes.messages == ["title can't be blank", "salary_min must be at most salary_max"]
print("422")
late = reject_candidate.sync(grace.id, client=client)
assert isinstance(late, Invalid) and late.code == "invalid_transition", late
stranger = list_roles.sync(client=AuthenticatedClient(base, "rc_live_nobody"))
assert isinstance(stranger, Problem) and stranger.code == "unauthorized", stranger

# Ask for what has not changed, go over the limit, and meet a newer release.
fresh = show_role.sync_detailed(role.id, client=client).headers["ETag"]
unchanged = show_role.sync_detailed(role.id, client=client, if_none_match=fresh)
assert unchanged.status_code == 304 and unchanged.parsed is None, unchanged
print("304")
over = list_roles.sync_detailed(client=AuthenticatedClient(base, environ["ROLECALL_LIMITED_KEY"]))
assert over.status_code == 429 and isinstance(over.parsed, Problem), over
assert over.parsed.code == "rate_limited" and int(over.headers["Retry-After"]) > 0, over
print("429")
future = AuthenticatedClient(environ["ROLECALL_FUTURE"], environ["ROLECALL_KEY"])
done(list_roles.sync(client=future))
done(list_candidates.sync(client=future))
assert isinstance(show_candidate.sync(grace.id, client=future), CandidateDetail)
print("future")
