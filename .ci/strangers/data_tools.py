"""Keeps copies with data tools, by the code and the settings that the guide prints under "Keeping a copy": dlt, a Singer tap,
Airbyte's declarative connector, Zapier and n8n. Each of them reads changes and erasures, in a fixed order, in a few runs, or with
--year in 20 runs in a year: some amid changes, and one after the feed has forgotten what they missed. After each run that is not
amid changes, each copy must be what the API shows. Their key has only the scopes that the guide prints.

Without --year, the program of the guide then keeps a copy while others write, is killed at odd moments, and must end with what
the API shows, too; and DuckDB, polars and pandas read exports.

Usage: data_tools.py ROLECALL [--year]
"""

import contextlib
import io
import json
import os
import random
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from datetime import datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

# Nothing is sent to the makers of the tools.
os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "DO_NOT_TRACK": "true"}
GUIDE = Path(__file__).parents[2] / "functions" / "README.md"
# The keys of the local service.
ENVIRONMENT = Path(__file__).parents[2] / "infra" / "local" / "environment.json"
API = "https://api.rolecall.test/api/v1"
# The changes that are made while the program of the guide runs.
CHANGES = 150
# All times are in the past, because some tools ask for nothing that is later than now.
START = datetime(2025, 2, 1, 8)
# The number of runs, and after which of them nothing is read for longer than the feed keeps events, which is 30 days.
SHORT, YEAR = (4, 3), (20, 12)
# What a role and a person have, and an application shows.
SHOWN = {"name", "email", "role_title"}


def printed_all(heading):
    """What the guide says under a heading."""
    section = re.split(rf"^### {heading}\n", GUIDE.read_text(), flags=re.MULTILINE)[1]
    return re.split(r"^##+ ", section, flags=re.MULTILINE)[0]


def printed(heading, language):
    """The code that the guide prints under a heading."""
    return re.search(rf"^```{language}\n(.*?)^```", printed_all(heading), re.MULTILINE | re.DOTALL)[1]


class Expired(Exception):
    """The position is older than the feed."""


class Tables:
    """What a Singer target or a destination of Airbyte does: a row replaces the one with the same id."""

    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.row_factory = sqlite3.Row
        self.seqs = []

    def create(self, table, columns):
        self.db.execute(f"create table if not exists {table} ({', '.join(columns)}, primary key (id))")

    def put(self, table, row):
        if table == "events":
            self.seqs.append(row["seq"])
        columns = [name for _, name, *_ in self.db.execute(f"pragma table_info({table})")]
        values = [row.get(name) for name in columns]
        values = [json.dumps(value) if isinstance(value, dict | list) else value for value in values]
        self.db.execute(f"replace into {table} values ({', '.join('?' * len(columns))})", values)

    def rows(self):
        """What is left when the guide's statements have deleted who was erased."""
        self.db.executescript(printed("Singer", "sql"))
        tables = {table: self.db.execute(f"select * from {table}") for table in ("candidates", "applications")}
        return {table: [dict(row) for row in rows] for table, rows in tables.items()} | {"seqs": self.seqs}


class Dlt:
    def __init__(self):
        self.program = compile(printed("dlt", "python"), "copy.py", "exec")

    def run(self, order):
        import duckdb

        os.environ.pop("REFRESH", None)
        if order["again"]:
            os.environ["REFRESH"] = "drop_sources"
        try:
            exec(self.program, {})
        except Exception as error:
            if "410 Client Error" not in str(error):
                raise
            raise Expired from None
        with duckdb.connect("copy.duckdb") as db:
            db.execute("set timezone = 'UTC'; set schema = 'rolecall'")
            tables = {table: list(self.table(db, table)) for table in ("candidates", "applications")}
            return tables | {"seqs": [seq for (seq,) in db.sql("select seq from events order by seq").fetchall()]}

    def table(self, db, table):
        rows = db.sql(f"select * from {table}")
        for values in rows.fetchall():
            row = dict(zip(rows.columns, values, strict=True))
            for name, kind in zip(rows.columns, rows.types, strict=True):
                if isinstance(row[name], datetime):
                    row[name] = row[name].isoformat(timespec="milliseconds").replace("+00:00", "Z")
                elif str(kind) == "JSON" and row[name]:
                    row[name] = json.loads(row[name])
            yield {name: value for name, value in row.items() if not name.startswith("_dlt_")}


