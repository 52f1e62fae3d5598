"""Reads candidates and events with data tools, set up as their documentation shows: dlt, a Singer tap and Airbyte's
declarative connector. Each must read everything once, end, and afterwards go on with exactly what is new.

Usage: data_tools.py ROLECALL
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from multiprocessing import get_context

# Nothing is sent to the makers of the tools.
os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "DO_NOT_TRACK": "true"}
# The changes before the first reading: more than two pages.
NEW = 250


def dlt_tool(base, key, rounds):
    """Loads both resources into files. dlt keeps the position in its own state."""
    import dlt
    from dlt.sources.rest_api import rest_api_source

    after = {"type": "incremental", "cursor_path": "seq", "initial_value": 0}
    config = {
        "client": {"base_url": f"{base}/", "auth": {"type": "bearer", "token": key}},
        "resources": ["candidates", {"name": "events", "endpoint": {"path": "events", "params": {"after": after}}}],
    }
    with tempfile.TemporaryDirectory() as folder:
        pipeline = dlt.pipeline(
            "copy", pipelines_dir=folder, destination=dlt.destinations.filesystem(f"{folder}/copy"), dataset_name="rolecall"
        )
        for _ in rounds:
            rows = {"candidates": [], "events": []}

            def noted(name):
                return lambda row: rows[name].append(row["id"]) or row

            source = rest_api_source(config)
            for name in rows:
                source.resources[name].add_map(noted(name))
            pipeline.run(source, loader_file_format="jsonl")
            yield rows


def singer(base, key, rounds):
    """Runs a tap and reads its messages. The tap's state has the position."""
    from singer_sdk import RESTStream, Tap
    from singer_sdk import typing as th
    from singer_sdk.authenticators import BearerTokenAuthenticator

    class Rows(RESTStream):
        url_base = base
        records_jsonpath = "$.data[*]"
        next_page_token_jsonpath = "$.next_cursor"
        primary_keys = ("id",)
        schema = th.PropertiesList(th.Property("id", th.IntegerType), th.Property("seq", th.IntegerType)).to_dict()

        @property
        def authenticator(self):
            return BearerTokenAuthenticator(token=key)

        def get_url_params(self, context, next_page_token):
            return {"cursor": next_page_token} if next_page_token else {}

    class Candidates(Rows):
        name, path = "candidates", "/candidates"

    class Events(Rows):
        name, path = "events", "/events"
        replication_key = "seq"
        is_sorted = True

        def get_url_params(self, context, next_page_token):
            seen = next_page_token or self.get_starting_replication_key_value(context)
            return {"after": seen} if seen else {}

    class Rolecall(Tap):
        name = "tap-rolecall"
        config_jsonschema = th.PropertiesList().to_dict()

        def discover_streams(self):
            return [Candidates(self), Events(self)]

    state = {}
    for _ in rounds:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            Rolecall(config={}, state=state).sync_all()
        rows = {"candidates": [], "events": []}
        for message in map(json.loads, output.getvalue().splitlines()):
            if message["type"] == "RECORD":
                rows[message["stream"]].append(message["record"]["id"])
            elif message["type"] == "STATE":
                state = message["value"]
        yield rows


def airbyte(base, key, rounds):
    """Runs a declarative connector, with the paginator of its documentation. The connector's state has the position."""
    import logging

    from airbyte_cdk.models import SyncMode, Type
    from airbyte_cdk.sources.declarative.concurrent_declarative_source import ConcurrentDeclarativeSource
    from airbyte_cdk.test.catalog_builder import CatalogBuilder

    def stream(name, parameters, **more):
        requester = {
            "type": "HttpRequester",
            "url_base": base,
            "path": f"/{name}",
            "authenticator": {"type": "BearerAuthenticator", "api_token": key},
            "request_parameters": parameters,
        }
        pages = {"type": "CursorPagination", "cursor_value": "{{ response.next_cursor }}"}
        return {
            "type": "DeclarativeStream",
            "name": name,
            "primary_key": "id",
            "retriever": {
                "type": "SimpleRetriever",
                "requester": requester,
                "record_selector": {"type": "RecordSelector", "extractor": {"type": "DpathExtractor", "field_path": ["data"]}},
                "paginator": {"type": "DefaultPaginator", "pagination_strategy": pages},
            },
            "schema_loader": {"type": "InlineSchemaLoader", "schema": {"type": "object", "properties": {}}},
            **more,
        }

    page = "{{ next_page_token['next_page_token'] if next_page_token }}"
    event = "{{ next_page_token['next_page_token'] if next_page_token else stream_interval['start'] }}"
    position = {"type": "IncrementingCountCursor", "cursor_field": "seq", "start_value": 0}
    manifest = {
        "version": "7.0.0",
        "type": "DeclarativeSource",
        "check": {"type": "CheckStream", "stream_names": ["candidates"]},
        "streams": [stream("candidates", {"cursor": page}), stream("events", {"after": event}, incremental_sync=position)],
    }
    state = []
    modes = [("candidates", SyncMode.full_refresh), ("events", SyncMode.incremental)]
    catalog = CatalogBuilder()
    for name, mode in modes:
        catalog = catalog.with_stream(name, mode)
    catalog = catalog.build()
    for _ in rounds:
        source = ConcurrentDeclarativeSource(catalog, {}, state, source_config=manifest)
        rows, states = {"candidates": [], "events": []}, {}
        for message in source.read(logging.getLogger("airbyte"), {}, catalog, state):
            if message.type == Type.RECORD:
                rows[message.record.stream].append(message.record.data["id"])
            elif message.type == Type.STATE:
                states[message.state.stream.stream_descriptor.name] = message.state
        state = list(states.values())
        yield rows


