"""Tests of infra/deploy.py, on SAM's own parser and commands, with stand-ins for AWS and the compiler."""

import ast
import contextlib
import http.server
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import tomllib
import unittest
import urllib.parse
from unittest import mock

import check
from longest import DEPLOY
from samcli.commands.build.command import cli as sam_build
from samcli.commands.deploy.command import cli as sam_deploy

PARAMETERS = check.read("template.yaml")["Parameters"]
DEFAULTS = {name: str(parameter["Default"]) for name, parameter in PARAMETERS.items()}
DEV = {**DEFAULTS, "Environment": "dev", "TableDeletionProtection": "false"}
MAY_BE_EMPTY = [
    name
    for name, parameter in PARAMETERS.items()
    if "AllowedValues" not in parameter and parameter["Type"] == "String" and re.search(parameter.get("AllowedPattern", ""), "")
]
# What shells, YAML or SAM could change.
VALUES = [
    "", " ", "a b", "DE,AT", "0012", "1e3", "null", "yes", "~", "[1]", "{a: b}", "# x", "a: b", "K=a b=c", "&a", "*a", "!a",
    "$HOME", "%s", "file://x", "ops@example.com", 'https://example.com/a"b', "a\\b", "a\\", "\t", "a\nb", "Grüße", "😀",
    *map("".join, itertools.chain(*(itertools.product("\\\"' a", repeat=length) for length in range(1, 5)))),
]  # fmt: skip
# Replaces aws, cargo, rustc and, where nothing is deployed, sam. It logs each command.
PROGRAM = """#!/bin/sh
echo "${0##*/} $*" >>calls
case "${0##*/}" in
  aws) /bin/cat "answers/$2" 2>/dev/null || { echo "$REFUSAL" >&2; exit 254; } ;;
  rustc) echo "$LIBRARY" ;;
esac
"""
NO_STACK = "An error occurred (ValidationError): Stack with id rolecall-dev does not exist"


