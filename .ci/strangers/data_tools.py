"""Reads candidates and events with data tools, set up as their documentation shows: dlt, a Singer tap and Airbyte's
declarative connector. Each must read everything once, end, and afterwards go on with exactly what is new. Then the program of
the guide keeps a copy while others write, is killed at odd moments, and must end with what the API shows.

Usage: data_tools.py ROLECALL
"""

import contextlib
import io
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from multiprocessing import get_context
from pathlib import Path

# Nothing is sent to the makers of the tools.
os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "DO_NOT_TRACK": "true"}
# The changes before the first reading: more than two pages.
NEW = 250
GUIDE = Path(__file__).parents[2] / "functions" / "README.md"
# The changes that are made while the program of the guide runs.
CHANGES = 150


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

    def rows(self, path):
        rows, query = [], "?limit=100"
        while query:
            page = self.send("GET", path + query)
            rows += page["data"]
            query = page["next_cursor"] and f"?limit=100&cursor={page['next_cursor']}"
        return rows

    def ids(self, path):
        return [row["id"] for row in self.rows(path)]


def printed_program():
    """The program that the guide prints under this heading."""
    section = GUIDE.read_text().split("### A copy that stays current\n")[1]
    return section.split("```python\n")[1].split("```")[0]


class Changes:
    """Makes changes of all kinds, in an order that a seed decides."""

    def __init__(self, service):
        self.service, self.random = service, random.Random(7)
        self.people, self.roles, self.number = [], [], 0

    def make(self):
        """Makes a change, which may be one that is refused."""
        self.number += 1
        kinds = [self.person, self.person, self.role, self.move, self.move, self.note, self.edit, self.erase, self.rows]
        with contextlib.suppress(urllib.error.HTTPError):
            self.random.choice(kinds if self.people and self.roles else [self.role, self.person])()

    def role(self):
        if len(self.roles) < 5:
            self.roles.append(self.service.send("POST", "/roles", {"title": f"Role {self.number}"})["id"])
            self.service.send("POST", f"/roles/{self.roles[-1]}/publish")
        elif self.random.random() < 0.5:
            self.service.send("PATCH", f"/roles/{self.random.choice(self.roles)}", {"title": f"Renamed {self.number}"})
        else:
            role = self.random.choice(self.roles)
            self.service.send("DELETE", f"/roles/{role}")
            self.service.send("POST", f"/roles/{role}/reopen")
            self.service.send("POST", f"/roles/{role}/publish")

    def person(self):
        body = {"name": f"Person {self.number}", "email": f"person{self.number}@copy.example"}
        body |= {"role_id": self.random.choice(self.roles)} if self.roles else {}
        self.people.append(self.service.send("POST", "/candidates", body)["id"])

    def any_person(self):
        return f"/candidates/{self.random.choice(self.people)}"

    def move(self):
        step, body = self.random.choice(
            [("advance", {"stage": "interview"}), ("advance", {"stage": "offer"}), ("reject", {"reason": "No"}), ("hire", {})]
        )
        self.service.send("POST", f"{self.any_person()}/{step}", body)

    def note(self):
        self.service.send("POST", f"{self.any_person()}/notes", {"text": f"Note {self.number}"})

    def edit(self):
        self.service.send("PATCH", self.any_person(), {"name": f"Renamed {self.number}", "tags": ["copied"]})

    def erase(self):
        person = self.people.pop(self.random.randrange(len(self.people)))
        self.service.send("POST", f"/candidates/{person}/erase", {"reason": "request"})

    def rows(self):
        rows = [{"name": f"Row {self.number}", "applications": [{"role": {"title": f"Imported {self.number}"}}]}]
        imported = self.service.send("POST", "/imports", {"format": "ndjson", "rows": rows})["id"]
        while self.service.send("GET", f"/imports/{imported}")["status"] == "checking":
            time.sleep(0.2)
        self.service.send("POST", f"/imports/{imported}/run")


def shown(service):
    """What the API shows, as the program keeps it."""
    rows = {}
    for kind in ("candidates", "applications", "roles", "job_postings", "voice_screens"):
        for id in service.ids(f"/{kind}"):
            rows[kind, id] = service.send("GET", f"/{kind}/{id}")
    for kind, candidate in list(rows):
        if kind == "candidates":
            for part in ("notes", "touchpoints"):
                for row in service.rows(f"/candidates/{candidate}/{part}"):
                    rows[part, row["id"]] = row | {"candidate_id": candidate}
    for kind, id in rows:
        if kind == "applications":
            for name in ("name", "email", "role_title"):
                rows[kind, id].pop(name, None)
    return rows


def check_program(service):
    """Lets the program keep a copy while others write, and kills it again and again."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "copy.py").write_text(printed_program())
        start = lambda: subprocess.Popen(
            [sys.executable, "copy.py"], cwd=folder, env=os.environ | {"ROLECALL_API": service.base, "ROLECALL_KEY": service.key}
        )
        changes, process = Changes(service), start()
        try:
            for number in range(CHANGES):
                changes.make()
                if number % 30 == 10:
                    process.kill()
                    process.wait()
                    process = start()
            copy = sqlite3.connect(Path(folder, "copy.db"), timeout=60)
            until = time.monotonic() + 120
            # Tasks that changes have begun go on for a while.
            while (different := differences(service, copy)) and time.monotonic() < until:
                time.sleep(2)
            if different:
                raise SystemExit(f"The program of the guide has other rows than the API: {different[:5]}")
            print(f"the guide's program: {copy.execute('select count(*) from copy').fetchone()[0]} rows are what the API shows")
        finally:
            process.kill()
            process.wait()


def differences(service, copy):
    """The rows that differ, with what the API shows and what the program has."""
    expected = shown(service)
    kept = {(kind, id): json.loads(row) for kind, id, row in copy.execute("select kind, id, row from copy")}
    pairs = {key: (expected.get(key), kept.get(key)) for key in expected.keys() | kept.keys()}
    for key, (of_api, of_copy) in pairs.items():
        if of_api and of_copy and key[0] == "candidates":
            pairs[key] = ({name: of_api[name] for name in of_copy}, of_copy)
    return [(key, *pair) for key, pair in pairs.items() if pair[0] != pair[1]]


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
            service = Service(process.stdout)
            check(service)
            check_program(service)
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
