"""Runs the API's tests on DynamoDB Local, which is AWS's own.

Usage: run.py

What would tell nothing new of a DynamoDB is left out, unless DYNAMODB_LOCAL_WHOLE=1 asks for all tests.
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
# A quick compiler and a simple collector: the run is too short for better ones to pay off.
JAVA = ["java", "-Xms1g", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
JAVA += [f"-Djava.library.path={JARS}", "-cp", f"{JARS}/*"]
SERVER = ["software.amazon.dynamodb.services.local.main.ServerRunner", "-inMemory", "-disableTelemetry"]
# All tests, though only the API's are wanted: other lanes build the same.
BUILD = ["cargo", "test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]

# Modules and tests that take long and make no call of a kind that those that stay in do not make.
LEFT_OUT = {
    "the same calls on thousands of items, or thousands of times": [
        "budget::a_page_costs_the_same_of_ten_roles_as_of_ten_thousand_first_or_last",
        "candidates_cost::a_candidate_with_the_most_applications_moves_with_all_of_them",
        "candidates_cost::a_page_costs_the_same_of_ten_candidates_as_of_ten_thousand_first_or_last",
        "candidates_cost::lists_are_brought_up_to_date_by_a_task",
        "candidates_cost::moves_at_once_of_a_candidate_with_the_most_applications_leave_right_lists",
        "candidates_cost::the_last_of_several_interrupted_moves_is_what_lists_show",
        "careers_cost",
        "careers_feeds",
        "pipeline",
    ],
    "every route for what happens before its handler, or for its headers": ["access", "policies"],
    "what pages look like": ["careers_branding", "careers_jobs", "dashboard_access", "dashboard_links", "dashboard_pages"],
    "what other services say": ["vapi", "voice_webhook"],
    "what is left by failures that the tests play, at one call after the other": [
        "careers_applications::an_application_that_is_cut_off_leaves_nothing_half_made_and_can_be_repeated",
        "dashboard_faults",
        "faults",
        "usage_reset::whichever_call_it_dies_at_the_next_run_completes_it",
    ],
}


def main():
    built = subprocess.run(BUILD, stdout=subprocess.PIPE, check=True).stdout
    messages = map(json.loads, built.splitlines())
    [tests] = [one["executable"] for one in messages if one.get("executable") and one["target"]["name"] == "api"]
    skipped = [] if os.environ.get("DYNAMODB_LOCAL_WHOLE") else left_out(tests)
    print(f"{len(skipped)} tests are left out", flush=True)
    # A stopped run must not leave its processes behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    [port] = free_ports(1)
    address = f"http://127.0.0.1:{port}"
    with running("DynamoDB Local", [*JAVA, *SERVER, "-port", str(port)]) as (process, _):
        wait_for(process, lambda: answers(address), 300)
        command = [tests, "--exact", *(f"--skip={test}" for test in skipped)]
        status = subprocess.run(command, env={**os.environ, "ROLECALL_TEST_ENDPOINT": address}).returncode
        if status:
            raise SystemExit(f"the tests ended with status {status}")


def left_out(tests):
    """The names of the tests that are left out. Whatever LEFT_OUT names must be there."""
    listed = subprocess.run([tests, "--list", "--format=terse"], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = [line.removesuffix(": test") for line in listed.splitlines()]
    skipped = []
    for one in sum(LEFT_OUT.values(), []):
        found = [name for name in names if name == one or name.startswith(f"{one}::")]
        if not found:
            raise SystemExit(f"there is no test {one}, which LEFT_OUT names")
        skipped += found
    return skipped


if __name__ == "__main__":
    main()
