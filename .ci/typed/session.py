"""The README's walkthrough and many other operations, with the client that openapi-python-client generates.

Usage: session.py BASE
"""
# mypy: disallow-any-expr

import base64
import datetime
import sys
import time
from collections.abc import Iterator
from typing import TypeVar, assert_never

import httpx
from conditional import (
    list_jobs,
    role_version,
    send_message,
    show_application,
    show_candidate,
    show_channels,
    show_job_posting,
    show_organization,
    show_role_stats,
    show_sitemap,
    show_submission,
    show_voice_screen,
    show_webhook_endpoint,
)
from generated.rolecall_client import AuthenticatedClient
from generated.rolecall_client.api.applications import list_applications
from generated.rolecall_client.api.candidates import (
    advance_candidate,
    apply_candidate,
    create_candidate,
    create_consent,
    create_note,
    delete_note,
    erase_candidate,
    export_candidate,
    hire_candidate,
    invite_screen,
    lift_legal_hold,
    list_candidates,
    list_notes,
    list_touchpoints,
    reject_candidate,
    set_legal_hold,
    unhire_candidate,
    unreject_candidate,
    update_candidate,
)
from generated.rolecall_client.api.careers import show_robots
from generated.rolecall_client.api.channels import list_posts, post_job
from generated.rolecall_client.api.job_postings import (
    create_job_posting,
    list_job_postings,
    publish_job_posting,
    unpublish_job_posting,
    update_job_posting,
)
from generated.rolecall_client.api.o_auth import (
    issue_tokens,
    register_client,
    revoke_token,
    show_authorization_server,
    show_protected_api,
    show_protected_host,
    show_protected_mcp_endpoint,
)
from generated.rolecall_client.api.events import list_events
from generated.rolecall_client.api.organization import list_audit_log
from generated.rolecall_client.api.quick_post import create_quick_post
from generated.rolecall_client.api.roles import (
    close_role,
    create_role,
    list_roles,
    pause_role,
    publish_role,
    reopen_role,
    resume_role,
    update_role,
)
from generated.rolecall_client.api.voice_screens import cancel_voice_screen, list_voice_screens
from generated.rolecall_client.api.voice_webhook import receive_voice_webhook
from generated.rolecall_client.api.webhook_endpoints import (
    create_webhook_endpoint,
    delete_webhook_endpoint,
    list_deliveries,
    list_webhook_endpoints,
    ping_webhook_endpoint,
    redeliver_webhook_endpoint,
    replay_webhook_endpoint,
    rotate_secret,
    update_webhook_endpoint,
)
from generated.rolecall_client.models import (
    ActorKind,
    Advance,
    AdvanceStage,
    ApiError,
    ApiErrorCode,
    ApplicationClosedTouchpoint,
    ApplicationReopenedTouchpoint,
    ApplicationStatus,
    AppliedTouchpoint,
    CallbackBody,
    CallbackBodyMessage,
    CandidatePatch,
    ClientMetadata,
    ConsentChangedTouchpoint,
    ConsentPurpose,
    CreatedTouchpoint,
    DisabledReason,
    EndpointStatus,
    Erase,
    ErasureReason,
    GatewayError,
    GrantType,
    Hire,
    HiredTouchpoint,
    Invalid,
    InvalidCode,
    JobPostingContent,
    JobPostingPatch,
    ListedRole,
    ListRolesInclude,
    NewApplication,
    NewCandidate,
    NewConsent,
    NewJobPosting,
    NewNote,
    NewQuickPost,
    NewRole,
    NewVoiceScreen,
    NewWebhookEndpoint,
    NewXPost,
    NoteAddedTouchpoint,
    NoteDeletedTouchpoint,
    OAuthError,
    OfferedAcceptedTouchpoint,
    OfferedDismissedTouchpoint,
    Period,
    Plan,
    ReappliedTouchpoint,
    ReceiveVoiceWebhookProvider,
    RejectedTouchpoint,
    Rejection,
    RemotePolicy,
    ReplayFrom,
    RevocationRequest,
    RolePatch,
    RoleStatus,
    RpcMessage,
    ScreenCancelledTouchpoint,
    ScreenCompletedTouchpoint,
    ScreenInvitedTouchpoint,
    SetLegalHold,
    ShowCandidateInclude,
    Stage,
    StageChangedTouchpoint,
    TokenRequest,
    Undo,
    UnhiredTouchpoint,
    UnrejectedTouchpoint,
    UpdatedTouchpoint,
    WebhookEndpointPatch,
    VoiceScreenStatus,
    XPostStyle,
)
from generated.rolecall_client.types import Unset
from record import Record, unknown

