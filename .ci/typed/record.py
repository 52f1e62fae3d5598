"""Records which operations a session uses, and finds fields that the types of its responses lack."""

import re
from collections.abc import Iterator

import attrs
import httpx

from generated.rolecall_client import AuthenticatedClient
from generated.rolecall_client.api.docs import show_openapi
from generated.rolecall_client.models import OpenApi


class Record:
    """The requests, and whether each succeeded at least once."""

    def __init__(self) -> None:
        self.requests: dict[str, bool] = {}

    def client(
        self, base: str, key: str, *, prefix: str = "Bearer", header: str = "Authorization"
    ) -> AuthenticatedClient:
        """Creates a client whose requests are recorded."""
        hooks = {"event_hooks": {"response": [self.note]}}
        return AuthenticatedClient(base, key, prefix=prefix, auth_header_name=header, httpx_args=hooks)

    def note(self, response: httpx.Response) -> None:
        request = f"{response.request.method} {response.request.url.path}"
        self.requests[request] = response.is_success or self.requests.get(request, False)

    def operations(self, client: AuthenticatedClient) -> dict[str, bool | None]:
        """Maps every operation of the document to whether a request succeeded, or to None if it was not used."""
        document = show_openapi.sync(client=client)
        assert isinstance(document, OpenApi)
        paths = document.paths.additional_properties.items()
        operations = [f"{method.upper()} {path}" for path, item in paths for method in item.additional_keys]
        return {operation: self.succeeded(operation) for operation in operations}

    def succeeded(self, operation: str) -> bool | None:
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", operation))
        results = [succeeded for request, succeeded in self.requests.items() if pattern.fullmatch(request)]
        return any(results) if results else None


def unknown(value: object, at: str = "") -> Iterator[str]:
    """Yields fields that the value's type lacks. Generated models put them in `additional_properties`."""
    if isinstance(value, list):
        for item in value:
            yield from unknown(item, f"{at}[]")
    elif attrs.has(kind := type(value)):
        for field in attrs.fields(kind):
            inner = getattr(value, field.name)
            if field.name == "additional_properties":
                yield from (f"{at}.{name}" for name in inner)
            else:
                yield from unknown(inner, f"{at}.{field.name}")
