"""Operations that may return no body, because nothing has changed (304) or for a notification (202). The generator uses
`Any` for such a response.

session.py must not contain `Any`, so it uses the operations of this module, which always return a body.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from generated.rolecall_client import AuthenticatedClient
from generated.rolecall_client.api.applications import show_application as application
from generated.rolecall_client.api.candidates import show_candidate as candidate
from generated.rolecall_client.api.candidates import show_submission as submission
from generated.rolecall_client.api.careers import list_jobs as jobs
from generated.rolecall_client.api.careers import show_sitemap as sitemap
from generated.rolecall_client.api.channels import show_channels as channels
from generated.rolecall_client.api.job_postings import show_job_posting as job_posting
from generated.rolecall_client.api.mcp import send_message as message
from generated.rolecall_client.api.organization import show_organization as organization
from generated.rolecall_client.api.roles import show_role as role
from generated.rolecall_client.api.roles import show_role_stats as role_stats
from generated.rolecall_client.api.voice_screens import show_voice_screen as voice_screen
from generated.rolecall_client.api.webhook_endpoints import show_webhook_endpoint as webhook_endpoint
from generated.rolecall_client.models import (
    ApiError,
    ApplicationDetail,
    CandidateDetail,
    Channels,
    JobFeed,
    JobPosting,
    Organization,
    Role,
    RoleStats,
    RpcAnswer,
    Submission,
    VoiceScreenDetail,
    WebhookEndpoint,
)

Parameters = ParamSpec("Parameters")
Data = TypeVar("Data")


def returns(kind: type[Data], operation: Callable[Parameters, object]) -> Callable[Parameters, Data | ApiError]:
    """Returns the operation with the type of its response."""

    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Data | ApiError:
        answer = operation(*args, **kwargs)
        assert isinstance(answer, (kind, ApiError)), answer
        return answer

    return call


list_jobs = returns(JobFeed, jobs.sync)
send_message = returns(RpcAnswer, message.sync)
show_application = returns(ApplicationDetail, application.sync)
show_candidate = returns(CandidateDetail, candidate.sync)
show_channels = returns(Channels, channels.sync)
show_job_posting = returns(JobPosting, job_posting.sync)
show_organization = returns(Organization, organization.sync)
show_role = returns(Role, role.sync)
show_role_stats = returns(RoleStats, role_stats.sync)
show_sitemap = returns(str, sitemap.sync)
show_submission = returns(Submission, submission.sync)
show_voice_screen = returns(VoiceScreenDetail, voice_screen.sync)
show_webhook_endpoint = returns(WebhookEndpoint, webhook_endpoint.sync)


def role_version(id: int, client: AuthenticatedClient) -> str:
    """Returns the `ETag` of a role."""
    return role.sync_detailed(id, client=client).headers["ETag"]