def setUpModule():
    """Makes PROJECT, a folder with the real configuration and parameters, but only one resource, so that SAM is quick."""
    global PROJECT
    PROJECT = pathlib.Path(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    template = (check.ROOT / "template.yaml").read_text()
    template = template[: template.index("\nConditions:")] + "\nResources:\n  Topic:\n    Type: AWS::SNS::Topic\n"
    (PROJECT / "template.yaml").write_text(template)
    for folder in ("infra", "bin", "answers"):
        (PROJECT / folder).mkdir()
    for file in ("samconfig.toml", "infra/deploy.py"):
        (PROJECT / file).write_text((check.ROOT / file).read_text())
    (PROJECT / "program").write_text(PROGRAM)
    (PROJECT / "program").chmod(0o755)
    unittest.enterModuleContext(mock.patch.object(DEPLOY, "ROOT", PROJECT))
    unittest.enterModuleContext(contextlib.chdir(PROJECT))


def on_aws(**answers):
    """Stores what `aws` answers to its commands, and the programs in PATH, and forgets the calls."""
    for file in [*(PROJECT / "answers").iterdir(), *(PROJECT / "bin").iterdir()]:
        file.unlink()
    for command, answer in answers.items():
        (PROJECT / "answers" / command.replace("_", "-")).write_text(json.dumps(answer))
    for program in DEPLOY.PROGRAMS:
        (PROJECT / "bin" / program).symlink_to(PROJECT / "program")
    (PROJECT / "calls").write_text("")


def command(*arguments, **variables):
    """Runs infra/deploy.py and returns the result and the calls of programs."""
    environment = {"PATH": str(PROJECT / "bin"), "LIBRARY": str(PROJECT), "REFUSAL": NO_STACK, "HOME": str(PROJECT), **variables}
    result = subprocess.run(
        [sys.executable, "-B", "infra/deploy.py", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return result, (PROJECT / "calls").read_text().splitlines()


def stack(parameters, status="UPDATE_COMPLETE"):
    found = [{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()]
    return {"Stacks": [{"StackStatus": status, "Parameters": found}]}


def account(concurrent=1000):
    limit = {"ConcurrentExecutions": concurrent, "TotalCodeSize": 80_000_000_000}
    return {"AccountLimit": limit, "AccountUsage": {"TotalCodeSize": 0}}


def read_by_sam(arguments):
    """Returns the parameters that SAM reads from a command line."""
    cli = {"build": sam_build, "deploy": sam_deploy}[arguments[1]]
    return cli.make_context(arguments[1], list(arguments[2:])).params["parameter_overrides"]


class Aws(http.server.BaseHTTPRequestHandler):
    """Answers SAM until it creates a change set, and keeps that."""

    def do_HEAD(self):
        # SAM uploads nothing that is already in its bucket.
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"])).decode()
        request = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        action, name = request["Action"], request.get("StackName")
        found = "<StackStatus>UPDATE_COMPLETE</StackStatus><CreationTime>2026-01-01T00:00:00Z</CreationTime>"
        if name == "aws-sam-cli-managed-default":
            found += "<Outputs><member><OutputKey>SourceBucket</OutputKey><OutputValue>bucket</OutputValue></member></Outputs>"
            found += "<Tags><member><Key>ManagedStackSource</Key><Value>AwsSamCli</Value></member></Tags>"
        if action == "CreateChangeSet":
            self.server.change_set = request
            self.answer(400, "<Error><Code>ValidationError</Code><Message>This is far enough</Message></Error>")
        elif action == "GetCallerIdentity":
            self.answer(200, f"<{action}Result><Account>123456789012</Account></{action}Result>")
        elif action == "GetTemplateSummary":
            names = "".join(f"<member><ParameterKey>{name}</ParameterKey></member>" for name in DEFAULTS)
            self.answer(200, f"<{action}Result><Parameters>{names}</Parameters></{action}Result>")
        elif name in self.server.stacks:
            self.answer(200, f"<{action}Result><Stacks><member>{found}</member></Stacks></{action}Result>")
        else:
            message = f"<Message>Stack with id {name} does not exist</Message>"
            self.answer(400, f"<Error><Code>ValidationError</Code>{message}</Error>")

    def answer(self, status, text):
        body = f"<Response>{text}</Response>".encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Commands(unittest.TestCase):
    """The real `sam build` and `sam deploy`, up to the change set."""

    def setUp(self):
        self.aws = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Aws)
        self.aws.stacks = {"aws-sam-cli-managed-default"}
        threading.Thread(target=self.aws.serve_forever, daemon=True).start()
        self.addCleanup(self.aws.server_close)
        self.addCleanup(self.aws.shutdown)
        self.variables = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.aws.server_port}",
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_MAX_ATTEMPTS": "1",
            # SAM alone does not know this variable.
            "AWS_REGION": "eu-central-1",
            "SAM_CLI_TELEMETRY": "0",
        }

    def deploy(self, *arguments, **answers):
        """Deploys with the real SAM, and returns the change set's type and parameters."""
        on_aws(get_account_settings=account(), **answers)
        (PROJECT / "bin/sam").unlink()
        (PROJECT / "bin/sam").symlink_to(pathlib.Path(sys.executable).parent / "sam")
        result, calls = command(*arguments, **self.variables)
        self.assertIn("This is far enough", result.stderr)
        self.assertEqual(result.stderr.splitlines()[-1], "sam deploy failed.")
        self.assertEqual(calls[-1], "cargo build --bin rolecall-admin")
        request = self.aws.change_set
        keys = [key for key in request if key.endswith(".ParameterKey")]
        given = {request[key]: request[key.removesuffix("Key") + "Value"] for key in keys}
        self.assertRegex(given["Release"], "^[0-9a-f]{10}$")
        return request["ChangeSetType"], given

    def test_the_first_deployment(self):
        kind, given = self.deploy("dev", 'SecurityPolicyUrl=https://example.com/a"b\\', "CallCountries=DE,AT")
        expected = {**DEV, "SecurityPolicyUrl": 'https://example.com/a"b\\', "CallCountries": "DE,AT"}
        self.assertEqual((kind, given), ("CREATE", {**expected, "Release": given["Release"]}))

    def test_an_update_that_empties_parameters(self):
        self.aws.stacks.add("rolecall-dev")
        before = {**DEV, **dict.fromkeys(MAY_BE_EMPTY, "x"), "Release": "0" * 10, "SealingKeyId": "2", "Removed": "x"}
        emptied = dict.fromkeys(set(MAY_BE_EMPTY) - set(DEPLOY.RELEASES), "")
        overrides = {**emptied, "AlarmEmail": "'Ops \"\\ ' <a b@example.com>'"}
        kind, given = self.deploy(
            "dev", *(f"{name}={value}" for name, value in overrides.items()), describe_stacks=stack(before)
        )
        expected = {**DEV, "SealingKeyId": "2", **overrides, "PreviousRelease": "0" * 10}
        self.assertEqual((kind, given), ("UPDATE", {**expected, "Release": given["Release"]}))

    def test_what_guided_leaves_in_samconfig(self):
        original = (PROJECT / "samconfig.toml").read_text()
        self.addCleanup((PROJECT / "samconfig.toml").write_text, original)
        sam = [pathlib.Path(sys.executable).parent / "sam", "deploy", "--guided", "--config-env", "dev"]
        answers = "\n" * 2 + "\n".join("DE" if name == "CallCountries" else "" for name in DEFAULTS) + "\n" * 10
        variables = {**self.variables, "AWS_DEFAULT_REGION": "eu-west-1", "HOME": str(PROJECT)}
        subprocess.run(sam, env=variables, input=answers, capture_output=True, text=True, check=False)
        written = tomllib.loads((PROJECT / "samconfig.toml").read_text())["dev"]["deploy"]["parameters"]
        self.assertIn('Release="" PreviousRelease="" ', written["parameter_overrides"])
        with mock.patch.dict(os.environ):
            name, parameters = DEPLOY.configuration("dev")
            self.assertEqual(os.environ["AWS_DEFAULT_REGION"], "eu-west-1", "SAM deploys to this region")
        self.assertEqual((name, parameters), ("rolecall-dev", {"CallCountries": "DE", "TableDeletionProtection": "false"}))

    def test_a_rollback(self):
        resource = {"ResourceType": "AWS::Lambda::Alias", "PhysicalResourceId": "arn:aws:lambda:r:1:function:one:live"}
        versions = [{"Version": number, "Description": f"Roles. {number * 10}"} for number in "789"]
        on_aws(
            describe_stacks=stack({**DEV, "PreviousRelease": "8" * 10}),
            list_stack_resources={"StackResourceSummaries": [resource]},
            list_versions_by_function={"Versions": versions},
            update_alias={},
        )
        for program in set(DEPLOY.PROGRAMS) - {"aws"}:
            (PROJECT / "bin" / program).unlink()
        result, calls = command("dev", "--rollback")
        self.assertEqual((result.returncode, result.stdout), (0, f"1 functions are back on release {'8' * 10}.\n"))
        self.assertIn("--name live --function-version 8 ", calls[-1])


class Refusals(unittest.TestCase):
    """Each is one line that says what to do, before anything is built."""

    def refused(self, expected, *arguments, missing=None, answers=None, **variables):
        on_aws(**{"get_account_settings": account(), **(answers or {})})
        if missing:
            (PROJECT / "bin" / missing).unlink()
        result, calls = command(*arguments, **variables)
        self.assertRegex(result.stderr.removesuffix("\n"), f"^{expected}$")
        self.assertEqual(result.returncode, 1)
        self.assertFalse([call for call in calls if call.startswith(("sam", "cargo"))])

    def test_what_is_missing(self):
        for program in DEPLOY.PROGRAMS:
            self.refused(f"{program} is not in PATH: install .*", "dev", missing=program)
        self.refused("aws is not in PATH: install .*", "dev", "--rollback", missing="aws")
        self.refused(".* run rustup target add aarch64-unknown-linux-gnu\\.", "dev", LIBRARY="/nowhere")
        self.refused(".* target add x86_64-unknown-linux-gnu\\.", "dev", "Architecture=x86_64", LIBRARY="/nowhere")
        self.refused("prod needs .*: add AlarmEmail=ADDRESS to .*", "prod", REFUSAL=NO_STACK.replace("-dev", "-prod"))
        self.refused("prod needs .*", "prod", "AlarmEmail=", answers={"describe_stacks": stack({"AlarmEmail": "a@b.example"})})

    def test_an_account_that_cannot_be_used(self):
        for reason in ("Unable to locate credentials.", "You must specify a region.", "The role does not exist"):
            for arguments in (["dev"], ["dev", "--rollback"]):
                self.refused(f"rolecall-dev .* AWS_PROFILE and AWS_DEFAULT_REGION: .*: {reason}", *arguments, REFUSAL=reason)
        rolled_back = {"describe_stacks": stack({}, "ROLLBACK_COMPLETE")}
        self.refused("rolecall-dev .*: aws cloudformation delete-stack --stack-name rolecall-dev", "dev", answers=rolled_back)
        self.refused("The account has 9 concurrent executions .*", "dev", answers={"get_account_settings": account(9)})

    def test_parameters(self):
        for name in ("CallCountry", "Release", "$include"):
            self.refused(f"{re.escape(name)} is not a parameter of template.yaml that can be set\\.", "dev", f"{name}=x")
        self.refused("Environment must be one of dev, stage, prod\\.", "dev", "Environment=qa")
        self.refused(".*Concurrency must be a number\\.", "dev", "OauthConcurrency=many")

    def test_arguments(self):
        for arguments, expected in [
            ([], "the following arguments are required: environment"),
            (["staging"], "argument environment: invalid choice: 'staging' \\(choose from '?dev'?, '?stage'?, '?prod'?\\)"),
            (["default"], "argument environment: invalid choice: 'default' .*"),
            (["dev", "CallCountries"], "CallCountries is not NAME=VALUE"),
        ]:
            result, _ = command(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr.splitlines()[-1], f"^deploy.py: error: {expected}$")

    def test_a_configuration_that_is_not_valid(self):
        original = (PROJECT / "samconfig.toml").read_text()
        self.addCleanup((PROJECT / "samconfig.toml").write_text, original)
        for changed, expected in [
            (original + "[dev", "samconfig.toml is not valid: .*"),
            (original.replace('"rolecall-stage"', f'"{"s" * 19}"'), "The stack_name of stage .* more than 18 characters\\."),
            *(
                (original.replace('["Environment=stage"]', overrides), "The parameter_overrides of stage .* NAME=VALUE\\.")
                for overrides in ('["Environment"]', "[1]", "'Environment=\"stage'", '{Environment = "stage"}')
            ),
        ]:
            self.assertNotEqual(changed, original)
            (PROJECT / "samconfig.toml").write_text(changed)
            self.refused(expected, "stage")

    def test_an_older_python(self):
        source = (PROJECT / "infra/deploy.py").read_text()
        ast.parse(source, feature_version=(3, 7))
        older = "import sys; sys.version = '3.10.1 (main)'; sys.version_info = (3, 10, 1); sys.modules['tomllib'] = None\n"
        result = subprocess.run([sys.executable, "-c", older + source], capture_output=True, text=True, check=False)
        expected = "infra/deploy.py needs Python 3.11 or newer: run it with python3.11 instead of 3.10.1.\n"
        self.assertEqual((result.stderr, result.returncode), (expected, 1))


class Parameters(unittest.TestCase):
    def test_the_defaults_are_those_of_the_template(self):
        self.assertEqual(DEPLOY.template_defaults(), DEFAULTS)

    def test_sam_reads_every_value_unchanged(self):
        self.assertGreater(len(VALUES), 700)
        given = {f"Name{number}": value for number, value in enumerate(VALUES)}
        read = []
        with mock.patch.object(DEPLOY, "run", lambda *arguments: read.append(read_by_sam(arguments))):
            for name in ("build", "deploy"):
                DEPLOY.sam(name, "dev", given)
        self.assertEqual(read, [given, given])

    def test_values_in_samconfig_are_read_in_both_forms(self):
        original = (PROJECT / "samconfig.toml").read_text()
        self.addCleanup((PROJECT / "samconfig.toml").write_text, original)
        for overrides, expected in [
            ("'Environment=\"stage\" AlarmEmail=\"a b\" CallCountries=US'", {"AlarmEmail": "a b", "CallCountries": "US"}),
            ('["Environment=stage", "AlarmEmail=a b", "CallCountries=US"]', {"AlarmEmail": "a b", "CallCountries": "US"}),
            ("'Release=0123456789 PreviousRelease=\"\" AlarmEmail=a CallCountries=US'", {"AlarmEmail": "a"}),
            ("[]", {}),
        ]:
            (PROJECT / "samconfig.toml").write_text(original.replace('["Environment=stage"]', overrides))
            _, parameters = DEPLOY.configuration("stage")
            parameters.pop("Environment", None)
            self.assertEqual(parameters, expected)
        (PROJECT / "samconfig.toml").write_text(original.replace('parameter_overrides = ["Environment=stage"]', ""))
        self.assertEqual(DEPLOY.configuration("stage"), ("rolecall-stage", {}))


class Deployment(unittest.TestCase):
    def test_a_half_filled_service_is_off(self):
        keys = DEPLOY.SERVICES["Vapi"] + DEPLOY.SERVICES["X"]
        whole = dict.fromkeys(keys, "value")
        with mock.patch("builtins.print") as printed:
            self.assertEqual(DEPLOY.whole_services(whole), {"Vapi": "true", "X": "true"})
            empty = {**whole, **dict.fromkeys(DEPLOY.SERVICES["X"], "")}
            self.assertEqual(DEPLOY.whole_services(empty), {"Vapi": "true", "X": "false"})
            printed.assert_not_called()
            for key in DEPLOY.SERVICES["Vapi"]:
                self.assertEqual(DEPLOY.whole_services({**whole, key: ""}), {"Vapi": "false", "X": "true"}, key)
                self.assertIn(key, printed.call_args.args[0])

    def test_a_value_of_a_service_that_is_too_long_is_refused(self):
        for key in DEPLOY.SERVICES["Vapi"] + DEPLOY.SERVICES["X"]:
            whole = dict.fromkeys(DEPLOY.SERVICES["Vapi"] + DEPLOY.SERVICES["X"], "x" * 200)
            self.assertEqual(DEPLOY.whole_services(whole), {"Vapi": "true", "X": "true"})
            with self.assertRaisesRegex(DEPLOY.Refused, f"{key} of the services secret must have at most 200 characters"):
                DEPLOY.whole_services({**whole, key: "x" * 201})

    def test_the_quotas(self):
        def check_with(environment="prod", concurrent=1000, free=DEPLOY.RELEASE_SIZE, **parameters):
            limit = {"ConcurrentExecutions": concurrent, "TotalCodeSize": 100 + free}
            settings = {"AccountLimit": limit, "AccountUsage": {"TotalCodeSize": 100}}
            DEPLOY.check_quotas({"Environment": environment, **parameters}, settings)

        check_with()
        check_with("dev", concurrent=10)
        check_with(concurrent=1000, OauthConcurrency="500", CareersConcurrency="400")
        for refused in [
            {"concurrent": 999},
            {"free": DEPLOY.RELEASE_SIZE - 1},
            {"concurrent": 1000, "OauthConcurrency": "500", "CareersConcurrency": "401"},
        ]:
            with self.assertRaises(DEPLOY.Refused, msg=refused):
                check_with(**refused)

    def play(self, before, overrides, fails=None):
        """Deploys prod with fake commands. Returns those of SAM with the parameters, and the others."""
        commands = []
        secret = dict.fromkeys(DEPLOY.SERVICES["Vapi"], "v") | {"x_client_id": "v", "x_client_secret": ""}

        def aws(service, command, *rest):
            match command:
                case "describe-stacks":
                    outputs = {"ApiUrl": "https://x.example", **{name: name.lower() for name in DEPLOY.OWN_SECRETS}}
                    found = stack(before)
                    found["Stacks"][0]["Outputs"] = [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()]
                    return found
                case "get-account-settings":
                    return account()
                case "get-secret-value":
                    return {"SecretString": json.dumps(secret)}
                case "describe-secret":
                    return {"VersionIdsToStages": {f"{rest[1]}-2": ["AWSCURRENT"], f"{rest[1]}-1": ["AWSPREVIOUS"]}}

        def run(*command):
            commands.append((*command[:2], read_by_sam(command)) if command[0] == "sam" else command)
            if command[:2] == fails:
                raise DEPLOY.Refused("failed")

        fakes = {"aws": aws, "run": run, "digest": lambda folder: "build", "has_library": lambda target: True}
        with mock.patch.multiple(DEPLOY, require=mock.Mock(), **fakes), mock.patch("builtins.print"):
            try:
                DEPLOY.deploy("prod", overrides)
            except DEPLOY.Refused:
                pass
        return commands

    def test_a_deployment(self):
        before = {**DEFAULTS, "Environment": "prod", "Release": "0" * 10, "AlarmEmail": "a@b.example", "Removed": "x"}
        overrides = {"ServicesSecretArn": "arn", "CallCountries": "DE"}
        compile_smoke, build, deploy, smoke = self.play(before, overrides)
        # samconfig.toml reserves concurrency for the career pages.
        expected = {**before, "CareersConcurrency": "100", **overrides}
        del expected["Removed"]
        self.assertEqual(build, ("sam", "build", expected))
        release = deploy[2]["Release"]
        self.assertRegex(release, "^[0-9a-f]{10}$")
        self.assertEqual(deploy, ("sam", "deploy", {**expected, "X": "false", "Release": release, "PreviousRelease": "0" * 10}))
        self.assertEqual(compile_smoke, ("cargo", "build", "--bin", "rolecall-admin"))
        self.assertEqual(smoke, ("cargo", "run", "--quiet", "--bin", "rolecall-admin", "--", "smoke", "https://x.example"))

    def test_a_complete_service_can_be_switched_off(self):
        before = {**DEFAULTS, "AlarmEmail": "a@b.example", "ServicesSecretArn": "arn"}
        for overrides, expected in [({"Vapi": "false"}, "false"), ({"Vapi": "true"}, "true"), ({}, "true")]:
            self.assertEqual(self.play({**before, "Vapi": "false"}, overrides)[2][2]["Vapi"], expected, overrides)

    def test_nothing_follows_a_failed_step(self):
        for step, fails in enumerate([("cargo", "build"), ("sam", "build"), ("sam", "deploy")], 1):
            self.assertEqual(len(self.play({"AlarmEmail": "a@b.example"}, {}, fails)), step, fails)

    def test_the_same_release_keeps_the_one_before(self):
        first = self.play({}, {"AlarmEmail": "a@b.example"})[2][2]
        before = {**first, "PreviousRelease": "1" * 10}
        self.assertEqual(self.play(before, {})[2], ("sam", "deploy", before), "nothing has changed")

    def test_the_build_is_its_files(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "RolesFunction").mkdir()
            file = folder / "RolesFunction/bootstrap"
            file.write_bytes(b"one")
            one = DEPLOY.digest(folder)
            self.assertEqual(one, DEPLOY.digest(folder))
            file.write_bytes(b"two")
            self.assertNotEqual(one, DEPLOY.digest(folder))
            file.write_bytes(b"one")
            file.rename(folder / "RolesFunction/other")
            self.assertNotEqual(one, DEPLOY.digest(folder))

    def test_a_rollback_moves_all_aliases_or_none(self):
        new, old, never = "b" * 10, "a" * 10, "c" * 10
        versions = [
            {"Version": "$LATEST", "Description": f"Roles. {old}"},
            {"Version": "7", "Description": f"Roles. {old}"},
            {"Version": "8", "Description": f"Roles. {never}"},
            {"Version": "9", "Description": f"Roles. {new}"},
        ]
        updates = []

        def aws(service, command, *rest):
            match command:
                case "describe-stacks":
                    return stack({"PreviousRelease": previous})
                case "list-stack-resources":
                    arns = [f"arn:aws:lambda:r:1:function:{name}:live" for name in ("one", "two")]
                    return {
                        "StackResourceSummaries": [
                            {"ResourceType": "AWS::Lambda::Alias", "PhysicalResourceId": arn} for arn in arns
                        ]
                    }
                case "list-versions-by-function":
                    return {"Versions": versions if rest[1].endswith("one") else second}
                case "update-alias":
                    updates.append((rest[1].rsplit(":", 1)[1], rest[3], rest[5]))
            return None

        with mock.patch.object(DEPLOY, "aws", aws), mock.patch("builtins.print"):
            previous, second = old, versions[-1:]
            with self.assertRaisesRegex(DEPLOY.Refused, "No version of release a+ is left of .*two"):
                DEPLOY.roll_back("prod")
            self.assertEqual(updates, [])
            second = versions
            DEPLOY.roll_back("prod")
            self.assertEqual(updates, [("one", "live", "7"), ("two", "live", "7")])
            previous = ""
            with self.assertRaisesRegex(DEPLOY.Refused, "no release before"):
                DEPLOY.roll_back("prod")


if __name__ == "__main__":
    unittest.main()