ACME = "rc_live_000000001000000001ZCG7000000DemoKeyOfAcmeLiveNotASecretJPF42F2mh9z0N3tAZ"
GLOBEX = "rc_live_000000002000000002ZCG7000000DemoKeyOfGlobexLiveNoSecretHoFqctcKUab3rjR1L"

# The operations that cannot succeed without a browser or a provider's secret.
REJECTED = {
    "POST /oauth/token": "a code requires a member's consent",
    "POST /webhooks/voice/{provider}": "a signature requires the provider's secret",
}

Data = TypeVar("Data")


def done(answer: Data | ApiError | GatewayError | Invalid | OAuthError | None) -> Data:
    """Returns the data of a successful request, whose type must have every field."""
    if answer is None or isinstance(answer, (ApiError, GatewayError, Invalid, OAuthError)):
        raise AssertionError(answer)
    fields = list(unknown(answer))
    assert not fields, fields
    return answer


def summary(
    touchpoint: ApplicationClosedTouchpoint
    | ApplicationReopenedTouchpoint
    | AppliedTouchpoint
    | ConsentChangedTouchpoint
    | CreatedTouchpoint
    | HiredTouchpoint
    | NoteAddedTouchpoint
    | NoteDeletedTouchpoint
    | OfferedAcceptedTouchpoint
    | OfferedDismissedTouchpoint
    | ReappliedTouchpoint
    | RejectedTouchpoint
    | ScreenCancelledTouchpoint
    | ScreenCompletedTouchpoint
    | ScreenInvitedTouchpoint
    | StageChangedTouchpoint
    | UnhiredTouchpoint
    | UnrejectedTouchpoint
    | UpdatedTouchpoint,
) -> str:
    """Summarizes a touchpoint, using the details of its kind."""
    match touchpoint:
        case CreatedTouchpoint(detail=detail):
            return f"created ({detail.source})"
        case AppliedTouchpoint(detail=detail):
            return f"applied for {detail.role_id}, form {detail.submission_id}"
        case ReappliedTouchpoint(detail=detail):
            return f"applied again, form {detail.submission_id}"
        case OfferedAcceptedTouchpoint(detail=detail) | OfferedDismissedTouchpoint(detail=detail):
            return f"decided about {detail.application_id}"
        case UpdatedTouchpoint(detail=detail):
            return f"updated {', '.join(detail.fields)}"
        case StageChangedTouchpoint(detail=detail):
            return f"{detail.from_} to {detail.to}"
        case RejectedTouchpoint(detail=detail):
            return f"rejected: {detail.reason or 'for no reason'}"
        case UnrejectedTouchpoint(detail=detail):
            return f"back to {detail.to}"
        case UnhiredTouchpoint(detail=detail):
            return f"back to {detail.to}"
        case HiredTouchpoint(detail=detail):
            return f"hired from {detail.start_date or 'now'}"
        case ApplicationClosedTouchpoint(detail=detail):
            return f"closed: {detail.application_id}"
        case ApplicationReopenedTouchpoint(detail=detail):
            return f"reopened: {detail.application_id}"
        case NoteAddedTouchpoint(detail=detail):
            return f"noted: {detail.note_id}"
        case NoteDeletedTouchpoint(detail=detail):
            return f"not noted: {detail.note_id}"
        case ConsentChangedTouchpoint(detail=detail):
            return f"{detail.purpose}: {detail.granted}"
        case ScreenInvitedTouchpoint(detail=detail):
            return f"invited, {detail.scheduled_at or 'now'}"
        case ScreenCancelledTouchpoint(detail=detail):
            return f"cancelled: {detail.reason}"
        case ScreenCompletedTouchpoint(detail=detail):
            return f"screened: {detail.result or 'without a result'}"
        case _:
            assert_never(touchpoint)


def roles(client: AuthenticatedClient) -> Iterator[ListedRole]:
    """Lists all roles, newest first, two per page."""
    page = done(list_roles.sync(client=client, limit=2))
    yield from page.data
    while page.next_cursor is not None:
        page = done(list_roles.sync(client=client, limit=2, cursor=page.next_cursor))
        assert len(page.data) <= 2
        yield from page.data


[base] = sys.argv[1:]
record = Record()
client = record.client(base, ACME)

