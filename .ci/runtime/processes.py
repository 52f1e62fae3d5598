"""Processes that last as long as a block: the local service, and functions in Lambda's runtime interface emulator."""

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

# Everything here is on loopback, whatever proxy the environment names.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Endpoint:
    """A local endpoint of Lambda's Invoke API for one function."""

    def __init__(self, port, name):
        self.url = f"http://127.0.0.1:{port}/2015-03-31/functions/{name}/invocations"

    def invoke(self, event):
        """What the function answers to an event."""
        request = urllib.request.Request(self.url, json.dumps(event).encode(), {"Content-Type": "application/json"})
        with DIRECT.open(request, timeout=60) as response:
            return json.load(response)


class Function(Endpoint):
    """A function in the emulator, which invokes it as Lambda does: one process, one event at a time."""

    def __init__(self, process, log, port):
        super().__init__(port, "function")
        self.process, self.log = process, log

    def pid(self):
        """The function's own process, the emulator's only child."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children")
        [pid] = [int(pid) for one in children for pid in one.read_text().split()]
        return pid

    def check_end(self):
        """The function ends when it is asked to."""
        pid = self.pid()
        os.kill(pid, signal.SIGTERM)
        wait_for(self.process, lambda: not pathlib.Path(f"/proc/{pid}").exists(), 5)


def check_log(log):
    """The functions have logged no error and no warning so far."""
    log.seek(0)
    for line in log.read().splitlines():
        assert not any(word in line for word in ('"level":"ERROR"', '"level":"WARN"', "panicked")), line


@contextlib.contextmanager
def function(binary, environment):
    """A function in the emulator."""
    port, runtime_api = free_ports(2)
    addresses = ["--runtime-interface-emulator-address", f"127.0.0.1:{port}"]
    addresses += ["--runtime-api-address", f"127.0.0.1:{runtime_api}"]
    command = [emulator(), "--log-level", "error", *addresses, str(pathlib.Path(binary).resolve())]
    with running(binary, command, environment) as (process, log):
        wait_for(process, lambda: listens(port))
        yield Function(process, log, port)


@contextlib.contextmanager
def local_service(rolecall, options, api, dynamodb):
    """The local service, with an embedded DynamoDB for others on a port of its own."""
    command = [rolecall, *options, "--port", str(api), "--dynamodb-port", str(dynamodb)]
    with running("local service", command) as (process, _):
        # It answers, if only with 401, once everything is there that it starts with.
        wait_for(process, lambda: answers(f"http://127.0.0.1:{api}/api/v1/organization"))
        yield


def emulator():
    """It comes with aws-sam-cli."""
    architecture = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x86_64")
    package = pathlib.Path(importlib.util.find_spec("samcli").origin).parent
    return str(package / "local" / "rapid" / f"aws-lambda-rie-{architecture}")


@contextlib.contextmanager
def running(name, command, environment=None):
    """A process and what it prints, which is shown when the block fails."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield process, log
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
        time.sleep(0.02)


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
