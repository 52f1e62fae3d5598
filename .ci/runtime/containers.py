"""Types the commands for functions in containers, as they are printed, in bash and then in zsh. With EVENTS=1 it also runs
every sample event in a container.

Usage: containers.py FOLDER ROLECALL IMAGE, with the folder of the functions' binaries, the local service's binary, and
a file that replaces AWS's base image. The program starts its own Docker engine, in namespaces of its own (engine.py).
"""

import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

import engine
import expected
import main as emulator
import processes
import sam

sys.path.append(str(sam.ROOT / ".ci/documents"))

import markdown  # noqa: E402
from terminal import Terminal  # noqa: E402

ARCHITECTURE = {"aarch64": "arm64"}.get(platform.machine(), "x86_64")
ACME = "rc_live_000000001000000001ZCG7000000DemoKeyOfAcmeLiveNotASecretJPF42F2mh9z0N3tAZ"
# As printed, no earlier event leaves a task.
DONE = {"tasks_stream": {"tasks": 1, "failed": 0}, "tasks_schedule": {"tasks": 0, "failed": 0}}
API = "http://127.0.0.1:3001"
START_LAMBDA = "sam local start-lambda --port 3002 --warm-containers LAZY --no-watch --config-env local"


def main(folder, rolecall, image):
    engine.isolate()
    folder, rolecall, image = [pathlib.Path(path).resolve() for path in (folder, rolecall, image)]
    os.chdir(sam.ROOT)
    work = image.parent
    mount_build_folder(work)
    with engine.running(work / "engine") as client:
        client.api.import_image(
            src=str(image), repository="public.ecr.aws/lambda/provided", tag=f"al2023-{ARCHITECTURE}"
        )
        environment = variables(folder)
        for shell in ("bash", "zsh"):
            type_section(shell, environment, work)
        if os.environ.get("EVENTS"):
            run_events(rolecall, environment)


def type_section(shell, environment, work):
    """Types the section's blocks in three terminals, and checks what they print."""
    blocks = [block.text for block in markdown.read(sam.ROOT / sam.DOCUMENT).blocks if block.section == sam.SECTION]
    service, build, invocations, start_api, requests = blocks
    with contextlib.ExitStack() as stack:
        # The replacement for cargo-lambda leaves its output where SAM looks for it.
        building = {**environment, "CARGO_TARGET_DIR": str(work / "lambda")}
        first, second, third = (Terminal(shell, environment=one) for one in (environment, building, environment))
        for terminal in (first, second, third):
            stack.callback(terminal.close)
        _, ports = first.type(service)
        assert {3000, 8000, 9000} <= set(ports), f"the local service listens on {ports}"
        first.leave_running()
        second.type(build)
        raise_timeouts()
        for line in invocations.splitlines():
            output, _ = second.type(line)
            if "sam local invoke" in line:
                check_result(re.search(r"events/(\w+)\.json", line)[1], output)
        _, ports = second.type(start_api)
        assert 3001 in ports, f"the gateway listens on {ports}"
        second.leave_running()
        try:
            check_responses(*(third.type(line)[0] for line in requests.splitlines()))
        except AssertionError:
            print(f"---- output of sam local start-api\n{second.output}\n----")
            raise
        assert not any(word in second.output for word in ('"level":"ERROR"', "panicked")), second.output
    print(f"{sam.DOCUMENT}, {sam.SECTION}: {len(blocks)} blocks were typed in {shell}")


def run_events(rolecall, environment):
    """Runs every sample event in a container."""
    provider = sam.functions()
    events = sam.events(provider)
    command = [rolecall, *sam.SERVICE, "--host", "172.17.0.1,host.docker.internal", "--dynamodb-port", "8000", "--bucket-port", "9000"]
    with processes.running("local service", list(map(str, command))) as (process, _):
        processes.wait_for(process, lambda: processes.answers("http://172.17.0.1:3000/api/v1/organization"))
        with processes.running(START_LAMBDA, START_LAMBDA.split(), {**environment, **sam.exports()}) as (process, log):
            processes.wait_for(process, lambda: processes.listens(3002))
            for function in sorted(provider.get_all(), key=sam.binary):
                endpoint = processes.Endpoint(3002, function.name)
                for name, event in events[function.name]:
                    print(emulator.answer(endpoint, name, event), sam.command(function.name, name))
            processes.check_log(log)
    print(f"ran {sum(map(len, events.values()))} events in {len(events)} functions in containers")


def raise_timeouts():
    """Raises the functions' timeouts in the built template, because their containers start slowly on a busy machine."""
    template = pathlib.Path(".aws-sam/build/template.yaml")
    text, count = re.subn(r"(?m)^( +Timeout:) \d+$", r"\1 300", template.read_text())
    assert count, f"{template} has no timeout"
    template.write_text(text)


def mount_build_folder(work):
    """Puts an empty folder in the place of SAM's build folder, in the namespace."""
    shutil.rmtree(work / "build", ignore_errors=True)
    (work / "build").mkdir()
    (sam.ROOT / ".aws-sam").mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", work / "build", ".aws-sam"], check=True)


def variables(folder):
    """The variables of the terminals."""
    return {
        **os.environ,
        # With sam and the replacement for cargo-lambda.
        "PATH": f"{sam.ROOT}/.ci/runtime/bin:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "FUNCTIONS": str(folder),
        # Neither a container registry nor AWS is available.
        "SAM_SKIP_PULL_IMAGE": "true",
        "AWS_MAX_ATTEMPTS": "1",
        # The time limit for starting a container, in seconds.
        "SAM_CLI_CONTAINER_CONNECTION_TIMEOUT": "300",
    }


def check_result(name, output):
    """Checks the result of an invocation, which a terminal shows among the lines of the log."""
    event = json.loads(pathlib.Path(f"events/{name}.json").read_text())
    is_route = "routeKey" in event
    results = [value for value in objects(output) if ("statusCode" in value if is_route else "level" not in value)]
    assert results, f"{name} has no result in:\n{output}"
    if is_route:
        expected.check(name, event, results[-1])
    else:
        expected.check_job(name, results[-1], DONE.get(name))


def objects(text):
    """The JSON objects in a text."""
    place = text.find("{")
    while place >= 0:
        try:
            value, place = json.JSONDecoder().raw_decode(text, place)
            yield value
        except json.JSONDecodeError:
            place += 1
        place = text.find("{", place)


def check_responses(shown, rejected):
    """Checks the responses to the section's requests and to some other requests."""
    assert json.loads(shown)["name"] == "Acme", shown
    assert rejected.startswith("HTTP/1.1 401 "), rejected
    assert json.loads(rejected.splitlines()[-1])["code"] == "unauthorized", rejected
    for method, path, body, status in (
        ("POST", "/api/v1/roles", {"title": "Engineer"}, 201),
        ("POST", "/api/v1/roles", {}, 422),
        ("GET", "/api/v1/roles/1", None, 404),
        ("GET", "/api/v1/nowhere", None, 404),
        ("DELETE", "/api/v1/organization", None, 405),
        ("GET", "/docs", None, 200),
    ):
        headers = {"Authorization": f"Bearer {ACME}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        sent = urllib.request.Request(API + path, data, headers, method=method)
        try:
            response = processes.DIRECT.open(sent, timeout=300)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            assert response.status == status, f"{method} {path}: expected {status}: {response.status} {response.read()}"
            if status == 201:
                location = response.headers["location"]
                assert location.startswith(f"{API}/api/v1/roles/"), location
        print(status, method, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