# Create and publish a role with its posting. A repeated request is replayed; with another body it is rejected.
engineer = NewRole(
    title="Senior Rust Engineer",
    location="Remote",
    remote_policy=RemotePolicy.REMOTE,
    salary_min=150_000,
    salary_max=190_000,
)
quick = NewQuickPost(role=engineer)
posted = done(create_quick_post.sync(client=client, body=quick, idempotency_key="first-session"))
again = create_quick_post.sync_detailed(client=client, body=quick, idempotency_key="first-session")
assert again.headers["Idempotency-Replayed"] == "true"
assert done(again.parsed) == posted
quick.publish = False
other = create_quick_post.sync(client=client, body=quick, idempotency_key="first-session")
assert isinstance(other, Invalid) and other.code is InvalidCode.IDEMPOTENCY_MISMATCH, other
role, posting = posted.role, posted.job_posting
assert role.status is RoleStatus.OPEN and role.job_posting_url == posting.public_url

# Add a candidate, screen and hire her.
grace = done(
    create_candidate.sync(
        client=client, body=NewCandidate(name="Grace Hopper", email="grace@example.com", role_id=role.id)
    )
)
assert grace.phone is None and grace.created_at.tzinfo is not None
tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
later = NewVoiceScreen(role_id=role.id, scheduled_at=tomorrow)
planned = done(invite_screen.sync(grace.id, client=client, body=later))
cancelled = done(cancel_voice_screen.sync(planned.id, client=client))
assert (planned.status, cancelled.status) == (VoiceScreenStatus.SCHEDULED, VoiceScreenStatus.CANCELLED)
invited = done(invite_screen.sync(grace.id, client=client, body=NewVoiceScreen(role_id=role.id)))
assert invited.status is VoiceScreenStatus.QUEUED and invited.started_at is None
deadline = time.monotonic() + 300
completed = VoiceScreenStatus.COMPLETED
while not done(list_voice_screens.sync(client=client, role_id=role.id, status=completed)).data:
    assert time.monotonic() < deadline, "the screen has not completed"
    time.sleep(0.1)
screen = done(show_voice_screen(invited.id, client=client))
assert screen.started_at is not None and screen.completed_at is not None
assert screen.started_at <= screen.completed_at
assert screen.scores is not None and screen.scores.overall is not None
assert screen.assessment is not None and screen.assessment.model is None
turns = [excerpt.turn for excerpt in screen.highlights + screen.red_flags if excerpt.turn is not None]
assert screen.transcript and all(screen.transcript[turn].text for turn in turns)
offered = done(advance_candidate.sync(grace.id, client=client, body=Advance(stage=AdvanceStage.OFFER)))
assert offered.stage is Stage.OFFER and [moved.stage for moved in offered.applications] == [Stage.OFFER]
hire = Hire(start_date=datetime.date(2027, 1, 4), role_id=role.id)
[moved] = done(hire_candidate.sync(grace.id, client=client, body=hire)).applications
assert (moved.stage, moved.status, moved.start_date) == (Stage.HIRED, ApplicationStatus.HIRED, hire.start_date)
hired = done(show_candidate(grace.id, client=client))
assert hired.applications == [moved] and (moved.role_title, moved.source) == (role.title, "manual")
assert [summary(touchpoint) for touchpoint in hired.touchpoints][:2] == ["hired from 2027-01-04", "screening to offer"]
exported = done(export_candidate.sync(grace.id, client=client))
assert exported.voice_screens[0].transcript == screen.transcript and exported.files == []
actor = hired.touchpoints[0].actor
assert actor.type_ is ActorKind.API_KEY and actor.id is not None and actor.name
note = done(create_note.sync(grace.id, client=client, body=NewNote(text="Starts in January.")))
assert note.actor == actor and done(list_notes.sync(grace.id, client=client)).data == [note]
assert done(delete_note.sync(grace.id, note.id, client=client)) == note
newest = done(list_touchpoints.sync(grace.id, client=client, limit=2)).data
assert [summary(touchpoint) for touchpoint in newest] == [f"not noted: {note.id}", f"noted: {note.id}"]
possible = ShowCandidateInclude.POSSIBLE_DUPLICATES
part = done(show_candidate(grace.id, client=client, touchpoints=2, include=possible))
assert part.touchpoints == newest and part.possible_duplicates == []
recording = NewConsent(
    purpose=ConsentPurpose.RECORDING,
    granted=False,
    obtained_at=note.created_at,
    wording="Please do not record me.",
)
consent = done(create_consent.sync(grace.id, client=client, body=recording))
assert consent.actor == actor
refused = done(show_candidate(grace.id, client=client))
assert refused.consents == [consent] and summary(refused.touchpoints[0]) == "recording: False"
form = {"name": grace.name, "email": grace.email, "note": "Once more.", "consent": "yes"}
assert httpx.post(f"{posted.job_posting.public_url}/apply", data=form).status_code == 303
reapplied = done(show_candidate(grace.id, client=client)).touchpoints[0]
assert isinstance(reapplied, ReappliedTouchpoint)
submitted = done(show_submission(grace.id, reapplied.detail.submission_id, client=client))
assert submitted.note == "Once more."
alan = done(create_candidate.sync(client=client, body=NewCandidate(name="Alan Turing", email="alan@example.com")))
reason = SetLegalHold(reason="A lawsuit is pending.")
hold = done(set_legal_hold.sync(alan.id, client=client, body=reason)).legal_hold
assert hold is not None and hold.actor == actor
held = erase_candidate.sync(alan.id, client=client, body=Erase())
assert isinstance(held, ApiError) and held.code is ApiErrorCode.LEGAL_HOLD
assert done(lift_legal_hold.sync(alan.id, client=client)).legal_hold is None
erased = done(erase_candidate.sync(alan.id, client=client, body=Erase(reason=ErasureReason.MISTAKE)))
assert (erased.id, erased.reason, erased.actor.id) == (alan.id, ErasureReason.MISTAKE, actor.id)
stats = done(show_role_stats(role.id, client=client))
assert (stats.applicants, stats.screens_completed, stats.average_score) == (1, 1, screen.scores.overall)
offer, ended = stats.stages.offer, stats.stages.hired
assert (offer.now, offer.ever, offer.median_days) == (0, 1, 0)
assert (ended.now, ended.ever, ended.median_days) == (1, 1, None)
opened = done(list_roles.sync(client=client, status=RoleStatus.OPEN, include=ListRolesInclude.STATS))
[statistics] = [found.stats for found in opened.data if found.id == role.id]
assert statistics and (statistics.applicants, statistics.average_score) == (1, stats.average_score)

