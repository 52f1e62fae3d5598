"""Runs two releases against each other's items: each one reads and updates what the other one has stored.

Usage: compare.py TARGET [COMMIT], with the folder of this release's build. Without a commit, it compares with the last
tag before this commit.

Both releases answer the sample requests of the earlier one, on the same items: those of the sample events, with
attributes that neither release knows. What the writer of the items answers and stores is the standard. The other
release must answer the same, must keep every attribute that the writer keeps, and the writer must be able to read what
the other one has stored.
"""

import base64
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci/runtime"))

import dynamodb  # noqa: E402
import processes  # noqa: E402

TABLE = "rolecall"
# The attribute of a release that neither of the two knows.
NEWER = "from_a_newer_release"
# What differs in each run: ports, credentials and keys, times, and numbers other than the identifiers of the sample events.
SECRETS = [r"rc_[a-z]+_\w+", r"wh(sec|pk)_[\w+/]+=*"]
CHANGING = [r"127\.0\.0\.1:\d+", *SECRETS, r"\d{4}-\d\d-\d\dT[\d:.]+Z", r"\b(?!17000000000000)\d{9,}"]
RANDOM = {"request_id", "client_id"}


class Release:
    """A release: its name, its files, and its local service."""

    def __init__(self, name, folder, binaries):
        self.name, self.folder, self.binaries = name, folder, binaries

    def service(self, *options):
        return [str(self.binaries / "rolecall"), "--template", str(self.folder / "template.yaml"), *options]

    def requests(self):
        """The sample requests: first those that read. The documentation is part of a release, and not stored."""
        events = {path.stem: json.loads(path.read_text()) for path in sorted((self.folder / "events").glob("*.json"))}
        requests = {name: one for name, one in events.items() if "routeKey" in one and not name.startswith("docs_")}
        return dict(sorted(requests.items(), key=lambda named: (not is_read(named[1]), named[0])))


def main(target, commit=None):
    commit = commit or last_tag()
    if not commit:
        print("no release exists: no commit before this one has a tag, so there is nothing to compare with")
        return
    target = pathlib.Path(target).resolve()
    this = Release("this release", ROOT, target / "debug")
    earlier = build(target, commit)
    problems = [*compare(this, earlier, earlier, this), *compare(earlier, this, earlier, this)]
    if problems:
        sys.exit("\n".join(problems))


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def last_tag():
    """The last tag before this commit, if there is one."""
    if git("rev-parse", "--is-shallow-repository") == "true":
        sys.exit("this clone lacks the history, so its releases are unknown: run `git fetch --unshallow --tags`")
    tags = git("tag", "--merged", "HEAD", "--no-contains", "HEAD", "--sort=-creatordate").split()
    return tags[0] if tags else None


def build(target, commit):
    """Builds a commit in a worktree. Dependencies come from this release's build, as far as they are the same."""
    commit = git("rev-parse", "--short", f"{commit}^{{commit}}")
    folder = target / "releases" / commit
    source, binaries, own = folder / "source", folder / "bin", folder / "build"
    if not binaries.exists():
        if not source.exists():
            git("worktree", "prune")
            git("worktree", "add", "--detach", str(source), commit)
        shutil.rmtree(own, ignore_errors=True)
        shutil.copytree(target / "debug", own / "debug", ignore=shutil.ignore_patterns("incremental"), symlinks=True)
        # Cargo compares times, so it would take this release's packages for those of the commit.
        for file in source.rglob("*"):
            file.touch()
        environment = {**os.environ, "CARGO_TARGET_DIR": str(own)}
        # Later versions of Clippy may know lints that the commit does not pass.
        environment.pop("RUSTC_WORKSPACE_WRAPPER", None)
        bins = ["--bin", "rolecall", "--bin", "rolecall-admin"]
        subprocess.run(["cargo", "build", "--locked", "--workspace", *bins], cwd=source, env=environment, check=True)
        built = folder / "built"
        built.mkdir(exist_ok=True)
        for name in "rolecall", "rolecall-admin":
            shutil.copy2(own / "debug" / name, built)
        # Last, so that an interrupted build is repeated.
        built.rename(binaries)
        shutil.rmtree(own)
    return Release(commit, source, binaries)


def compare(writer, other, earlier, this):
    """Lets `other` read and update what `writer` has stored. Returns what it does differently from the writer."""
    title, problems = f"{other.name} on the items of {writer.name}", []
    requests = earlier.requests()
    reads = {name: event for name, event in requests.items() if is_read(event)}
    with Database(writer, this, None) as database:
        items = planted(database.items())
    with Database(writer, this, items) as database:
        expected, findings = database.answer(requests), database.work()
        stored, rereads = database.items(), database.answer(reads)
    with Database(other, this, items) as database:
        answers, found = database.answer(requests), database.work()
        updated = database.items()
    problems += different_answers(expected, answers)
    problems += [f"{other.name} leaves: {finding}" for finding in sorted(found - findings)]
    lost = list(lost_attributes(items, stored, updated))
    problems += lost
    with Database(other, this, stored) as database:
        problems += different_answers(rereads, database.answer(reads))
    with Database(writer, this, updated) as database:
        answered = database.answer(reads)
    problems += [
        f"{name}: {writer.name} answers {answered[name][0]} after {other.name}, not {status}"
        for name, (status, _) in rereads.items()
        if answered[name][0] != status
    ]
    changed = sum(items.get(key) not in (None, item) for key, item in updated.items())
    kinds = {shape(*key) for key in items | stored}
    print(
        f"{title}: {len(requests)} requests on {len(items)} items, {changed} updated, {len(updated.keys() - items.keys())} "
        f"added, with {len(kinds)} forms of keys; {len(problems)} differences",
        flush=True,
    )
    return [f"{title}: {problem}" for problem in problems]


