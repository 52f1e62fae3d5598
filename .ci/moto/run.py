"""Runs the API's tests on moto, another implementation of DynamoDB, with one process of it for each processor.

Usage: run.py, with the Python that has moto.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

SERVE = pathlib.Path(__file__).with_name("serve.py")
# All tests, though only the API's are wanted: other lanes build the same.
BUILD = ["cargo", "test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]


def main():
    built = subprocess.run(BUILD, stdout=subprocess.PIPE, check=True).stdout
    messages = map(json.loads, built.splitlines())
    (tests,) = (one["executable"] for one in messages if one.get("executable") and one["target"]["name"] == "api")
    # A stopped run must not leave its processes behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as stack:
        addresses = [stack.enter_context(moto(number)) for number in range(len(os.sched_getaffinity(0)))]
        environment = {
            **os.environ,
            "ROLECALL_TEST_ENGINE": "moto",
            "ROLECALL_TEST_ENDPOINT": ",".join(addresses),
        }
        flaws = subprocess.run(
            [tests, "engine::", "--nocapture"], env=environment, stdout=subprocess.PIPE, text=True
        )
        print("\n".join(line for line in flaws.stdout.splitlines() if " errs: " in line), flush=True)
        status = subprocess.run([tests], env=environment).returncode
        if status or flaws.returncode:
            raise SystemExit(f"the tests ended with status {status or flaws.returncode}")


@contextlib.contextmanager
def moto(number):
    """The address of a moto for as long as the block lasts; the end of what it printed is shown when the block fails."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, SERVE], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            port = process.stdout.readline().strip()
            assert port, "moto did not start"
            yield f"http://127.0.0.1:{port}"
        except BaseException:
            log.seek(0)
            print(f"---- the end of moto {number}'s output", *log.readlines()[-60:], "----", sep="\n", file=sys.stderr)
            raise
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