# Announce the job on X, and look at the career pages.
post = done(post_job.sync(client=client, body=NewXPost(job_posting_id=posting.id, style=XPostStyle.CASUAL)))
assert posting.public_url in post.text
posts = done(list_posts.sync(client=client))
assert posts.data[0].external_id == post.external_id and posts.next_cursor is None
use = done(show_channels(client=client)).x.usage
assert (use.used, use.limit, use.period) == (1, None, Period.DAY)
feed = done(list_jobs("acme", client=client))
assert [job.url for job in feed.jobs] == [posting.public_url] and feed.next_url is None
assert f"<loc>{posting.public_url}</loc>" in done(show_sitemap("acme", client=client))
assert "Allow: /careers/\n" in done(show_robots.sync(client=client))

# Create some drafts, and list all roles page by page.
for title in ["Data Engineer", "Product Designer", "Recruiter"]:
    done(create_role.sync(client=client, body=NewRole(title=title)))
titles = [role.title for role in roles(client)]
assert titles[:4] == ["Recruiter", "Product Designer", "Data Engineer", engineer.title], titles
draft = done(list_roles.sync(client=client, status=RoleStatus.DRAFT)).data[0]
assert draft.title == "Recruiter" and draft.salary_max is None

# Send invalid requests.
contradiction = create_role.sync(client=client, body=NewRole(title=" ", salary_min=2, salary_max=1))
assert isinstance(contradiction, Invalid), contradiction
assert contradiction.messages == ["title can't be blank", "salary_min must be at most salary_max"]
late = reject_candidate.sync(grace.id, client=client)
assert isinstance(late, Invalid) and late.code is InvalidCode.INVALID_TRANSITION, late
nobody = show_candidate(1, client=client)
assert isinstance(nobody, ApiError) and nobody.code is ApiErrorCode.NOT_FOUND, nobody
stranger = show_organization(client=record.client(base, "rc_live_nobody"))
assert isinstance(stranger, ApiError) and stranger.code is ApiErrorCode.UNAUTHORIZED, stranger

