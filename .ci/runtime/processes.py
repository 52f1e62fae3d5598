"""Context managers for processes: the local service, and functions in Lambda's runtime interface emulator."""

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

# All servers are on loopback, so a proxy in the environment must not be used.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))

# The maximum time until a process is ready, also on a busy machine.
READY_SECONDS = 300


class Endpoint:
    """A local endpoint of Lambda's Invoke API for one function."""

    def __init__(self, port, name):
        self.url = f"http://127.0.0.1:{port}/2015-03-31/functions/{name}/invocations"

    def invoke(self, event):
        """Invokes the function with an event and returns its result."""
        request = urllib.request.Request(self.url, json.dumps(event).encode(), {"Content-Type": "application/json"})
        with DIRECT.open(request, timeout=300) as response:
            return json.load(response)


class Function(Endpoint):
    """A function in the emulator, which runs it like Lambda: one process, one event at a time."""

    def __init__(self, process, log, port):
        super().__init__(port, "function")
        self.process, self.log = process, log

    def pid(self):
        """The id of the function's process, which is the emulator's only child."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children")
        [pid] = [int(pid) for file in children for pid in file.read_text().split()]
        return pid

    def check_end(self):
        """Checks that the function ends on SIGTERM."""
        pid = self.pid()
        os.kill(pid, signal.SIGTERM)
        wait_for(self.process, lambda: not pathlib.Path(f"/proc/{pid}").exists())


def check_log(log):
    """Checks that the log has no error and no warning."""
    log.seek(0)
    for line in log.read().splitlines():
        assert not any(word in line for word in ('"level":"ERROR"', '"level":"WARN"', "panicked")), line


@contextlib.contextmanager
def function(binary, environment):
    """Runs a function in the emulator."""
    port, runtime_api = free_ports(2)
    addresses = ["--runtime-interface-emulator-address", f"127.0.0.1:{port}"]
    addresses += ["--runtime-api-address", f"127.0.0.1:{runtime_api}"]
    command = [emulator(), "--log-level", "error", *addresses, str(pathlib.Path(binary).resolve())]
    with running(binary, command, environment) as (process, log):
        wait_for(process, lambda: listens(port))
        yield Function(process, log, port)


@contextlib.contextmanager
def local_service(rolecall, options, api, dynamodb, bucket):
    """Runs the local service with its embedded DynamoDB and its bucket on these ports."""
    ports = {"--port": api, "--dynamodb-port": dynamodb, "--bucket-port": bucket}
    command = [rolecall, *options, *(str(word) for pair in ports.items() for word in pair)]
    with running("local service", command) as (process, _):
        # It responds, although with a 401, once it has created its data.
        wait_for(process, lambda: answers(f"http://127.0.0.1:{api}/api/v1/organization"))
        yield


def emulator():
    """The path of the emulator, which is part of aws-sam-cli."""
    architecture = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x86_64")
    package = pathlib.Path(importlib.util.find_spec("samcli").origin).parent
    return str(package / "local" / "rapid" / f"aws-lambda-rie-{architecture}")


@contextlib.contextmanager
def running(name, command, environment=None):
    """Runs a process. Yields it with its log, which is printed if the block fails."""
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
            # When the emulator is terminated, it also ends its function.
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for(process, ready):
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        assert process.poll() is None, f"{process.args[0]} ended with status {process.returncode}"
        assert time.monotonic() < deadline, f"{process.args[0]} is not ready after {READY_SECONDS} s"
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
    """Finds different free ports."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [free.getsockname()[1] for free in sockets]
