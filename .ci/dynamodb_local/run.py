"""Runs the API tests on AWS's DynamoDB Local.

Usage: run.py

Skips tests that add nothing to the coverage of DynamoDB, unless DYNAMODB_LOCAL_WHOLE=1 is set.
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

# Slow modules and tests. The remaining tests make the same kinds of database calls.
SKIPPED = {
    "the same calls, repeated thousands of times or on thousands of items": [
        "budget::every_page_costs_the_same_with_ten_and_a_thousand_roles",
        "candidates_cost::a_candidate_with_200_applications_is_moved_in_one_role_with_3_calls",
        "candidates_cost::every_page_costs_the_same_with_ten_and_a_thousand_candidates",
        "careers_applications::a_posting_accepts_1000_applications_a_day_and_a_site_5000",
        "careers_cost",
        "erasures::a_candidate_with_200_applications_disappears_at_once",
        "finding_cost",
        "careers_feeds",
        "pipeline",
    ],
    "the headers of every route, and the checks before its handler": ["access", "bodies", "edge", "policies", "shape"],
    "the documents, and the samples in them": ["events", "guide", "oauth_documents", "oauth_metadata", "openapi"],
    "the appearance of pages": [
        "audit_log::every_page_of_the_dashboard_records_what_it_should",
        "careers_branding",
        "careers_jobs",
        "careers_privacy",
        "dashboard_access",
        "dashboard_links",
        "dashboard_pages",
    ],
    "responses of other services": ["dashboard_channels", "vapi", "voice_webhook", "x_metrics", "x_tokens"],
    "keys and signatures": ["secrets", "signing_keys"],
    "the state after a simulated failure at each call": [
        "careers_applications::an_interrupted_application_writes_all_or_nothing_and_can_be_repeated",
        "dashboard_faults",
        "erasure_show",
        "faults",
        "usage_reset::the_next_run_completes_the_job_after_a_failure_at_any_call",
    ],
}


def main():
    built = subprocess.run(BUILD, stdout=subprocess.PIPE, check=True).stdout
    messages = map(json.loads, built.splitlines())
    [tests] = [one["executable"] for one in messages if one.get("executable") and one["target"]["name"] == "api"]
    skipped = [] if os.environ.get("DYNAMODB_LOCAL_WHOLE") else skipped_tests(tests)
    print(f"{len(skipped)} tests are skipped", flush=True)
    # If this program is stopped, its processes must end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    [port] = free_ports(1)
    endpoint = f"http://127.0.0.1:{port}"
    with running("DynamoDB Local", [*JAVA, *SERVER, "-port", str(port)]) as (process, _):
        wait_for(process, lambda: answers(endpoint), 300)
        command = [tests, "--exact", *(f"--skip={test}" for test in skipped)]
        settings = {"QUOTA_ROUNDS": "1", **os.environ, "ROLECALL_TEST_ENDPOINT": endpoint}
        status = subprocess.run(command, env=settings).returncode
        if status:
            raise SystemExit(f"the tests failed with status {status}")


def skipped_tests(tests):
    """Lists the tests to skip. Every name in SKIPPED must exist."""
    listed = subprocess.run([tests, "--list", "--format=terse"], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = [line.removesuffix(": test") for line in listed.splitlines()]
    skipped = []
    for entry in sum(SKIPPED.values(), []):
        found = [name for name in names if name == entry or name.startswith(f"{entry}::")]
        if not found:
            raise SystemExit(f"SKIPPED contains the test {entry}, which does not exist")
        skipped += found
    return skipped


if __name__ == "__main__":
    main()
