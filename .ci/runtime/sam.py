"""Uses SAM's own code to find out what `sam local` would run: the functions, their variables, their routes and their events.

A function gets exactly the variables that the template lists, with the value from ENVIRONMENT, otherwise from the
shell, otherwise from the template.
"""

import json
import pathlib
import re
import shlex

from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.api_provider import ApiProvider
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = "infra/local/environment.json"
DOCUMENT = "infra/README.md"
SECTION = "Functions in containers"
# The options of the local service, except hosts and ports.
SERVICE = ["--memory", "--recorded"]
# The event sources of functions without routes, by the last part of the sample event's name.
TRIGGERS = {"schedule": "ScheduleV2", "stream": "DynamoDB"}


def functions():
    """The functions of the template, as read by SAM."""
    return SamFunctionProvider(stacks(), use_raw_codeuri=True)


def routes():
    """The logical id of the function of each path, as `sam local start-api` reads them."""
    return {route.path: route.function_name for route in ApiProvider(stacks()).api.routes}


def stacks():
    """The stack of the template. Nested stacks have only the hook, which CodeDeploy calls."""
    found, _ = SamLocalStackProvider.get_stacks(str(ROOT / "template.yaml"))
    return [stack for stack in found if stack.is_root_stack]


def package(function):
    """The name of a function's folder and package."""
    return pathlib.Path(function.codeuri).name


def binary(function):
    """The name of a function's binary. Only functions that share a package name it in the template."""
    return function.metadata.get("BuildProperties", {}).get("Binary", package(function))


def environment(provider, function):
    """The variables of a function."""
    values = json.loads((ROOT / ENVIRONMENT).read_text())
    runner = LocalLambdaRunner(None, provider, str(ROOT), str(ROOT), env_vars_values=values)
    return runner.get_invoke_config(function).env_vars.resolve()


def check_environment(provider):
    """Checks that the template lists all variables in ENVIRONMENT."""
    values = json.loads((ROOT / ENVIRONMENT).read_text())
    listed = {function.name: set(function.environment["Variables"]) for function in provider.get_all()}
    listed["Parameters"] = set().union(*listed.values())
    for name, variables in values.items():
        unknown = set(variables) - listed[name]
        assert not unknown, f"{ENVIRONMENT}, {name}: the template does not list {unknown}"


def events(provider):
    """The sample events of each function, with their names."""
    found = {function.name: [] for function in provider.get_all()}
    paths = routes()
    for path in sorted((ROOT / "events").iterdir()):
        event = json.loads(path.read_text())
        [owner] = [function for function in provider.get_all() if handles(function, paths, path.stem, event)]
        assert path.stem.startswith(f"{package(owner)}_"), f"the name of {path.name} must begin with {package(owner)}_"
        found[owner.name].append((path.stem, event))
    for name, named_events in found.items():
        assert named_events, f"{name} has no sample event"
        # A stream's event arrives immediately, and the schedule's event later.
        named_events.sort(key=lambda named: "Records" not in named[1])
    return found


def handles(function, paths, name, event):
    """Whether an event is for this function."""
    if "routeKey" in event:
        return paths[event["routeKey"].split(" ")[-1]] == function.name
    sources = function.events.values() if function.events else []
    # For schedules and streams the file's name begins with the function's.
    trigger = name.removeprefix(f"{package(function)}_")
    return TRIGGERS.get(trigger) in [source["Type"] for source in sources]


def shell(api, dynamodb, bucket):
    """The variables that the documented commands export, for the local service on loopback with these ports."""
    host = "http://host.docker.internal"
    ports = {f"{host}:8000": dynamodb, f"{host}:3000": api, f"{host}:9000": bucket}
    return {name: f"http://127.0.0.1:{ports[value]}" if value in ports else value for name, value in exports().items()}


def exports():
    """The variables that the documented commands export."""
    section = (ROOT / DOCUMENT).read_text().split(f"\n## {SECTION}\n")[1].split("\n## ")[0]
    exported = re.findall(r"^export (AWS_ACCESS_KEY_ID.*|DYNAMODB_ENDPOINT.*)$", section, re.MULTILINE)
    variables = dict(word.split("=", 1) for line in exported for word in shlex.split(line))
    assert {"AWS_ACCESS_KEY_ID", "DYNAMODB_ENDPOINT"} <= variables.keys(), f"{DOCUMENT} lacks exports"
    return variables


def command(function, event):
    """The command to do the same in a container."""
    return f"sam local invoke {function} -e events/{event}.json --config-env local"