class Singer:
    def __init__(self):
        # A client takes the document from where it takes the rest.
        program = printed("Singer", "python").replace(API, os.environ["ROLECALL_API"])
        module = {"__name__": "tap_rolecall"}
        exec(program, module)
        self.tap = module["Rolecall"]
        access = {"api": os.environ["ROLECALL_API"], "key": os.environ["ROLECALL_KEY"]}
        self.config = json.loads(printed("Singer", "json")) | access
        self.state, self.tables = {}, Tables()

    def run(self, order):
        from singer_sdk.exceptions import FatalAPIError

        if order["again"]:
            self.state, self.tables = {}, Tables()
        output, expired = io.StringIO(), False
        with contextlib.redirect_stdout(output):
            try:
                self.tap(config=self.config, state=self.state).sync_all()
            except FatalAPIError as error:
                if not str(error).startswith("410"):
                    raise
                expired = True
        for message in map(json.loads, output.getvalue().splitlines()):
            if message["type"] == "SCHEMA":
                self.tables.create(message["stream"], message["schema"]["properties"])
            elif message["type"] == "RECORD":
                self.tables.put(message["stream"], message["record"])
            elif message["type"] == "STATE":
                self.state = message["value"]
        if expired:
            raise Expired
        return self.tables.rows()


class Airbyte:
    def __init__(self):
        import yaml
        from airbyte_cdk.models import SyncMode
        from airbyte_cdk.test.catalog_builder import CatalogBuilder

        self.manifest = yaml.safe_load(printed("Airbyte", "yaml"))
        self.config = {"api": os.environ["ROLECALL_API"], "key": os.environ["ROLECALL_KEY"]}
        catalog = CatalogBuilder()
        for stream in self.manifest["streams"]:
            catalog = catalog.with_stream(stream["name"], SyncMode.incremental)
        self.catalog = catalog.build()
        self.clear()

    def clear(self):
        self.states, self.tables = {}, Tables()
        for stream in self.manifest["streams"]:
            self.tables.create(stream["name"], stream["schema_loader"]["schema"]["properties"])

    def run(self, order):
        import logging

        from airbyte_cdk.models import Type
        from airbyte_cdk.sources.declarative.concurrent_declarative_source import ConcurrentDeclarativeSource
        from airbyte_cdk.utils.traced_exception import AirbyteTracedException

        if order["again"]:
            self.clear()
        state, errors = list(self.states.values()), []
        source = ConcurrentDeclarativeSource(self.catalog, self.config, state, source_config=self.manifest)
        try:
            for message in source.read(logging.getLogger("airbyte"), self.config, self.catalog, state):
                if message.type == Type.RECORD:
                    self.tables.put(message.record.stream, message.record.data)
                elif message.type == Type.STATE:
                    self.states[message.state.stream.stream_descriptor.name] = message.state
                elif message.type == Type.TRACE and message.trace.error:
                    errors.append(message.trace.error.message)
        except AirbyteTracedException:
            if errors != ["Clear the data, and sync again."]:
                raise
            raise Expired from None
        return self.tables.rows()


class Node:
    """Zapier and n8n, which keep no position."""

    def __init__(self, tool, language, file):
        # A client takes everything from the address that it was given.
        text = printed(tool, language).replace(API, os.environ["ROLECALL_API"])
        Path(file).write_text(text)
        folder = Path(__file__).parent / "data"
        command = ["node", folder / "copies.mjs", tool.lower(), Path(file).absolute()]
        command += [os.environ["ROLECALL_API"], os.environ["ROLECALL_KEY"]]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=os.environ | {"NODE_PATH": str(folder / "node_modules")}, **pipes)
        self.copy = {"candidates": {}, "applications": {}}

    def run(self, order):
        if order["again"]:
            self.copy = {"candidates": {}, "applications": {}}
        elif order["days"] > 30 and self.copy["candidates"]:
            # Nothing but the guide tells this to the user.
            raise Expired
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        for table, rows in self.copy.items():
            rows.update((row["id"], row) for row in found[table])
        for person in found["candidate.erased"]:
            self.copy["candidates"].pop(person, None)
            applications = self.copy["applications"].items()
            self.copy["applications"] = {id: row for id, row in applications if row["candidate_id"] != person}
        for application in found["application.deleted"]:
            self.copy["applications"].pop(application, None)
        return {table: list(rows.values()) for table, rows in self.copy.items()}


TOOLS = {
    "dlt": Dlt,
    "Singer": Singer,
    "Airbyte": Airbyte,
    "Zapier": lambda: Node("Zapier", "js", "index.cjs"),
    "n8n": lambda: Node("n8n", "json", "node.json"),
}