TOOLS = {"dlt": dlt_tool, "Singer": singer, "Airbyte": airbyte}


class Service:
    """The API of the local service, as this script uses it."""

    def __init__(self, lines):
        printed = dict(re.match(r"(Rolecall|Acme live) +(\S+)", lines.readline()).groups() for _ in range(2))
        self.base, self.key = printed["Rolecall"] + "/api/v1", printed["Acme live"]

    def send(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def change(self, role, texts):
        """Changes a role's title to each of the texts, and waits until the feed has these changes."""
        head = self.send("GET", "/events?after=latest")["position"]
        for text in texts:
            self.send("PATCH", f"/roles/{role}", {"title": text})
        while sum(event["type"] == "role.updated" for event in self.events(head)[0]) < len(texts):
            time.sleep(0.2)

    def events(self, position):
        """The events after a position, and the position after them."""
        events = []
        while True:
            page = self.send("GET", f"/events?limit=1000&after={position}")
            events += page["data"]
            position = page["position"]
            if not page["has_more"]:
                return events, position

    def ids(self, path):
        ids, query = [], "?limit=100"
        while query:
            page = self.send("GET", path + query)
            ids += [row["id"] for row in page["data"]]
            query = page["next_cursor"] and f"?limit=100&cursor={page['next_cursor']}"
        return ids


def run(tool, base, key, orders, results):
    """Reads everything at each order, until there is none. What a tool prints is shown only if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        os.dup2(output.fileno(), sys.stdout.fileno())
        os.dup2(output.fileno(), sys.stderr.fileno())
        try:
            for rows in TOOLS[tool](base, key, iter(orders.get, None)):
                results.put(rows)
        except BaseException as error:
            output.seek(0)
            results.put(f"{output.read()[-5_000:]}\n{type(error).__name__}: {error}")


def main(rolecall):
    with subprocess.Popen(
        [rolecall, "--memory", "--demo", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            check(Service(process.stdout))
        finally:
            process.terminate()


def check(service):
    role = service.send("GET", "/roles?limit=1")["data"][0]["id"]
    # The tools are loaded meanwhile.
    context = get_context("spawn")
    tools = {}
    for name in TOOLS:
        orders, results = context.Queue(), context.Queue()
        worker = context.Process(target=run, args=(name, service.base, service.key, orders, results), daemon=True)
        worker.start()
        tools[name] = (worker, orders, results)
    service.change(role, [f"Title {number}" for number in range(NEW)])
    position = 0
    for number in range(2):
        candidates = service.ids("/candidates")
        events, position = service.events(position)
        expected = {"candidates": sorted(candidates), "events": sorted(event["id"] for event in events)}
        for _, orders, _ in tools.values():
            orders.put("read")
        for name, (_, _, results) in tools.items():
            rows = results.get(timeout=120)
            if isinstance(rows, str):
                raise SystemExit(f"{name}: {rows}")
            for kind, ids in expected.items():
                if sorted(rows[kind]) != ids:
                    raise SystemExit(f"{name}: {len(rows[kind])} {kind} instead of {len(ids)} in run {number + 1}")
        print(f"run {number + 1}: " + ", ".join(f"{len(ids)} {kind}" for kind, ids in expected.items()))
        service.send("POST", "/candidates", {"name": "Ada", "email": f"ada{number}@example.com"})
        service.change(role, [f"Other title {number}" for number in range(120)])
    for worker, orders, _ in tools.values():
        orders.put(None)
        worker.join()


if __name__ == "__main__":
    main(sys.argv[1])
