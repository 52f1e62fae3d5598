"""Runs the commands of the README's walkthrough on an in-memory local service: an empty one, and one with the demo company.

Usage: session.py ROLECALL
"""

import re
import subprocess
import sys
import time
import urllib.request

PORT = 3000
SECTION = "## Walkthrough\n"
# The patterns that the output must contain, in this order.
EXPECTED = [
    r'"status":"open"',
    r"(?i)idempotency-replayed: true",
    r'"name":"Grace Hopper"',
    r'"status":"queued"',
    r'"status":"completed".*"transcript":\[\{"speaker":"agent"',
    r'"data":\[\{"id":[0-9]+,"name":"Grace Hopper"',
    r'"stage":"offer"',
    r'"stage":"hired"',
    r'"kind":"hired"',
    r'"applicants":1,"screens":1,"screens_completed":1',
    r"303\n",
    r'"name":"Ada Lovelace"',
    r'"external_id":"[0-9]+"',
    r'"x":\{"connected":true',
    r"(?i)link: <",
    r'"data":\[\{"id":[0-9]+,"title":"Recruiter"',
    r"titel is not a known field",
    r"stage cannot go from hired to rejected",
    r"(200 ){100}429",
    r"(?i)retry-after: [0-9]+",
]


def session():
    """Returns the commands of the walkthrough."""
    section = open("README.md", encoding="utf-8").read().split(SECTION)[1].split("\n## ")[0]
    return "\n".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))


def wait_for(url):
    for _ in range(1200):
        try:
            urllib.request.urlopen(url)
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("the service did not start")


def run(options):
    command = [sys.argv[1], "--memory", *options, "--port", str(PORT)]
    service = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{PORT}/")
        started = time.monotonic()
        shell = subprocess.run(["bash", "-u", "-c", session()], capture_output=True, text=True, timeout=600)
        seconds = time.monotonic() - started
    finally:
        service.terminate()
        service.wait()
    position = 0
    for expected in EXPECTED:
        found = re.compile(expected).search(shell.stdout, position)
        if not found:
            sys.exit(f"{expected} is missing in:\n{shell.stdout[position:]}\n{shell.stderr}")
        position = found.start()
    if shell.stderr:
        sys.exit(f"the commands printed errors: {shell.stderr}")
    print(f"the README's walkthrough runs as written with {options or 'no options'}, in {seconds:.0f} s")


for options in [], ["--demo"]:
    run(options)
