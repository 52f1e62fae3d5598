"""Plays the loss of the table and its restore: export, loss, restore, replay of the erasures, verification.

Usage: run.py FOLDER WORK [MEGABYTES], with the folder of the binaries, an empty folder for the data, and the size of the
restored table. The tables are in a local service that is only the database. What AWS does is replaced: the export and the
restore copy the items, and the export has more copies of people's notes than the lost table, until it has its size. So their
times say nothing about AWS. All other steps are the runbook's own, and so are their times.
"""

import copy
import gzip
import http.client
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runtime"))

import processes  # noqa: E402
from dynamodb import DynamoDB  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACME = re.search(r"^ACME=(\S+)$", (ROOT / "README.md").read_text(), re.MULTILINE).group(1)
PEOPLE = 200
# Every twentieth person is erased after the export, of whom one was on legal hold at the time of the export.
ERASED = PEOPLE // 20
NOTE = "They know their trade, and the team would like to meet them again. " * 60


def main(folder, work, megabytes="20"):
    folder, work = pathlib.Path(folder).resolve(), pathlib.Path(work).resolve()
    port, database, bucket = processes.free_ports(3)
    engine = [folder / "rolecall", "--memory", "--table", "engine", "--port", "0", "--dynamodb-port", database]
    with processes.running("database", [str(word) for word in engine]) as (process, _):
        processes.wait_for(process, lambda: processes.listens(database))
        drill = Drill(folder, work, DynamoDB(database), port, bucket)
        drill.run(int(megabytes))


