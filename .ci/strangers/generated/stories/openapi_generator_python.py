"""The story with the client that openapi-generator generates for Python."""

import time
from os import environ

from pydantic import ValidationError
from rolecall_api import ApiClient, CandidatesApi, Configuration, QuickPostApi, RolesApi
from rolecall_api.exceptions import ApiException, UnprocessableEntityException
from rolecall_api.models import QuickPostInput, RemotePolicy, RoleInput, RolePatch


def connect(base: str, key: str) -> ApiClient:
    configuration = Configuration(host=base, access_token=key)
    # Otherwise, urllib3 obeys `Retry-After`: after a 429, it sleeps until midnight UTC.
    configuration.retries = False
    return ApiClient(configuration)


client = connect(environ["ROLECALL"], environ["ROLECALL_KEY"])
roles = RolesApi(client)
new = RoleInput(title="Baker", location="Berlin", salary_min=50_000, remote_policy=RemotePolicy.HYBRID)
posted = QuickPostApi(client).create_quick_post(QuickPostInput(role=new), idempotency_key="openapi_generator_python")
role = posted.role
assert (role.status, role.salary_min, role.remote_policy) == ("open", 50_000, "hybrid"), role
# The names of headers are in lower case here, but not in errors.
again = QuickPostApi(client).create_quick_post_with_http_info(
    QuickPostInput(role=new), idempotency_key="openapi_generator_python"
)
assert again.data == posted and again.headers is not None and again.headers["idempotency-replayed"] == "true", again
print("key")

found = []
cursor = None
while True:
    page = roles.list_roles(limit=3, cursor=cursor)
    found += [listed.id for listed in page.data]
    cursor = page.next_cursor
    if cursor is None:
        break
assert role.id in found and len({*found}) == len(found) > 3, found
print("pages")

changed = roles.update_role(role.id, role_patch=RolePatch(salary_min=None))
assert (changed.salary_min, changed.location) == (None, "Berlin"), changed
print("null")

try:
    roles.create_role(RoleInput(title=" ", salary_min=2, salary_max=1))
    raise AssertionError("a role with mistakes")
except UnprocessableEntityException as error:
    assert error.data is not None
    assert error.data.messages == ["title can't be blank", "salary_min must be at most salary_max"], error
print("422")

shown = roles.show_role_with_http_info(role.id)
assert shown.headers is not None
try:
    roles.show_role(role.id, if_none_match=shown.headers["etag"])
    raise AssertionError("a role that has not changed")
except ApiException as error:
    assert error.status == 304, error
print("304")

started = time.monotonic()
try:
    RolesApi(connect(environ["ROLECALL"], environ["ROLECALL_LIMITED_KEY"])).list_roles()
    raise AssertionError("a request over the limit")
except ApiException as error:
    assert error.status == 429 and error.data is not None and error.headers is not None
    assert error.data.code == "rate_limited" and int(error.headers["Retry-After"]) > 0, error
assert time.monotonic() - started < 10
print("429")

candidate = CandidatesApi(client).list_candidates(limit=1).data[0].id
future = connect(environ["ROLECALL_FUTURE"], environ["ROLECALL_KEY"])
try:
    RolesApi(future).list_roles()
    CandidatesApi(future).list_candidates()
    CandidatesApi(future).show_candidate(candidate)
    print("future")
except (ValidationError, ValueError) as error:
    print("-- future:", type(error).__name__, str(error)[:200])
