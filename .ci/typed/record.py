"""What a session used of the API, and what its answers had that their types do not know."""

import re
from collections.abc import Iterator

import attrs
import httpx

from generated.rolecall_client import AuthenticatedClient
from generated.rolecall_client.api.docs import show_openapi
from generated.rolecall_client.models import OpenApi


class Record:
    """The requests that succeeded."""

    def __init__(self) -> None:
        self.requests: set[str] = set()

    def client(self, base: str, key: str) -> AuthenticatedClient:
        """A client whose requests are recorded."""
        return AuthenticatedClient(base, key, httpx_args={"event_hooks": {"response": [self.note]}})

    def note(self, response: httpx.Response) -> None:
        if response.is_success:
            self.requests.add(f"{response.request.method} {response.request.url.path}")

    def unused(self, client: AuthenticatedClient) -> list[str]:
        """The operations of the API that no request was for."""
        document = show_openapi.sync(client=client)
        assert isinstance(document, OpenApi)
        paths = document.paths.additional_properties.items()
        operations = [f"{method.upper()} {path}" for path, item in paths for method in item.additional_keys]
        return [
            operation
            for operation in operations
            if " /api/v1/" in operation and not any(map(pattern(operation).fullmatch, self.requests))
        ]


def pattern(operation: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", operation))


def unknown(value: object, at: str = "") -> Iterator[str]:
    """The fields that are not of the value's type, which generated models keep in `additional_properties`."""
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
