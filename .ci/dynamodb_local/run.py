"""Runs the API tests on AWS's DynamoDB Local.

Usage: run.py CALLS

CALLS is the folder in which a run of the tests with ROLECALL_TEST_CALLS has recorded the kinds of their database calls. Runs
the tests that are needed for each kind of call to be made once. Runs all tests if nothing was recorded since the last
build, or with DYNAMODB_LOCAL_WHOLE=1.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "runtime"))
from processes import answers, free_ports, running, wait_for  # noqa: E402

JARS = HERE / "jars"
# The fastest compiler and the simplest garbage collector, because the run is short.
JAVA = ["java", "-Xms1g", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
JAVA += [f"-Djava.library.path={JARS}", "-cp", f"{JARS}/*"]
SERVER = ["software.amazon.dynamodb.services.local.main.ServerRunner", "-inMemory", "-disableTelemetry"]
# Builds all tests, as other lanes do, although only the API tests run.
BUILD = ["cargo", "test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
# The calls that a test could make in the time in which it creates a table.
STARTUP = 30


def main():
    built = subprocess.run(BUILD, stdout=subprocess.PIPE, check=True).stdout
    messages = map(json.loads, built.splitlines())
    [tests] = [one["executable"] for one in messages if one.get("executable") and one["target"]["name"] == "api"]
    recorded = Path(sys.argv[1])
    is_current = recorded.exists() and recorded.stat().st_mtime > Path(tests).stat().st_mtime
    chosen = chosen_tests(tests, recorded) if is_current and not os.environ.get("DYNAMODB_LOCAL_WHOLE") else []
    # If this program is stopped, its processes must end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    [port] = free_ports(1)
    endpoint = f"http://127.0.0.1:{port}"
    with running("DynamoDB Local", [*JAVA, *SERVER, "-port", str(port)]) as (process, _):
        wait_for(process, lambda: answers(endpoint))
        command = [tests, "--exact", *chosen]
        settings = {"QUOTA_ROUNDS": "1", **os.environ, "ROLECALL_TEST_ENDPOINT": endpoint}
        status = subprocess.run(command, env=settings).returncode
        if status:
            raise SystemExit(f"the tests failed with status {status}")


def chosen_tests(tests, folder):
    """Chooses recorded tests that together make every kind of call, those with the most new kinds for their calls first."""
    listed = subprocess.run([tests, "--list", "--format=terse"], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = {line.removesuffix(": test") for line in listed.splitlines()}
    kinds, calls = {}, {}
    for path in sorted(Path(folder).glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        test = path.stem.replace(".", "::")
        if test not in names:
            continue
        kinds[test] = {kind for line in lines for kind in line["kinds"]}
        # Each table has a line.
        calls[test] = sum(STARTUP + line["calls"] for line in lines)
    left = set().union(*kinds.values())
    print(f"{len(kinds)} tests made calls of {len(left)} kinds", flush=True)
    chosen = []
    while left:
        best = max(kinds, key=lambda test: len(kinds[test] & left) / calls[test])
        chosen.append(best)
        left -= kinds.pop(best)
    print(f"{len(chosen)} of them make all kinds", flush=True)
    return chosen


if __name__ == "__main__":
    main()