class Database:
    """A local service of a release, and the items in its embedded database."""

    def __init__(self, release, this, items):
        self.release, self.this, self.start = release, this, items

    def __enter__(self):
        self.port, database, bucket = processes.free_ports(3)
        self.dynamodb = dynamodb.DynamoDB(database)
        rolecall, *options = self.release.service("--memory", "--recorded")
        self.service = processes.local_service(rolecall, options, self.port, database, bucket)
        self.service.__enter__()
        if self.start is not None:
            self.replace(self.start)
        return self

    def __exit__(self, *failure):
        return self.service.__exit__(*failure)

    def items(self):
        """All items, by their keys."""
        return {(item["pk"]["S"], item["sk"]["S"]): item for item in self.dynamodb.scan(TABLE)}

    def replace(self, items):
        """Replaces all items."""
        for key, item in self.items().items():
            if key not in items:
                self.dynamodb.write(TABLE, [{"DeleteRequest": {"Key": {"pk": item["pk"], "sk": item["sk"]}}}])
        self.dynamodb.put(TABLE, items.values())

    def answer(self, requests):
        """The status and the content of each response."""
        return {name: self.send(event) for name, event in requests.items()}

    def send(self, event):
        details = event["requestContext"]["http"]
        url = event["rawPath"] + (f"?{event['rawQueryString']}" if event["rawQueryString"] else "")
        left_out = {"content-length", "host"}
        headers = {
            name: value for name, value in event["headers"].items() if name not in left_out and not name.startswith("x-")
        }
        headers |= {name: event["headers"][name] for name in ("x-signature", "x-timestamp") if name in event["headers"]}
        if event.get("cookies"):
            # On loopback the cookie has another name.
            headers["cookie"] = "; ".join(cookie.replace("__Host-", "", 1) for cookie in event["cookies"])
        body = event.get("body", "").encode()
        if event["isBase64Encoded"]:
            body = base64.b64decode(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(details["method"], url, body or None, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        if not content or not response.headers.get("content-type", "").startswith("application/json"):
            return response.status, None
        text = content.decode()
        for changing in CHANGING:
            text = re.sub(changing, "0", text)
        return response.status, json.loads(text)

    def work(self):
        """Runs the background tasks of the release until they rest. Returns what this release's tool finds wrong."""
        endpoint = self.dynamodb.url
        command = self.release.service("--endpoint", endpoint, "--port", "0")
        with processes.running("background tasks", command):
            before, rests_since = None, time.monotonic()
            deadline = time.monotonic() + 120
            while time.monotonic() - rests_since < 12:
                assert time.monotonic() < deadline, "the tasks do not rest"
                tasks = {key for key in self.items() if key[0].startswith(("TASK", "QUARANTINE"))}
                if tasks != before:
                    before, rests_since = tasks, time.monotonic()
                time.sleep(1)
        tool = [str(self.this.binaries / "rolecall-admin"), "--endpoint", endpoint, "--table", TABLE]
        run = subprocess.run([*tool, "verify", "--all", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert run.stdout, f"verify has failed: {run.stderr}"
        found = {f"{one['pk']} {one['sk']}: {one['problem']}" for one in json.loads(run.stdout)["findings"]}
        return found | {f"{key} is in quarantine" for key in self.items() if key[0].startswith("QUARANTINE")}


def is_read(event):
    return event["requestContext"]["http"]["method"] == "GET"


def planted(items):
    """The items with an attribute of a newer release, and one in every map in them. Receipts repeat what is in them."""
    return {key: item if "#RECEIPT#" in key[0] else plant(item) for key, item in items.items()}


def plant(attributes):
    return {**{name: plant_in(value) for name, value in attributes.items()}, NEWER: {"S": "kept"}}


def plant_in(value):
    [(kind, content)] = value.items()
    if kind == "M":
        return {"M": plant(content)}
    if kind == "L":
        return {"L": [plant_in(element) for element in content]}
    return value


def lost_attributes(items, stored, updated):
    """The attributes that the writer keeps and the other release drops."""
    for key in items.keys() & stored.keys() & updated.keys():
        kept = paths(items[key]) & paths(stored[key])
        for path in sorted(kept - paths(updated[key])):
            yield f"{shape(*key)}: the update drops {'.'.join(path)}"


def paths(attributes):
    """The names of all attributes, at every depth of maps."""
    found = set()
    for name, value in attributes.items():
        found.add((name,))
        found |= {(name, *path) for path in paths(value.get("M", {}))}
    return found


def shape(pk, sk):
    """A key without identifiers and other values."""
    words = [word if word.isupper() or word.startswith("~") else "*" for word in [*pk.split("#"), *sk.split("#")[:1]]]
    return "#".join(words)


def different_answers(expected, answers):
    problems = []
    for name, (status, content) in expected.items():
        if answers[name][0] != status:
            problems.append(f"{name}: the status is {answers[name][0]}, not {status}: {answers[name][1]}")
        else:
            problems += [f"{name}: {problem}" for problem in different(content, answers[name][1])]
    return problems


def different(one, other, path="the response"):
    """Where two responses contradict each other. Either may have members that the other one does not have."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = [name for name in one if name in other and name not in RANDOM]
        return [problem for name in both for problem in different(one[name], other[name], f"{path}.{name}")]
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return [f"{path} has {len(other)} elements, not {len(one)}"]
        return [problem for pair in zip(one, other) for problem in different(*pair, path)]
    return [] if one == other else [f"{path} is {other!r}, not {one!r}"]


if __name__ == "__main__":
    main(*sys.argv[1:])
