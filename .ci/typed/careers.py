"""What is open, for programs and for search engines.

These operations may answer without a body (304), which the generator takes for `Any`; session.py is kept free of that.
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