def work(tool, environment, orders, results):
    """Brings a copy up to date at each order. What a tool prints is shown only if it fails."""
    os.environ |= environment
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:
        os.chdir(folder)
        os.environ["DLT_DATA_DIR"] = folder
        os.dup2(output.fileno(), sys.stdout.fileno())
        os.dup2(output.fileno(), sys.stderr.fileno())
        try:
            copy = TOOLS[tool]()
            while True:
                order = orders.get()
                try:
                    results.put(copy.run(order))
                except Expired:
                    results.put(None)
        except BaseException as error:
            output.seek(0)
            results.put(f"{output.read()[-5_000:]}\n{type(error).__name__}: {error}")


class Worker:
    """A tool in a process of its own."""

    def __init__(self, tool, environment):
        context = get_context("spawn")
        self.tool, self.orders, self.results = tool, context.Queue(), context.Queue()
        arguments = (tool, environment, self.orders, self.results)
        self.process = context.Process(target=work, args=arguments)
        self.process.start()

    def result(self):
        """The rows, or None if the position was older than the feed."""
        result = self.results.get(timeout=120)
        if isinstance(result, str):
            raise SystemExit(f"{self.tool}: {result}")
        return result

    def stop(self):
        # singer-sdk holds back the usual signals.
        self.process.kill()
        self.process.join()


def normal(row):
    """A row with a name for each part of an object, and without what is null: some tools have no columns for it."""
    parts = {name: value for name, value in row.items() if value is not None}
    if isinstance(parts.get("tags"), str):
        parts["tags"] = json.loads(parts["tags"])
    rejection = parts.pop("rejection", {})
    rejection = json.loads(rejection) if isinstance(rejection, str) else rejection
    parts |= {f"rejection__{name}": value for name, value in rejection.items() if value is not None}
    return parts


def kept(rows):
    """The rows that a copy keeps, by table and identifier."""
    left_out = {"candidates": set(), "applications": SHOWN}
    return {
        (table, row["id"]): normal({name: row[name] for name in row if name not in left_out[table]})
        for table in left_out
        for row in rows[table]
    }


def compare(copies, service):
    """Fails unless each copy is what the API shows, and has had each event once."""
    of_api = kept({table: service.rows(f"/{table}") for table in ("candidates", "applications")})
    head = int(service.send("GET", "/events?after=latest")["position"])
    for tool, rows in copies.items():
        copied = kept(rows)
        for key in copied.keys() | of_api.keys():
            if copied.get(key) != of_api.get(key):
                raise SystemExit(f"{tool}, {key}: {copied.get(key)} instead of {of_api.get(key)}")
        seqs = rows.get("seqs")
        if seqs and seqs != list(range(seqs[0], head + 1)):
            raise SystemExit(f"{tool}: {len(seqs)} events from {seqs[0]} to {seqs[-1]} instead of all up to {head}")


