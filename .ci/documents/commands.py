"""The commands of a text for a shell, and whether the program of each would accept it. Nothing is run that changes anything.

A program judges its own options: clap and click refuse a wrong one before they answer `--help`. AWS's CLI is judged by
botocore's models.
"""

import functools
import importlib.util
import json
import pathlib
import re
import shlex
import subprocess

import botocore.exceptions
import botocore.session
import tree_sitter
import tree_sitter_bash
from botocore import xform_name

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASH = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
# AWS's CLI has other names for some services than its SDK.
SERVICES = {"deploy": "codedeploy"}
# Commands of AWS's CLI that are made of several operations, with the options that we use and those that they need.
COMPOSED = {
    ("s3", "sync"): (["size-only"], []),
    ("logs", "tail"): (["filter-pattern", "follow", "format", "since"], []),
    ("cloudformation", "deploy"): (
        ["template-file", "stack-name", "capabilities", "parameter-overrides"],
        ["template-file", "stack-name"],
    ),
}
GLOBAL_OPTIONS = ["cli-binary-format", "output", "profile", "query", "region"]
# What a variable or the output of a command may be.
VALUE = "1"


class Wrong(Exception):
    """Why a command cannot be carried out."""


def commands(text):
    """The words of each simple command in a text, without redirections and without variables before the command."""
    tree = BASH.parse(text.encode())
    if tree.root_node.has_error:
        raise Wrong(f"the shell cannot read: {text.strip()}")
    return [words(node) for node in every(tree.root_node) if node.type == "command"]


def every(node):
    yield node
    for child in node.children:
        yield from every(child)


def words(command):
    kinds = ("variable_assignment", "file_redirect")
    return [word(node) for node in command.children if node.is_named and node.type not in kinds]


def word(node):
    """The text of a word, with VALUE for what the shell replaces."""
    text, position = b"", node.start_byte
    for part in replaced(node):
        text += node.text[position - node.start_byte : part.start_byte - node.start_byte] + VALUE.encode()
        position = part.end_byte
    return "".join(shlex.split((text + node.text[position - node.start_byte :]).decode()))


def replaced(node):
    """The parts of a word that the shell replaces, without those inside them."""
    if node.type in ("simple_expansion", "expansion", "command_substitution"):
        yield node
    else:
        for child in node.children:
            yield from replaced(child)


def is_lane(words):
    """Whether a command is a lane itself: `cargo test` or `.ci/run`."""
    return words[:2] == ["cargo", "test"] or words[:1] == [".ci/run"]