class Drill:
    def __init__(self, folder, work, dynamodb, port, bucket):
        self.folder, self.work, self.dynamodb, self.port, self.bucket = folder, work, dynamodb, port, bucket

    def run(self, megabytes):
        with self.service("lost"):
            people = self.fill()
            held, erased = people[0], people[1:ERASED]
            self.admin("lost", "person", "hold", "1", "--id", held, "--reason", "Case 17")
            items, size = self.export(megabytes * 1_000_000)
            print(f"the export has {items} items with {size / 1e6:.0f} MB", flush=True)
            for person in erased:
                self.admin("lost", "person", "erase", "1", "--id", person)
            self.admin("lost", "person", "lift-hold", "1", "--id", held)
            self.admin("lost", "person", "erase", "1", "--id", held)
            self.rest("lost")
            later = self.create("Late Applicant")
        self.dynamodb.call("DeleteTable", TableName="lost")
        print(f"the table is lost, and with it the person {later}, who was added after the export")

        started = time.monotonic()
        timed("restore of the items (AWS does this)", self.restore)
        adopted = timed("table adopt", lambda: self.admin("restored", "table", "adopt"))
        print(adopted["stream_arn"])
        # It is deployed, but gets no requests yet.
        with self.service("restored"):
            replayed = timed("erasures replay", lambda: self.admin("restored", "erasures", "replay"))
            assert (replayed["tombstones"], replayed["erased"]) == (ERASED, ERASED - 1), replayed
            assert [one["id"] for one in replayed["on_hold"]] == [held], replayed
            self.admin("restored", "person", "lift-hold", "1", "--id", held)
            replayed = timed("erasures replay, after the hold was lifted", lambda: self.admin("restored", "erasures", "replay"))
            assert (replayed["erased"], replayed["on_hold"]) == (1, []), replayed
            timed("removal of the erased people's data", lambda: self.rest("restored"))
            verified = timed("verify", lambda: self.admin("restored", "verify", "--all", "--items-per-second", "100000"))
            assert verified["findings"] == [], verified["findings"][:10]
            print(f"verify read {verified['items']} items and found nothing wrong")
            self.check(people, {held, *erased}, later)
        print(f"from the loss until the service may open: {time.monotonic() - started:.0f} s")

    def service(self, table):
        """The service with a table. The files of all its tables are in the same folder, as in one bucket."""
        command = ["env", f"--chdir={self.work}", self.folder / "rolecall", "--endpoint", self.dynamodb.url]
        command += ["--table", table, "--port", self.port, "--bucket-port", self.bucket]
        return Service([str(word) for word in command], self.port)

    def admin(self, table, *words):
        """The JSON of a command of rolecall-admin. The bucket is in the service."""
        command = [self.folder / "rolecall-admin", "--endpoint", self.dynamodb.url, "--table", table, "--json"]
        command += ["--bucket", "local-resumes", "--bucket-endpoint", f"http://127.0.0.1:{self.bucket}"]
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1"}
        run = subprocess.run([str(word) for word in [*command, *words]], env=environment, capture_output=True, text=True)
        assert run.returncode == 0, f"rolecall-admin {' '.join(map(str, words))}: {run.stderr}"
        return json.loads(run.stdout)

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {ACME}", "Content-Type": "application/json"}
        connection.request(method, f"/api/v1/{path}", json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        content = json.load(response)
        connection.close()
        return response.status, content

    def create(self, name, **fields):
        email = name.lower().replace(" ", ".") + "@example.com"
        status, person = self.request("POST", "candidates", {"name": name, "email": email, "source": "fair", **fields})
        assert status == 201, person
        return person["id"]

    def fill(self):
        """Creates people with the API, with a note about each."""
        status, posted = self.request("POST", "quick_post", {"role": {"title": "Engineer"}})
        assert status == 201, posted
        people = [self.create(f"Ada Lovelace {number}", role_id=posted["role"]["id"]) for number in range(PEOPLE)]
        for person in people:
            status, note = self.request("POST", f"candidates/{person}/notes", {"text": NOTE})
            assert status == 201, note
        return people

    def export(self, wanted):
        """Writes all items to a file, one in each line, as an export of DynamoDB does, and copies of the notes until it has
        this size. Returns the number and the size of the items."""
        items = list(self.dynamodb.scan("lost"))
        notes = [item for item in items if "#CANDIDATE_NOTE#" in item["pk"]["S"]]
        missing = wanted - sum(len(json.dumps(item)) for item in items)
        copies = max(0, missing // len(json.dumps(notes[0])) // PEOPLE)
        count = size = 0
        with gzip.open(self.work / "export.json.gz", "wt", compresslevel=1, encoding="utf-8") as file:
            more = (renumbered(note, number) for note in notes for number in range(1, copies + 1))
            for item in itertools.chain(items, more):
                line = json.dumps({"Item": item})
                file.write(line + "\n")
                count, size = count + 1, size + len(line)
        return count, size

    def restore(self):
        self.admin("restored", "table", "create")
        with gzip.open(self.work / "export.json.gz", "rt", encoding="utf-8") as file:
            self.dynamodb.put("restored", (json.loads(line)["Item"] for line in file))

    def rest(self, table):
        """Waits until the tasks have removed everything about erased people."""
        deadline = time.monotonic() + 600
        while any(task["kind"] == "erasure" for task in self.admin(table, "task", "list", "--all")):
            assert time.monotonic() < deadline, "the erasures do not finish"
            time.sleep(1)

    def check(self, people, erased, later):
        for person in people:
            status, _ = self.request("GET", f"candidates/{person}")
            assert status == (410 if person in erased else 200), f"the person {person} gets {status}"
        assert self.request("GET", f"candidates/{later}")[0] == 404, "the later person is not lost"
        for person in erased:
            notes = {":notes": {"S": f"1#live#CANDIDATE_NOTE#{person:016}"}}
            left = self.dynamodb.call(
                "Query", TableName="restored", KeyConditionExpression="pk = :notes", ExpressionAttributeValues=notes
            )
            assert left["Count"] == 0, f"{left['Count']} notes about the erased person {person} remain"
        print(f"{len(people) - len(erased)} people are back, and {len(erased)} are erased")


class Service:
    """A local service, until the end of a `with` block."""

    def __init__(self, command, port):
        self.command, self.port = command, port

    def __enter__(self):
        self.context = processes.running("local service", self.command)
        process, _ = self.context.__enter__()
        processes.wait_for(process, lambda: processes.answers(f"http://127.0.0.1:{self.port}/api/v1/organization"))

    def __exit__(self, *failure):
        return self.context.__exit__(*failure)


def renumbered(note, number):
    """A copy of a note with another identifier."""
    item = copy.deepcopy(note)
    identifier = str(int(note["sk"]["S"]) + number)
    item["sk"] = {"S": identifier.zfill(16)}
    item["id"] = {"N": identifier}
    return item


def timed(step, function):
    started = time.monotonic()
    result = function()
    print(f"{step}: {time.monotonic() - started:.1f} s", flush=True)
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
