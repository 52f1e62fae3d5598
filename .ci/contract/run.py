"""Tests in-memory local services against the contract with Schemathesis, with valid and invalid requests.

Usage: run.py ROLECALL REPORTS

The seed is fixed, so runs differ only in ids and in values that depend on ids. CONTRACT_SEED=7 sets another seed.
CONTRACT_SCALE=3 sends three times as many requests.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The OpenAPI document says less, for generators of clients.
CONTRACT = HERE.parent.parent / "functions/docs/contract.json"
SEED = int(os.environ.get("CONTRACT_SEED", 1))
SCALE = float(os.environ.get("CONTRACT_SCALE", 1))
# Runs, each with its own service: the phases, the number of examples, and the algorithms that infer links in addition to
# the document's. A stateful run ends early if a request gets a different response than before, so there are several,
# each with its own seed.
RUNS = [
    ("examples,coverage,fuzzing", 8, []),
    *[("stateful", 60, [])] * 8,
    ("stateful", 30, ["location-headers", "dependency-analysis"]),
]
CONCURRENT_RUNS = 4
MIN_CASES = 6_000
# The minimum share of the document's links that must be followed. Links are chosen at random.
MIN_LINKS = 0.5


class Run:
    """A Schemathesis run with its service. Its reports are in its own folder."""

    def __init__(self, rolecall, folder, seed, phases, examples, inference):
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.iterdir():
            stale.unlink()
        self.folder, self.seed, self.phases, self.examples, self.inference = folder, seed, phases, examples, inference
        self.rolecall = rolecall

    def problems(self):
        """Starts the service, tests it and stops it. Returns the problems."""
        with subprocess.Popen(
            [self.rolecall, "--memory", "--port", "0"],
            cwd=HERE.parent.parent,
            stdout=subprocess.PIPE,
            stderr=self.open("service.txt"),
            text=True,
        ) as service:
            try:
                tested = self.test(service.stdout)
                ended = service.poll() is not None
            finally:
                service.terminate()
        problems = []
        if tested.returncode != 0:
            output = (self.folder / "output.txt").read_text(encoding="utf-8")
            problems.append(output[max(output.find("= ERRORS ="), output.find("= FAILURES ="), 0) :])
        if ended or "panicked" in (self.folder / "service.txt").read_text(encoding="utf-8"):
            problems.append(f"the service ended or panicked; see {self.folder}/service.txt")
        return problems

    def test(self, service):
        base = printed(service, "Rolecall")
        keys = {mode: printed(service, f"Acme {mode}") for mode in ("live", "test")}
        users = [
            {"name": mode, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {key}"}]}
            for mode, key in keys.items()
        ]
        (self.folder / "keys.json").write_text(json.dumps({"auth": users}))
        config = (HERE / "schemathesis.toml").read_text(encoding="utf-8")
        config += f"\n[phases.stateful]\ninference.algorithms = {self.inference}\n"
        (self.folder / "schemathesis.toml").write_text(config, encoding="utf-8")
        return subprocess.run(
            [
                *(Path(sys.executable).with_name("schemathesis"), "--config-file", self.folder / "schemathesis.toml"),
                *("run", CONTRACT, "--url", base, "--no-color", "--seed", str(self.seed)),
                *("--phases", self.phases, "--max-examples", str(round(self.examples * SCALE))),
                *("--report", "json", "--report-json-path", self.folder / "report.json"),
            ],
            cwd=HERE,
            stdout=self.open("output.txt"),
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "PYTHONDONTWRITEBYTECODE": "1",
                # The folder of member.py, which signs a member in and consents.
                "PYTHONPATH": str(HERE.parent / "clients"),
                "SCHEMATHESIS_HOOKS": "hooks",
                "CONTRACT_BASE": base,
                "CONTRACT_KEY": keys["live"],
                "CONTRACT_KEYS": str(self.folder / "keys.json"),
                "CONTRACT_TALLY": str(self.folder / "tally.json"),
            },
        )

    def open(self, name):
        return open(self.folder / name, "w", encoding="utf-8")

    def read(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))


def printed(service, label):
    line = service.readline()
    if not line.startswith(label):
        raise RuntimeError(f"expected a line that begins with {label}, but the service printed: {line}")
    return line[len(label) :].strip()


def evaluate(runs):
    """Prints a summary of all runs, and yields the requirements that they do not meet."""
    generated = sum(run.read("report.json")["test_cases"]["generated"] for run in runs)
    cases, links, excuses, rejections = Counter(), Counter(), Counter(), 0
    for tally in [run.read("tally.json") for run in runs]:
        cases.update({tuple(key): number for key, number in tally["cases"]})
        links.update(dict(tally["links"]))
        excuses.update(dict.fromkeys(tally["excuses"], 0))
        for sentences, number in tally["excused"]:
            rejections += number
            excuses.update(dict.fromkeys(sentences, number))
    operations = {
        f"{method.upper()} {path}": operation
        for path, item in json.loads(CONTRACT.read_text(encoding="utf-8"))["paths"].items()
        for method, operation in item.items()
    }
    documented = [
        f"{label} -> [{status}] {name}"
        for label, operation in operations.items()
        for status, response in operation["responses"].items()
        for name in response.get("links", {})
    ]
    followed = [link for link in documented if any(known.startswith(f"{link} -> ") for known in links)]
    phases, successes, failures = Counter(), Counter(dict.fromkeys(operations, 0)), Counter()
    for (phase, label, status), number in cases.items():
        phases[phase] += number
        if 200 <= status < 300:
            successes[label] += number
        # The Pro plan has no limit and the service is not busy, but the number of registrations per hour is limited.
        if status in (429, 502, 503) and (label, status) != ("POST /oauth/registrations", 429):
            failures[f"{label} returned {status}"] += number
    by_phase = ", ".join(f"{phase} {number}" for phase, number in phases.items())
    print(f"{generated} cases for {len(operations)} operations with seed {SEED}: {by_phase}")
    fewest = ", ".join(f"{label} {number}" for label, number in successes.most_common()[-3:])
    print(f"{successes.total()} succeeded; the operations with the fewest successes: {fewest}")
    print(
        f"followed {len(links)} different links {links.total()} times, with {len(followed)} of the document's "
        f"{len(documented)} links"
    )
    unused = [sentence for sentence, number in excuses.items() if number == 0]
    print(f"{rejections} rejections of valid requests were excused; unused excuses: {unused}")
    if generated < MIN_CASES:
        yield f"there must be at least {MIN_CASES} cases"
    if len(followed) < MIN_LINKS * len(documented):
        yield f"too few of the document's links were followed; not these: {sorted(set(documented) - set(followed))}"
    yield from (f"{label} never succeeded" for label, number in successes.items() if number == 0)
    yield from (f"{failure}, {number} times" for failure, number in failures.items())


def main():
    rolecall, reports = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    runs = [Run(rolecall, reports / str(number), SEED * 10 + number, *run) for number, run in enumerate(RUNS)]
    with ThreadPoolExecutor(CONCURRENT_RUNS) as executor:
        problems = [problem for found in executor.map(Run.problems, runs) for problem in found]
    sys.exit("\n".join(problems or evaluate(runs)) or 0)


main()
