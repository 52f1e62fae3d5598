"""The README's walkthrough with the client that openapi-python-client generates.

Usage: session.py BASE
"""

import datetime
import sys
import time
from typing import TypeVar

from generated.rolecall_client import AuthenticatedClient
from generated.rolecall_client.api.candidates import (
    advance_candidate,
    create_candidate,
    hire_candidate,
    invite_screen,
    reject_candidate,
    show_candidate,
)
from generated.rolecall_client.api.quick_post import create_quick_post
from generated.rolecall_client.api.roles import create_role, list_roles, show_role, update_role
from generated.rolecall_client.api.voice_screens import show_voice_screen
from generated.rolecall_client.models import (
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

ACME = "rc_live_000000001000000001ZCG7000000DemoKeyOfAcmeLiveNotASecretJPF42F2mh9z0N3tAZ"

Data = TypeVar("Data")


def done(answer: Data | Problem | ProblemOrGatewayError | GatewayError | Invalid | None) -> Data:
    """Returns the data of a successful request."""
    if answer is None or isinstance(answer, (Problem, ProblemOrGatewayError, GatewayError, Invalid)):
        raise AssertionError(answer)
    return answer


[base] = sys.argv[1:]
client = AuthenticatedClient(base, ACME)

# Create and publish a role with its posting. A repeated request is replayed; with another body it is rejected.
engineer = RoleInput(title="Senior Rust Engineer", remote_policy=RemotePolicy.REMOTE, salary_min=150_000)
quick = QuickPostInput(role=engineer)
posted = done(create_quick_post.sync(client=client, body=quick, idempotency_key="first-session"))
again = create_quick_post.sync_detailed(client=client, body=quick, idempotency_key="first-session")
assert again.headers["Idempotency-Replayed"] == "true" and done(again.parsed) == posted
quick.publish = False
other = create_quick_post.sync(client=client, body=quick, idempotency_key="first-session")
assert isinstance(other, Invalid) and other.code == "idempotency_mismatch", other
role = posted.role
assert role.status == "open" and role.job_posting_url == posted.job_posting.public_url

# Add a candidate, screen and hire her.
new = CandidateInput(name="Grace Hopper", email="grace@example.com", role_id=role.id)
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

# Update a role, also with a stale version.
version = show_role.sync_detailed(role.id, client=client).headers["ETag"]
berlin = RolePatch(location="Berlin", salary_min=None)
placed = done(update_role.sync(role.id, client=client, body=berlin, if_match=version))
assert (placed.location, placed.salary_min) == ("Berlin", None)
lost = update_role.sync(role.id, client=client, body=RolePatch(location=None), if_match=version)
assert isinstance(lost, Problem) and lost.code == "precondition_failed", lost

# Make mistakes.
mistakes = create_role.sync(client=client, body=RoleInput(title=" ", salary_min=2, salary_max=1))
assert isinstance(mistakes, Invalid), mistakes
assert mistakes.messages == ["title can't be blank", "salary_min must be at most salary_max"]
late = reject_candidate.sync(grace.id, client=client)
assert isinstance(late, Invalid) and late.code == "invalid_transition", late
stranger = list_roles.sync(client=AuthenticatedClient(base, "rc_live_nobody"))
assert isinstance(stranger, Problem) and stranger.code == "unauthorized", stranger
print("openapi-python-client: the walkthrough")