@contextlib.contextmanager
def started(rolecall, *arguments):
    with subprocess.Popen([rolecall, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            found = {}
            for line in process.stdout:
                if words := re.match(r"(Rolecall|Acme live|DynamoDB) +(\S+)", line):
                    found[words[1]] = words[2]
                if "DynamoDB" in found:
                    break
            yield Service(found["Rolecall"] + "/api/v1", found["Acme live"], found["DynamoDB"])
        finally:
            process.terminate()


def key_for_copies(rolecall, service, *more):
    """A key with the scopes that the guide prints, and perhaps more of them."""
    chapter = re.search(r"^## Keeping a copy\n(.*?)^#", GUIDE.read_text(), re.MULTILINE | re.DOTALL)[1]
    scopes = re.search(r"with the scopes\s+`([^`]+)`", chapter)[1].split()
    command = [Path(rolecall).with_name("rolecall-admin"), "--endpoint", service.endpoint, "--json"]
    # The first organization of the local service.
    command += ["key", "create", "1", "--name", "Copies", *(f"--scope={scope}" for scope in (*scopes, *more))]
    environment = os.environ | {"CREDENTIAL_KEYS": json.loads(ENVIRONMENT.read_text())["Parameters"]["CREDENTIAL_KEYS"]}
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)["key"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def check_tools(rolecall, runs, last):
    """Lets the tools read what changes. The service is restarted at later and later times."""
    chosen, now, port = random.Random(3), START, free_port()
    # At first, Zapier and n8n read everything.
    changes, workers, days = Changes(None), [], 3650
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for number in range(1, runs + 1):
            with started(rolecall, "--data", folder, "--port", port, "--now", f"{now:%Y-%m-%dT%H:%M:%SZ}") as service:
                if not workers:
                    environment = {"ROLECALL_API": service.base, "ROLECALL_KEY": key_for_copies(rolecall, service)}
                    workers = [Worker(tool, environment) for tool in TOOLS]
                    for worker in workers:
                        stack.callback(worker.stop)
                    role = service.send("GET", "/roles?limit=1")["data"][0]["id"]
                changes.service = service
                changes.make_several(5)
                changes.settle()
                # More than a page of the feed has.
                service.change(role, [f"Run {number}, title {title}" for title in range(120 if number == last else 1)])
                amid = number % 3 == 2 and number < runs
                order = {"again": False, "days": days + 1, "now": f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"}
                for worker in workers:
                    worker.orders.put(order)
                if amid:
                    changes.make_several(5)
                copies = {worker.tool: worker.result() for worker in workers}
                if number == last + 1:
                    if any(copies.values()):
                        raise SystemExit("A tool does not notice that the feed is younger than its position")
                    # As the guide says, everything is read again.
                    for worker in workers:
                        worker.orders.put(order | {"again": True, "days": 3650})
                    copies = {worker.tool: worker.result() for worker in workers}
                if not all(copies.values()):
                    raise SystemExit(f"In run {number}, a position is older than the feed")
                if not amid:
                    compare(copies, service)
                # Nobody hears of these erasures before the next run.
                changes.make_several(2)
                changes.erase()
            if number < runs:
                days = 33 if number == last else chosen.randint(11, 25)
                now += timedelta(days=days)
    print(f"{', '.join(TOOLS)}: after {runs} runs in {(now - START).days} days, each copy is what the API shows")


class Service:
    """The API of the local service, as this script uses it."""

    def __init__(self, base, key, endpoint=None):
        self.base, self.key, self.endpoint = base, key, endpoint

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


class Changes:
    """Makes changes of all kinds, in an order that a seed decides."""

    def __init__(self, service):
        self.service, self.random = service, random.Random(7)
        self.people, self.roles, self.imports, self.number = [], [], [], 0

    def make_several(self, number):
        for _ in range(number):
            self.make()

    def make(self):
        """Makes a change, which may be one that is refused."""
        self.number += 1
        kinds = [self.person, self.person, self.role, self.move, self.move, self.note, self.edit, self.erase]
        kinds += [self.rows, self.undo]
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
        """Imports an application, of a new person or of one who is known."""
        known = self.service.send("GET", self.any_person())["email"] if self.random.random() < 0.5 else None
        rows = [{"name": f"Row {self.number}", "email": known, "applications": [{"role": {"title": f"Imported {self.number}"}}]}]
        self.imports.append(self.service.send("POST", "/imports", {"format": "ndjson", "rows": rows})["id"])
        while self.service.send("GET", f"/imports/{self.imports[-1]}")["status"] == "checking":
            time.sleep(0.2)
        self.service.send("POST", f"/imports/{self.imports[-1]}/run")

    def settle(self):
        """Waits until no import goes on."""
        while any(row["status"] in ("running", "undoing") for row in self.service.rows("/imports")):
            time.sleep(0.2)

    def undo(self):
        """Undoes an import, if it is done by now."""
        if self.imports:
            self.service.send("POST", f"/imports/{self.imports.pop()}/undo")


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


def check_program(rolecall, service):
    """Lets the program keep a copy while others write, and kills it again and again."""
    heading = "A copy that stays current"
    more = re.search(r"scopes\s+above and `([^`]+)`", printed_all(heading))[1]
    environment = {"ROLECALL_API": service.base, "ROLECALL_KEY": key_for_copies(rolecall, service, more)}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "copy.py").write_text(printed(heading, "python"))
        start = lambda: subprocess.Popen([sys.executable, "copy.py"], cwd=folder, env=os.environ | environment)
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


def check_exports(service):
    folder = Path(__file__).parent
    python = folder / "data" / "exports" / ".venv" / "bin" / "python"
    subprocess.run([python, "-B", folder / "exports.py", service.base, service.key], check=True)


def main(rolecall, *options):
    if options == ("--year",):
        check_tools(rolecall, *YEAR)
        return
    check_tools(rolecall, *SHORT)
    with started(rolecall, "--memory", "--demo", "--port", "0") as service:
        check_program(rolecall, service)
        check_exports(service)


if __name__ == "__main__":
    main(*sys.argv[1:])
