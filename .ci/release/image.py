"""Packs the local service for people without Rust, in an archive and in an image, and tries both.

Usage: image.py BINARIES OUTPUT, with the folder of the two binaries, and the folder for the archive and the image. The
program starts its own Docker engine, in namespaces of its own (.ci/runtime/engine.py).

The binaries are static, so the image has no system and no library.
"""

import contextlib
import gzip
import io
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / ".ci/runtime"), str(ROOT / ".ci/documents")]

import engine  # noqa: E402
import markdown  # noqa: E402
import notices  # noqa: E402
import processes  # noqa: E402

DOCUMENT = "CONTRIBUTING.md"
# The programs and their packages.
PACKAGES = {"rolecall": "rolecall-local", "rolecall-admin": "rolecall-admin"}
# For webhooks and the documents of OAuth clients.
ROOT_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
USER = 65532
ACME = re.search(r"^ACME=(\S+)$", (ROOT / "README.md").read_text(), re.MULTILINE)[1]


def main(binaries, output):
    engine.isolate()
    binaries, output = pathlib.Path(binaries).resolve(), pathlib.Path(output).resolve()
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    name = f"rolecall-{version}-linux-{platform.machine()}"
    archive, image = output / f"{name}.tar.gz", output / f"{name}-image.tar.gz"
    with tempfile.TemporaryDirectory(dir=output) as data:
        programs = [binaries / name for name in PACKAGES]
        licenses = pathlib.Path(data, "licenses.txt")
        licenses.write_text(notices.text(PACKAGES.values()))
        pack(archive, [*programs, licenses])
        try_programs(archive, version)
        with engine.running(f"{data}/engine") as client:
            build(client, programs, licenses, image, version)
        # The image must come from its file.
        with engine.running(f"{data}/engine") as client:
            load, run, administer, run_in_memory = documented(image)
            print(output_of(load).strip())
            try_with_volume(run, administer)
            try_in_memory(run_in_memory)
            try_names(client)


def pack(archive, files):
    """Writes an archive of files, which depends only on their contents."""
    with archive.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as compressed:
        with tarfile.open(fileobj=compressed, mode="w") as tar:
            for path in files:
                member = tarfile.TarInfo(path.name)
                member.size, member.mode = path.stat().st_size, 0o755 if os.access(path, os.X_OK) else 0o644
                with path.open("rb") as content:
                    tar.addfile(member, content)
    print(f"{archive.name}: {megabytes(archive)}")


def try_programs(archive, version):
    """Starts the programs in a folder that contains only the archive's files."""
    with tempfile.TemporaryDirectory() as folder:
        output_of(["tar", "-xzf", str(archive), "-C", folder])
        for name in PACKAGES:
            program = pathlib.Path(folder, name)
            assert output_of([str(program), "--version"]) == f"{name} {version}\n"
            headers = output_of(["readelf", "--program-headers", "--dynamic", "--wide", str(program)])
            assert "INTERP" not in headers and "NEEDED" not in headers, f"{name} is not static"
            print(f"{name}: {megabytes(program)}, static")
        begin = time.monotonic()
        command = ["env", f"--chdir={folder}", "./rolecall"]
        with processes.running("local service", command) as (process, log):
            processes.wait_for(process, lambda: processes.answers("http://127.0.0.1:3000"))
            print(f"./rolecall answers after {time.monotonic() - begin:.1f} s")
            stop(process)
            assert "panicked" not in text(log), text(log)


def build(client, programs, licenses, image, version):
    """Builds the image, and writes the file for `docker load`."""
    files = {f"/bin/{program.name}": program for program in programs} | {ROOT_CERTIFICATES: ROOT_CERTIFICATES}
    files["/licenses.txt"] = licenses
    with tempfile.TemporaryDirectory() as folder:
        context = pathlib.Path(folder)
        shutil.copy(ROOT / "infra/local/Dockerfile", context)
        (context / "data").mkdir()
        for path, source in files.items():
            (context / f"root{path}").parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, context / f"root{path}")
        built, _ = client.images.build(path=folder, tag="rolecall", rm=True)
    built.tag("rolecall", version)
    names = [f"rolecall:{version}", "rolecall:latest"]
    saved = subprocess.run(["docker", "save", *names], check=True, stdout=subprocess.PIPE).stdout
    check_content(saved, {path.lstrip("/") for path in files})
    image.write_bytes(gzip.compress(saved, mtime=0))
    print(f"{image.name}: {megabytes(image)}, unpacked {len(saved) / 1e6:.1f} MB")


def check_content(saved, expected):
    """Checks that the image has only the expected files, and that only the folder for data belongs to its user."""
    with tarfile.open(fileobj=io.BytesIO(saved)) as archive:
        [manifest] = json.load(archive.extractfile("manifest.json"))
        layers = [tarfile.open(fileobj=archive.extractfile(layer)).getmembers() for layer in manifest["Layers"]]
    members = [member for layer in layers for member in layer]
    files = {member.name for member in members if not member.isdir()}
    assert files == expected, f"the image has these files: {sorted(files)}"
    owned = {member.name.rstrip("/"): (member.uid, member.gid) for member in members if member.uid or member.gid}
    assert owned == {"data": (USER, USER)}, f"these files do not belong to root: {owned}"