# Update a draft, also with a stale version. Then run all transitions of a role.
version = role_version(draft.id, client)
berlin = RolePatch(location="Berlin", remote_policy=RemotePolicy.HYBRID)
placed = done(update_role.sync(draft.id, client=client, body=berlin, if_match=version))
assert placed.remote_policy is RemotePolicy.HYBRID
lost = update_role.sync(draft.id, client=client, body=RolePatch(location=None), if_match=version)
assert isinstance(lost, ApiError) and lost.code is ApiErrorCode.PRECONDITION_FAILED, lost
assert done(update_role.sync(draft.id, client=client, body=RolePatch(location=None))).location is None
assert done(update_role.sync(draft.id, client=client)).remote_policy is RemotePolicy.HYBRID
content = JobPostingContent(requirements="Patience.")
written = done(create_job_posting.sync(client=client, body=NewJobPosting(role_id=draft.id, job_posting=content)))
assert done(publish_role.sync(draft.id, client=client)).status is RoleStatus.OPEN
assert done(pause_role.sync(draft.id, client=client)).status is RoleStatus.PAUSED
assert done(resume_role.sync(draft.id, client=client)).status is RoleStatus.OPEN

# Update and publish the posting.
patch = JobPostingPatch(requirements=None, title="Talent scout")
reworded = done(update_job_posting.sync(written.id, client=client, body=patch))
assert reworded.requirements is None and reworded.slug == written.slug
assert done(publish_job_posting.sync(written.id, client=client)).published
published = done(list_job_postings.sync(client=client, published=True, limit=1))
assert [found.id for found in published.data] == [written.id]
assert not done(unpublish_job_posting.sync(written.id, client=client)).published
assert done(show_job_posting(written.id, client=client)).title == "Talent scout"

# Another candidate applies, once for each role.
ada = done(create_candidate.sync(client=client, body=NewCandidate(name="Ada Lovelace", email="ada@example.com")))
change = CandidatePatch(phone="+1 415 555 2671", tags=["Rust", "remote"])
phoned = done(update_candidate.sync(ada.id, client=client, body=change))
assert phoned.phone == "+14155552671" and phoned.tags == ["Rust", "remote"] and phoned.resume_url is None
for answer in (list_candidates.sync(client=client, q="lovel"), list_candidates.sync(client=client, tag="REMOTE")):
    assert [candidate.id for candidate in done(answer).data] == [ada.id]
referral = NewApplication(role_id=draft.id, source="Referral")
application = done(apply_candidate.sync(ada.id, client=client, body=referral))
assert (application.source, application.stage) == ("Referral", Stage.APPLIED)
repeated = apply_candidate.sync(ada.id, client=client, body=referral)
assert isinstance(repeated, Invalid) and repeated.code is InvalidCode.DUPLICATE, repeated
existing = repeated.existing
assert not isinstance(existing, Unset) and (existing.type_, existing.id) == ("application", application.id)

# Look at the application, and list it for its role and for its candidate.
detail = done(show_application(application.id, client=client))
assert (detail.role_title, detail.name, detail.email) == (draft.title, ada.name, ada.email)
of_role = done(list_applications.sync(client=client, role_id=draft.id, stage=Stage.APPLIED))
of_candidate = done(list_applications.sync(client=client, candidate_id=ada.id))
assert detail.offered is None
listed = [(one.id, one.name, one.status, one.updated_at) for one in of_role.data + of_candidate.data]
assert listed == [(detail.id, detail.name, detail.status, detail.updated_at)] * 2
applied = done(list_candidates.sync(client=client, role_id=draft.id, stage=Stage.APPLIED))
[(name, state)] = [(candidate.name, candidate.application) for candidate in applied.data]
assert name == ada.name and state and state.id == application.id and state.status is ApplicationStatus.ACTIVE

# Reject and hire her, and undo both. Closing the role closes the application.
declined = done(reject_candidate.sync(ada.id, client=client, body=Rejection(reason="Salary", role_id=draft.id)))
assert declined.stage is Stage.REJECTED and declined.applications[0].rejection_reason == "Salary"
assert done(unreject_candidate.sync(ada.id, client=client)).stage is Stage.APPLIED
assert done(hire_candidate.sync(ada.id, client=client)).stage is Stage.HIRED
unhired = done(unhire_candidate.sync(ada.id, client=client, body=Undo(role_id=draft.id)))
assert unhired.stage is Stage.APPLIED and [moved.id for moved in unhired.applications] == [application.id]
assert done(close_role.sync(draft.id, client=client)).status is RoleStatus.CLOSED
assert done(show_application(application.id, client=client)).status is ApplicationStatus.CLOSED
advance = Advance(stage=AdvanceStage.OFFER, role_id=draft.id)
closed = advance_candidate.sync(ada.id, client=client, body=advance)
assert isinstance(closed, Invalid) and closed.code is InvalidCode.INVALID_TRANSITION, closed
assert done(reopen_role.sync(draft.id, client=client)).status is RoleStatus.DRAFT
assert done(show_application(application.id, client=client)).status is ApplicationStatus.ACTIVE

