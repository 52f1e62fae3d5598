"""A Docker engine of its own. Its containers and its network are in namespaces that end with the program."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import docker
import processes


def isolate():
    """Sets up a loopback device, and an empty /run for the engine's socket, in the program's own namespaces.

    The program must be the first process of its own network, mount and process namespaces (unshare --net --mount --pid
    --fork --mount-proc). When it ends for any reason, the kernel removes the namespaces with everything in them.
    """
    assert os.getpid() == 1, "This program must be the first process of its own namespaces; see .ci/runtime/engine.py."
    signal.signal(signal.SIGTERM, stop)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)


def stop(*_):
    """Ends the program. A second signal must not interrupt the cleanup."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


@contextlib.contextmanager
def running(data):
    """Runs a Docker engine without images on the default socket in the namespace's /run."""
    shutil.rmtree(data, ignore_errors=True)
    os.environ.pop("DOCKER_HOST", None)
    command = ["dockerd", "--data-root", str(data), "--log-level", "error"]
    with processes.running("Docker engine", command) as (process, _):
        processes.wait_for(process, pathlib.Path("/run/docker.sock").exists)
        client = docker.from_env()
        try:
            yield client
        finally:
            for container in client.containers.list(all=True, ignore_removed=True):
                # Another process that has just ended may also be removing it.
                with contextlib.suppress(docker.errors.APIError):
                    container.remove(force=True)