def documented(image):
    """The documented commands, with the name of the image's file."""
    codes = [code.text for code in markdown.read(ROOT / DOCUMENT).codes if code.text.startswith("docker ")]
    return [[str(image) if word == "FILE" else word for word in shlex.split(code)] for code in codes]


def try_with_volume(run, administer):
    """Uses the service as documented, and starts it again with the same data and a root that cannot be written."""
    with service(run, 3000) as address:
        assert "ada@acme.example" in get(address)
        assert json.loads(get(f"{address}/api/v1/organization"))["name"] == "Acme"
        assert 'type="password"' in get(f"{address}/dashboard")
        organizations = output_of(administer)
        assert "Acme" in organizations and "Globex" in organizations, organizations
        print(f"{shlex.join(administer)} lists both organizations")
        role = json.loads(get(f"{address}/api/v1/roles", {"title": "Keeper"}))
        process = output_of(["docker", "inspect", "--format", "{{.State.Pid}}", "rolecall"]).strip()
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        assert re.search(rf"^Uid:(\s+{USER}){{4}}$", status, re.MULTILINE), status
        memory = re.search(r"VmRSS:\s+(.+)", status)[1]
        print(f"the service runs as user {USER} and uses {memory} of memory")
    with service([*run[:2], "--read-only", *run[2:]], 3000) as address:
        assert json.loads(get(f"{address}/api/v1/roles/{role['id']}"))["title"] == "Keeper"
        print("the volume has kept its data")


def try_in_memory(run):
    """Uses the service with options. It can also be stopped while it creates the demo company."""
    with service(run, 8080) as address:
        assert len(json.loads(get(f"{address}/api/v1/roles"))["data"]) == 12
    with processes.running("container", run) as (process, log):
        processes.wait_for(process, lambda: "Creating the demo company" in text(log))
        stop(process)
        assert "Open" not in text(log), "the service was stopped too late for this check"


def try_names(client):
    """Finds the service by its name, with DNS and in /etc/hosts, also on a system that names other modules for host names."""
    client.networks.create("rolecall")
    run = ["docker", "run", "--rm", "--network", "rolecall"]
    service = processes.running("container", [*run, "--name", "service", "rolecall", "--memory", "--host", "0.0.0.0,service,database"])
    with tempfile.NamedTemporaryFile("w") as modules, service as (process, log):
        processes.wait_for(process, lambda: "\nOpen " in text(log))
        address = "{{.NetworkSettings.Networks.rolecall.IPAddress}}"
        host = "database:" + output_of(["docker", "inspect", "--format", address, "service"]).strip()
        modules.write("hosts: resolve myhostname\n")
        modules.flush()
        for name, options, place in (
            ("service", [], "with DNS"),
            ("database", ["--add-host", host], "in /etc/hosts"),
            ("service", ["--volume", f"{modules.name}:/etc/nsswitch.conf:ro"], "with DNS, although nsswitch.conf names modules"),
        ):
            listed = organizations_at(name, run, options)
            assert "Acme" in listed.stdout, listed
            print(f"rolecall-admin has found the name {name} {place}")
        failed = organizations_at("nowhere.invalid", run)
        assert failed.returncode == 1 and "nowhere.invalid" in failed.stderr, failed
        print(f"rolecall-admin has not found the name nowhere.invalid: {failed.stderr.strip()}")
        stop(process)


def organizations_at(name, run, options=()):
    tool = ["--entrypoint", "rolecall-admin", "rolecall", "--endpoint", f"http://{name}:8000"]
    return subprocess.run([*run, *options, *tool, "organization", "list"], capture_output=True, text=True)


@contextlib.contextmanager
def service(run, port):
    """Runs the service with a documented command, and stops it at the end. Yields its address."""
    address, begin = f"http://127.0.0.1:{port}", time.monotonic()
    with processes.running("container", run) as (process, log):
        processes.wait_for(process, lambda: processes.answers(address))
        print(f"{shlex.join(run)} answers after {time.monotonic() - begin:.1f} s")
        yield address
        stop(process)
        printed = text(log)
        assert f"Open            {address}\n" in printed and "panicked" not in printed, printed


def stop(process):
    """Stops a program or its container, which Docker would kill after ten seconds."""
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    status = process.wait(60)
    seconds = time.monotonic() - begin
    assert status == 0 and seconds < 5, f"it ended with {status} {seconds:.1f} s after SIGTERM"
    print(f"it ended {seconds:.1f} s after SIGTERM")


def text(log):
    """What a running process has printed. It shares the log's position, so that must not change."""
    return os.pread(log.fileno(), 1_000_000, 0).decode()


def get(url, body=None):
    """The body of a response. A request with a body is a POST."""
    api = {"Authorization": f"Bearer {ACME}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, api if "/api/" in url else {"Accept": "text/html"})
    with processes.DIRECT.open(request, timeout=60) as response:
        return response.read().decode()


def megabytes(path):
    return f"{path.stat().st_size / 1e6:.1f} MB"


def output_of(command):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert result.returncode == 0, f"{shlex.join(command)}: {result.stderr}"
    return result.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