class Judge:
    """Judges commands with the programs of the build in `target`."""

    def __init__(self, target):
        self.target = pathlib.Path(target)

    def judge(self, text, functions=()):
        """Judges every command in a text. `functions` are those of the shell that its document defines."""
        for words in commands(text):
            if words[0] not in functions:
                self.command(words)

    def command(self, words):
        program, arguments = words[0], words[1:]
        match program:
            case ".ci/run":
                self.lanes(arguments)
            case "aws":
                self.aws(arguments)
            case "cargo":
                self.cargo(arguments)
            case "python3" if arguments[:1] == ["infra/deploy.py"]:
                self.deploy(arguments[1:])
            case "sam" | ".venv/bin/sam":
                self.helps([str(ROOT / ".ci/.venv/bin/sam"), *arguments])
            case "rolecall-admin" | "rolecall":
                # URL stands for any address.
                addresses = [re.sub("^URL$", "http://127.0.0.1", word) for word in arguments]
                self.helps([str(self.target / "debug" / program), *addresses])
            case _ if "/" in program:
                if not (ROOT / program).exists() and not program.startswith((".venv/", "/")):
                    raise Wrong(f"there is no {program}")
            case _:
                if not known(program):
                    raise Wrong(f"{program} is neither a command of the shell nor on this machine")

    def helps(self, command):
        """Lets a program read its options. With `--help` at the end it does nothing else."""
        result = subprocess.run([*command, "--help"], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode:
            raise Wrong(f"{shlex.join(command)}: {result.stderr.strip() or result.stdout.strip()}")

    def lanes(self, names):
        run = (ROOT / ".ci/run").read_text()
        for name in names:
            # LANE stands for the name of any lane, and `release` for several lanes.
            if name not in ("LANE", "release") and f"\nlane_{name}() {{" not in run:
                raise Wrong(f".ci/run has no lane {name}")

    def aws(self, arguments):
        """Looks for an operation and its options in botocore's models of AWS."""
        service, operation, *rest = arguments
        if (service, operation) in COMPOSED:
            known, needed = COMPOSED[service, operation]
        else:
            known, needed = self.model(SERVICES.get(service, service), operation, rest)
        options = {re.sub("=.*", "", word)[2:] for word in rest if word.startswith("--")}
        if unknown := options - {*known, *(f"no-{name}" for name in known), *GLOBAL_OPTIONS}:
            raise Wrong(f"aws {service} {operation} has no option --{min(unknown)}")
        if missing := set(needed) - options:
            raise Wrong(f"aws {service} {operation} needs --{min(missing)}")

    def model(self, service, operation, rest):
        """The options of an operation, and those that it needs."""
        session = botocore.session.get_session()
        try:
            if operation == "wait":
                waiters = session.get_waiter_model(service)
                name = {xform_name(name, "-"): name for name in waiters.waiter_names}[rest[0]]
                name = waiters.get_waiter(name).operation
            else:
                names = session.get_service_model(service).operation_names
                name = {xform_name(name, "-"): name for name in names}[operation]
        except (KeyError, botocore.exceptions.DataNotFoundError, botocore.exceptions.UnknownServiceError) as error:
            raise Wrong(f"AWS has no operation {shlex.join([service, operation, *rest[:1]])}") from error
        shape = session.get_service_model(service).operation_model(name).input_shape
        members, needed = (shape.members, shape.required_members) if shape else ((), ())
        return [xform_name(name, "-") for name in members], [xform_name(name, "-") for name in needed]

    def deploy(self, arguments):
        spec = importlib.util.spec_from_file_location("deploy", ROOT / "infra/deploy.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            module.arguments(arguments)
        except SystemExit as error:
            raise Wrong(f"infra/deploy.py {shlex.join(arguments)} is refused") from error

    def cargo(self, arguments):
        own, program = split(arguments, "--")
        match own[:1]:
            case ["test"]:
                self.tests(own[1:], program)
            case ["run"]:
                name = value(own, "--bin") or "rolecall"
                if name not in self.binaries:
                    raise Wrong(f"cargo run {shlex.join(own)}: there is no binary {name}")
                self.helps([str(self.target / "debug" / name), *program])
            case ["lambda"]:
                self.helps([str(ROOT / ".ci/.venv/bin/cargo-lambda"), *own])
            # Not on this machine unless somebody has installed them.
            case ["audit" | "mutants"]:
                if f"cargo install cargo-{own[0]}" not in (ROOT / "CONTRIBUTING.md").read_text():
                    raise Wrong(f"no document says how to install cargo-{own[0]}")
            case _:
                package = value(own, "--package") or value(own, "-p")
                if package and package not in self.packages:
                    raise Wrong(f"cargo {shlex.join(own)}: there is no package {package}")
                self.helps(["cargo", *own, "-h"] if own[:1] != ["fmt"] else ["cargo", *own])

    def tests(self, own, filters):
        """Finds a test for each filter of `cargo test`."""
        package, target = value(own, "--package") or value(own, "-p"), value(own, "--test")
        chosen = [
            test for test in self.test_programs
            if package in (None, test["package"]) and target in (None, test["target"]["name"])
        ]  # fmt: skip
        if not chosen:
            raise Wrong(f"cargo test {shlex.join(own)}: there is no such package or test target")
        names = [word for word in positional(own, ["--package", "-p", "--test"]) + positional(filters, ["--test-threads"])]
        for name in names:
            exact = ["--exact"] if "--exact" in filters else []
            if not any(lists(test["executable"], name, *exact) for test in chosen):
                raise Wrong(f"cargo test {shlex.join(own)}: no test has {name} in its name")

    @functools.cached_property
    def metadata(self):
        return json.loads(read("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"))

    @functools.cached_property
    def packages(self):
        return {package["name"]: package for package in self.metadata["packages"]}

    @functools.cached_property
    def binaries(self):
        return {one["name"] for package in self.packages.values() for one in package["targets"] if "bin" in one["kind"]}

    @functools.cached_property
    def test_programs(self):
        """What `cargo test` has built, by Cargo's own account."""
        names = {package["id"]: name for name, package in self.packages.items()}
        lines = read("cargo", "test", "--locked", "--no-run", "--message-format=json").splitlines()
        built = [json.loads(line) for line in lines if line.startswith("{")]
        return [
            {**one, "package": names[one["package_id"]]} for one in built
            if one["reason"] == "compiler-artifact" and one["profile"]["test"] and one["executable"]
        ]  # fmt: skip


def known(program):
    """Whether bash knows a command, or finds it in PATH."""
    return subprocess.run(["bash", "-c", 'type -- "$1"', "-", program], capture_output=True).returncode == 0


@functools.cache
def lists(program, *arguments):
    return ": test" in read(program, *arguments, "--list")


def read(*command):
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout


def split(words, separator):
    place = words.index(separator) if separator in words else len(words)
    return words[:place], words[place + 1 :]


def value(words, option):
    """The value of an option, if the words have it."""
    return words[words.index(option) + 1] if option in words else None


def positional(words, options):
    """The words that are neither options nor the values of these options."""
    return [
        word for place, word in enumerate(words)
        if not word.startswith("-") and not (place and words[place - 1] in options)
    ]  # fmt: skip
