"""What `sam local invoke` does, by its own code: the functions, what each of them is told, and which one an event is for.

It passes on the variables that the template names, and no others: with the value of ENVIRONMENT, else of the shell, else of
the template.
"""

import json
import pathlib
import re
import shlex

from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = "infra/local/environment.json"
# What the local service must be started with, besides where it listens.
SERVICE = ["--memory", "--recorded"]
# What triggers the functions that answer nobody.
TRIGGERS = {"schedule": "ScheduleV2", "stream": "DynamoDB"}


def functions():
    """The template's functions, as SAM reads it."""
    stacks, _ = SamLocalStackProvider.get_stacks(str(ROOT / "template.yaml"))
    return SamFunctionProvider(stacks, use_raw_codeuri=True)


def package(function):
    """A function's folder, package and binary have one name."""
    return pathlib.Path(function.codeuri).name


def environment(provider, function):
    """The variables that a function is given."""
    told = json.loads((ROOT / ENVIRONMENT).read_text())
    runner = LocalLambdaRunner(None, provider, str(ROOT), str(ROOT), env_vars_values=told)
    return runner.get_invoke_config(function).env_vars.resolve()


def check_environment(provider):
    """ENVIRONMENT tells nobody what the template does not name."""
    told = json.loads((ROOT / ENVIRONMENT).read_text())
    named = {one.name: set(one.environment["Variables"]) for one in provider.get_all()}
    named["Parameters"] = set().union(*named.values())
    for name, variables in told.items():
        assert set(variables) <= named[name], f"{ENVIRONMENT}, {name}: no such variables: {set(variables) - named[name]}"


def events(provider):
    """The recorded events by function: those that the template sends it, each with its name."""
    found = {function.name: [] for function in provider.get_all()}
    for path in sorted((ROOT / "events").iterdir()):
        event = json.loads(path.read_text())
        [owner] = [one for one in provider.get_all() if takes(one, path.stem, event)]
        assert path.stem.startswith(f"{package(owner)}_"), f"{path.name} is for {owner.name}, and should be called so"
        found[owner.name].append((path.stem, event))
    for name, own in found.items():
        assert own, f"no recorded event is for {name}"
        # A stream tells of something at once. The schedule comes later.
        own.sort(key=lambda one: "Records" not in one[1])
    return found


def takes(function, name, event):
    """Whether an event is for this function."""
    own = function.events.values()
    if "routeKey" in event:
        routes = [one["Properties"] for one in own if one["Type"] == "HttpApi"]
        keys = [row["Path"] if row["Path"] == "$default" else f"{row['Method']} {row['Path']}" for row in routes]
        return event["routeKey"] in keys
    # The file's name says whose schedule or stream it is.
    trigger = name.removeprefix(f"{package(function)}_")
    return TRIGGERS.get(trigger) in [one["Type"] for one in own]


def shell(api, dynamodb):
    """The variables that the README exports, for the local service on loopback with these ports."""
    exported = re.findall(r"^export (AWS_ACCESS_KEY_ID.*|DYNAMODB_ENDPOINT.*)$", readme(), re.MULTILINE)
    pairs = [word.split("=", 1) for line in exported for word in shlex.split(line)]
    assert {name for name, _ in pairs} >= {"AWS_ACCESS_KEY_ID", "DYNAMODB_ENDPOINT"}, "the README exports something else"
    ports = {"http://host.docker.internal:8000": dynamodb, "http://host.docker.internal:3000": api}
    return {name: f"http://127.0.0.1:{ports[value]}" if value in ports else value for name, value in pairs}


def check_readme(events):
    """The commands that the README shows are those that are done here."""
    assert f"cargo run -- {' '.join(SERVICE)} " in readme(), "the README starts another service"
    shown = re.findall(r"^sam local invoke .*$", readme(), re.MULTILINE)
    done = {command(name, event) for name, own in events.items() for event, _ in own}
    assert shown and set(shown) <= done, f"the README's commands are not those of .ci/run runtime: {set(shown) - done}"


def command(function, event):
    """The command that does the same in a container."""
    return f"sam local invoke {function} -e events/{event}.json --config-env local"


def readme():
    return (ROOT / "README.md").read_text()
