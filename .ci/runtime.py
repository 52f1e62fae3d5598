"""Runs a function's release binary in Lambda's runtime interface emulator and sends it events.

Usage: runtime.py FUNCTION ROLECALL, the binaries of the organization function and of the local service, whose embedded
DynamoDB and demonstration organizations the function works on. Run it with the Python that has aws-sam-cli: the
emulator is part of that package.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
BASE_URL = "https://api.example.com"
# Everything here is on loopback, whatever proxy the environment names.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def main(function, rolecall):
    # A stopped run must not leave its processes behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    api, dynamodb, emulator_port, runtime_api = free_ports(4)
    environment = {
        "PATH": os.environ["PATH"],
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": "us-east-1",
        "DYNAMODB_ENDPOINT": f"http://127.0.0.1:{dynamodb}",
        "AWS_LAMBDA_FUNCTION_NAME": "organization",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
        "AWS_LAMBDA_FUNCTION_TIMEOUT": "10",
        "TABLE_NAME": "rolecall",
        "BASE_URL": BASE_URL,
        "SIGNING_KEY": "0123456789abcdef" * 4,
        "RUST_LOG": "info",
    }
    service = [rolecall, "--memory", "--port", str(api), "--dynamodb-port", str(dynamodb)]
    lambda_runtime = [
        emulator(),
        "--log-level",
        "error",
        "--runtime-interface-emulator-address",
        f"127.0.0.1:{emulator_port}",
        "--runtime-api-address",
        f"127.0.0.1:{runtime_api}",
        str(pathlib.Path(function).resolve()),
    ]
    with running("local service", service) as process:
        # It answers, if only with 401, once the table and the demonstration organizations are there.
        wait_for(process, lambda: answers(f"http://127.0.0.1:{api}/api/v1/organization"))
        with running("function", lambda_runtime, environment) as process:
            wait_for(process, lambda: listens(emulator_port))
            check(f"http://127.0.0.1:{emulator_port}/2015-03-31/functions/function/invocations")


def check(url):
    event = json.loads((ROOT / "events" / "organization_show.json").read_text())
    known = invoke(url, event)
    body = expect(known, 200)
    for field in ("id", "name", "slug", "mode", "plan", "limits", "usage", "career_portal_url", "created_at"):
        assert field in body, f"no {field} in {body}"
    assert body["career_portal_url"].startswith(f"{BASE_URL}/careers/"), body
    assert body["usage"]["requests_today"] >= 1, body

    event["headers"]["authorization"] = "Bearer rc_live_nobodys"
    unknown = invoke(url, event)
    body = expect(unknown, 401)
    assert body["code"] == "unauthorized" and body["error"], body
    assert body["request_id"] == header(unknown, "x-request-id"), body
    assert header(unknown, "www-authenticate").startswith("Bearer"), unknown
    print("the function answers 200 to a demonstration key and 401 to an unknown one")


def expect(response, status):
    """The body of a response, which is the API's in its headers too."""
    assert response.get("statusCode") == status, f"expected {status}: {response}"
    assert header(response, "content-type") == "application/json", response
    assert header(response, "cache-control") == "no-store", response
    assert header(response, "x-request-id"), response
    return json.loads(response["body"])


def header(response, name):
    return {key.lower(): value for key, value in response["headers"].items()}.get(name, "")


def invoke(url, event):
    request = urllib.request.Request(url, json.dumps(event).encode(), {"Content-Type": "application/json"})
    with DIRECT.open(request, timeout=30) as response:
        return json.load(response)


def emulator():
    architecture = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x86_64")
    package = pathlib.Path(importlib.util.find_spec("samcli").origin).parent
    return str(package / "local" / "rapid" / f"aws-lambda-rie-{architecture}")


@contextlib.contextmanager
def running(name, command, environment=None):
    """A process for as long as the block lasts; what it printed is shown when the block fails."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield process
        except BaseException:
            log.seek(0)
            print(f"---- output of the {name}\n{log.read()}----", file=sys.stderr)
            raise
        finally:
            # The emulator ends its function with itself, when it is asked to end.
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for(process, ready, seconds=30):
    deadline = time.monotonic() + seconds
    while not ready():
        assert process.poll() is None, f"{process.args[0]} ended with status {process.returncode}"
        assert time.monotonic() < deadline, f"{process.args[0]} is not ready after {seconds} s"
        time.sleep(0.05)


def answers(url):
    try:
        DIRECT.open(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def free_ports(count):
    """Ports nobody listens on now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


if __name__ == "__main__":
    main(*sys.argv[1:])
