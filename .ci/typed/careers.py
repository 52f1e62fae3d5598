"""Operations of the career pages for programs and search engines.

They may return no body (304), for which the generator uses `Any`. session.py must not contain `Any`.
"""

from generated.rolecall_client import AuthenticatedClient
from generated.rolecall_client.api.careers import list_jobs, show_sitemap
from generated.rolecall_client.models import JobFeed


def jobs(client: AuthenticatedClient, org: str) -> JobFeed:
    answer = list_jobs.sync(org, client=client)
    assert isinstance(answer, JobFeed), answer
    return answer


def sitemap(client: AuthenticatedClient, org: str) -> str:
    answer = show_sitemap.sync(org, client=client)
    assert isinstance(answer, str), answer
    return answer