# Compare the plans' limits.
acme = done(show_organization(client=client))
done(list_audit_log.sync(client=client, actor="system"))
done(list_events.sync(client=client, after="latest"))
assert acme.plan.name is Plan.PRO and acme.limits.requests_per_day is None
globex = record.client(base, GLOBEX)
limit = done(show_organization(client=globex)).limits.requests_per_day
assert limit is not None
for _ in range(limit - 1):
    done(show_organization(client=globex))
spent = list_roles.sync_detailed(client=globex)
assert isinstance(spent.parsed, ApiError) and spent.parsed.code is ApiErrorCode.RATE_LIMITED, spent
assert int(spent.headers["Retry-After"]) > 0

# Register an OAuth application. It gets no tokens before a member consents.
server = done(show_authorization_server.sync(client=client))
protected = [
    done(show_protected_host.sync(client=client)),
    done(show_protected_api.sync(client=client)),
    done(show_protected_mcp_endpoint.sync(client=client)),
]
assert [resource.resource for resource in protected] == [base, f"{base}/api/v1", f"{base}/mcp"]
assert [resource.authorization_servers for resource in protected] == [[server.issuer]] * 3
metadata = ClientMetadata(client_name="Assistant", redirect_uris=["https://app.example/callback"])
registered = done(register_client.sync(client=client, body=metadata))
secret = base64.b64encode(f"{registered.client_id}:{registered.client_secret}".encode()).decode()
application_client = record.client(base, secret, prefix="Basic")
tokens = issue_tokens.sync(
    client=application_client,
    body=TokenRequest(
        grant_type=GrantType.AUTHORIZATION_CODE,
        code="guessed",
        redirect_uri=registered.redirect_uris[0],
        code_verifier="guessed" * 7,
    ),
)
assert isinstance(tokens, OAuthError) and tokens.error == "invalid_grant", tokens
done(revoke_token.sync(client=application_client, body=RevocationRequest(token="guessed")))

# Manage a webhook endpoint.
new = NewWebhookEndpoint(url="https://hooks.example.com/rolecall")
hook = done(create_webhook_endpoint.sync(client=client, body=new))
assert hook.secret.startswith("whsec_") and hook.disabled_reason is None
assert done(show_webhook_endpoint(hook.id, client=client)).public_keys == hook.public_keys
assert done(list_webhook_endpoints.sync(client=client)).data[0].id == hook.id
off = WebhookEndpointPatch(status=EndpointStatus.DISABLED)
assert done(update_webhook_endpoint.sync(hook.id, client=client, body=off)).disabled_reason is DisabledReason.REQUESTED
on = WebhookEndpointPatch(status=EndpointStatus.ENABLED)
assert done(update_webhook_endpoint.sync(hook.id, client=client, body=on)).status is EndpointStatus.ENABLED
assert done(rotate_secret.sync(hook.id, client=client)).secret != hook.secret
ping = done(ping_webhook_endpoint.sync(hook.id, client=client))
assert done(redeliver_webhook_endpoint.sync(hook.id, ping.id, client=client)).id == ping.id
done(replay_webhook_endpoint.sync(hook.id, client=client, body=ReplayFrom(after=0)))
assert ping.id in [delivery.id for delivery in done(list_deliveries.sync(hook.id, client=client)).data]
assert done(delete_webhook_endpoint.sync(hook.id, client=client)).id == hook.id

# Send a message of an assistant.
pong = done(send_message(client=client, body=RpcMessage(jsonrpc="2.0", id=1, method="ping")))
assert pong.jsonrpc == "2.0" and isinstance(pong.error, Unset), pong

# Send a callback with a wrong signature.
callback = receive_voice_webhook.sync(
    ReceiveVoiceWebhookProvider.SIMULATOR,
    client=record.client(base, "00", prefix="", header="X-Signature"),
    x_timestamp=f"{time.time():.0f}",
    body=CallbackBody(message=CallbackBodyMessage()),
)
assert isinstance(callback, ApiError) and callback.code is ApiErrorCode.UNAUTHORIZED, callback

operations = record.operations(client)
rejected = {operation for operation, succeeded in operations.items() if succeeded is False}
assert rejected == REJECTED.keys(), rejected
used = sum(succeeded is not None for succeeded in operations.values())
print(f"openapi-python-client: used {used} of {len(operations)} operations; rejected as expected: {', '.join(REJECTED)}")
