#!/usr/bin/env python3
"""Deploys an environment of samconfig.toml, or moves its functions back to the release before.

    python3 infra/deploy.py ENVIRONMENT [NAME=VALUE...]
    python3 infra/deploy.py ENVIRONMENT --rollback

NAME=VALUE sets a parameter of template.yaml. A parameter that is not set keeps its value. It needs Python 3.11, and
`aws`, `sam`, `cargo` and `cargo lambda` in PATH.
"""

import sys

# Older versions lack tomllib, but can read this file.
if sys.version_info < (3, 11):
    sys.exit(f"infra/deploy.py needs Python 3.11 or newer: run it with python3.11 instead of {sys.version.split()[0]}.")

import argparse
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / ".aws-sam/build"
# The parameters that are computed here.
RELEASES = ["Release", "PreviousRelease"]
OWN_SECRETS = ["SigningSecret", "CredentialSecret", "SealingSecret"]
GIVEN_SECRETS = ["ServicesSecretArn", "OriginSecretArn"]
SERVICES = {
    "Vapi": ["vapi_api_key", "vapi_phone_number_id", "vapi_webhook_secret", "vapi_credential_id"],
    "X": ["x_client_id", "x_client_secret"],
}
PINNED = "install .ci/requirements.txt as README.md says, and add .venv/bin to PATH"
# The programs that a deployment runs, and how to get them.
PROGRAMS = {
    "aws": "install the AWS CLI from https://aws.amazon.com/cli",
    "sam": PINNED,
    "cargo": "install Rust from https://rustup.rs",
    "rustc": "install Rust from https://rustup.rs",
    "cargo-lambda": PINNED,
}
# The longest name of a stack. CloudFormation shortens a longer one in the names of roles, which have 64 characters.
LONGEST_NAME = 18
# The longest value of a key in the services secret. Functions have room for 4 KB of variables.
LONGEST_SECRET = 200
# A parameter of template.yaml. Each has a default.
PARAMETER = re.compile(r"^  (\w+):\n(?:    .*\n)+?    Default: (.*)$", re.MULTILINE)
# Lambda keeps this many concurrent executions for functions that reserve none.
UNRESERVED = 100
# What an environment needs at least. A new account may have 10.
CONCURRENCY = {"dev": 10, "stage": 10, "prod": 1000}
# More than the code of all functions, in bytes. Lambda keeps it until the versions are deleted.
RELEASE_SIZE = 1_000_000_000


class Refused(Exception):
    """Why there is no deployment."""


def aws(*arguments):
    """Runs the AWS CLI and returns its answer."""
    command = ["aws", *arguments, "--output", "json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Refused(f"aws {' '.join(arguments[:2])} failed: {result.stderr.strip()}")
    return json.loads(result.stdout or "null")


def require(*programs):
    """Refuses to start without these programs."""
    for program in programs:
        if not shutil.which(program):
            raise Refused(f"{program} is not in PATH: {PROGRAMS[program]}.")


def environments():
    """Returns the settings of `sam deploy` for each environment in samconfig.toml, without SAM's own, `default`."""
    try:
        config = tomllib.loads((ROOT / "samconfig.toml").read_text())
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"samconfig.toml is not valid: {error}.") from error
    merged = {}
    for name, commands in config.items():
        if isinstance(commands, dict) and name != "default":
            sections = [commands.get(command, {}).get("parameters", {}) for command in ("global", "deploy")]
            merged[name] = {**sections[0], **sections[1]}
    return {name: settings for name, settings in merged.items() if "stack_name" in settings}


def template_defaults():
    """Returns the default of each parameter of template.yaml."""
    return {name: value.strip("'") for name, value in PARAMETER.findall((ROOT / "template.yaml").read_text())}


def configuration(environment):
    """Returns the environment's stack name and parameters in samconfig.toml, and selects its region and profile."""
    settings = environments()[environment]
    # SAM prefers this region to the variables, and does not know AWS_REGION.
    region = settings.get("region") or os.environ.get("AWS_REGION")
    if region:
        os.environ.update(AWS_REGION=region, AWS_DEFAULT_REGION=region)
    if "profile" in settings:
        os.environ["AWS_PROFILE"] = settings["profile"]
    items = settings.get("parameter_overrides", [])
    try:
        parameters = dict(item.split("=", 1) for item in (shlex.split(items) if isinstance(items, str) else items))
    except (AttributeError, ValueError) as error:
        raise Refused(f"The parameter_overrides of {environment} in samconfig.toml must be NAME=VALUE.") from error
    if "Release" in parameters:
        # `sam deploy --guided` writes all parameters, so a default here is not a choice.
        defaults = template_defaults()
        parameters = {name: value for name, value in parameters.items() if value != defaults.get(name)}
    stack_name = settings["stack_name"]
    if len(stack_name) > LONGEST_NAME:
        raise Refused(f"The stack_name of {environment} in samconfig.toml has more than {LONGEST_NAME} characters.")
    return stack_name, {name: value for name, value in parameters.items() if name not in RELEASES}


def stack(name):
    """Returns the parameters and outputs of a stack. Both are empty before the first deployment."""
    try:
        found = aws("cloudformation", "describe-stacks", "--stack-name", name)["Stacks"][0]
    except Refused as error:
        if f"{name} does not exist" in str(error):
            return {}, {}
        raise Refused(
            f"{name} cannot be looked up; choose the account and the region with AWS_PROFILE and AWS_DEFAULT_REGION: {error}"
        ) from error
    if found["StackStatus"].startswith("ROLLBACK_"):
        raise Refused(f"{name} could not be created; delete it first: aws cloudformation delete-stack --stack-name {name}")
    parameters = {item["ParameterKey"]: item["ParameterValue"] for item in found.get("Parameters", [])}
    return parameters, {item["OutputKey"]: item["OutputValue"] for item in found.get("Outputs", [])}


def has_library(target):
    """Returns whether Rust's standard library for a target is installed."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return result.returncode == 0 and pathlib.Path(result.stdout.strip()).is_dir()


def check_parameters(parameters):
    """Refuses what CloudFormation or the compiler would refuse much later."""
    environment = parameters["Environment"]
    numbers = [value for name, value in parameters.items() if name.endswith("Concurrency")]
    target = f"{parameters['Architecture'].replace('arm64', 'aarch64')}-unknown-linux-gnu"
    for met, refusal in [
        (environment in CONCURRENCY, f"Environment must be one of {', '.join(CONCURRENCY)}."),
        (all(value.isdecimal() for value in numbers), "Every parameter ...Concurrency must be a number."),
        (
            environment != "prod" or parameters["AlarmEmail"],
            "prod needs an e-mail address for alarms: add AlarmEmail=ADDRESS to the command or to samconfig.toml.",
        ),
        (has_library(target), f"Rust cannot build the functions for {target}: run rustup target add {target}."),
    ]:
        if not met:
            raise Refused(refusal)


def check_quotas(parameters, settings):
    """Refuses a deployment that the account has no room for."""
    environment = parameters["Environment"]
    concurrent = settings["AccountLimit"]["ConcurrentExecutions"]
    reserved = sum(int(value) for name, value in parameters.items() if name.endswith("Concurrency"))
    needed = max(CONCURRENCY[environment], reserved + UNRESERVED if reserved else 0)
    if concurrent < needed:
        raise Refused(
            f"The account has {concurrent} concurrent executions of functions in this region, but {environment} needs "
            f"{needed}. Request more: aws service-quotas request-service-quota-increase --service-code lambda "
            f"--quota-code L-B99A9384 --desired-value {needed}"
        )
    free = settings["AccountLimit"]["TotalCodeSize"] - settings["AccountUsage"]["TotalCodeSize"]
    if free < RELEASE_SIZE:
        raise Refused(
            f"The functions' stored versions leave {free} bytes in this region, but a release may need {RELEASE_SIZE}. "
            f"Delete old versions."
        )


def whole_services(secret):
    """Returns for each service whether all of its keys in the services secret have a value, and prints those that are off."""
    switches = {}
    for service, keys in SERVICES.items():
        long = [key for key in keys if len(secret.get(key) or "") > LONGEST_SECRET]
        if long:
            raise Refused(f"{', '.join(long)} of the services secret must have at most {LONGEST_SECRET} characters.")
        empty = [key for key in keys if not secret.get(key)]
        switches[service] = "false" if empty else "true"
        if empty and len(empty) < len(keys):
            print(f"{service} is off: {', '.join(empty)} of the services secret is empty.")
    return switches


def secret_versions(arns):
    """Returns the ids of the current and the previous version of each secret."""
    versions = {}
    for arn in arns:
        stages = aws("secretsmanager", "describe-secret", "--secret-id", arn)["VersionIdsToStages"]
        used = {stage: version for version, names in stages.items() for stage in names}
        versions[arn] = [used.get(stage) for stage in ("AWSCURRENT", "AWSPREVIOUS")]
    return versions


def digest(folder):
    """Returns a hash of the names and contents of all files in a folder."""
    total = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(file.relative_to(folder)).encode()
        total.update(b"%d %b %b" % (len(name), name, hashlib.sha256(file.read_bytes()).digest()))
    return total.hexdigest()


def release(build, parameters, versions):
    """Returns the release's name. SAM puts its first ten characters into the logical id of each version."""
    parameters = {name: value for name, value in parameters.items() if name not in RELEASES}
    text = json.dumps([build, parameters, versions], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def run(*command):
    """Runs a command and shows its output."""
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise Refused(f"{' '.join(command[:2])} failed.")


def quoted(value):
    """Quotes a value that SAM would not leave alone: it unquotes what it reads from a file, twice."""
    if re.search(r"""^(["'])(.*\1)?$|\\[ "']""", value, re.DOTALL):
        for _ in range(2):
            value = '"' + re.sub(r"""([ "'])""", r"\\\1", value) + '"'
    return value


def sam(command, environment, parameters):
    """Runs `sam build` or `sam deploy` with exactly these parameters, and none of samconfig.toml."""
    # On the command line, SAM refuses empty values and cuts others at a space or a quote.
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({name: quoted(value) for name, value in parameters.items()}, file, ensure_ascii=False)
        file.flush()
        run("sam", command, "--config-env", environment, "--parameter-overrides", f"file://{file.name}")


def deploy(environment, overrides):
    """Builds and deploys an environment, and checks the gateway."""
    require(*PROGRAMS)
    defaults = template_defaults()
    name, configured = configuration(environment)
    for key in [*configured, *overrides]:
        if key not in defaults or key in RELEASES:
            raise Refused(f"{key} is not a parameter of template.yaml that can be set.")
    before, outputs = stack(name)
    kept = {key: value for key, value in before.items() if key in defaults}
    parameters = {**defaults, **kept, **configured, **overrides}
    check_parameters(parameters)
    check_quotas(parameters, aws("lambda", "get-account-settings"))
    # Now, so that the last step cannot fail to compile.
    run("cargo", "build", "--bin", "rolecall-admin")
    sam("build", environment, parameters)
    services = parameters["ServicesSecretArn"]
    if services:
        value = aws("secretsmanager", "get-secret-value", "--secret-id", services)["SecretString"]
        switches = whole_services(json.loads(value))
        # Somebody may switch off a service whose keys are complete.
        chosen = {**configured, **overrides}
        parameters.update({name: "false" if chosen.get(name) == "false" else on for name, on in switches.items()})
    arns = [outputs[key] for key in OWN_SECRETS if key in outputs] + [
        parameters[key] for key in GIVEN_SECRETS if parameters[key]
    ]
    new = release(digest(BUILD), parameters, secret_versions(arns))
    if new != parameters["Release"]:
        parameters["PreviousRelease"] = parameters["Release"]
    parameters["Release"] = new
    print(f"Release {new}, after {parameters['PreviousRelease'] or 'none'}.")
    sam("deploy", environment, parameters)
    url = stack(name)[1]["ApiUrl"]
    run("cargo", "run", "--quiet", "--bin", "rolecall-admin", "--", "smoke", url)


def version_of(release_name, versions):
    """Returns the number of a function's version of a release. SAM ends the description of a version with the release."""
    numbers = [
        int(item["Version"])
        for item in versions
        if item["Version"] != "$LATEST" and item.get("Description", "").split(" ")[-1] == release_name
    ]
    return str(max(numbers)) if numbers else None


def roll_back(environment):
    """Moves the alias of each function to its version of the previous release."""
    require("aws")
    name, _ = configuration(environment)
    previous = stack(name)[0].get("PreviousRelease")
    if not previous:
        raise Refused(f"{name} has no release before this one.")
    resources = aws("cloudformation", "list-stack-resources", "--stack-name", name)["StackResourceSummaries"]
    aliases = [item["PhysicalResourceId"] for item in resources if item["ResourceType"] == "AWS::Lambda::Alias"]
    functions = {arn: aws("lambda", "list-versions-by-function", "--function-name", arn.rsplit(":", 1)[0]) for arn in aliases}
    targets = {arn: version_of(previous, found["Versions"]) for arn, found in functions.items()}
    # All or none: an older function may not know what a newer one writes.
    missing = [arn for arn, version in targets.items() if version is None]
    if missing:
        raise Refused(f"No version of release {previous} is left of {', '.join(missing)}. Deploy the earlier commit.")
    for arn, version in targets.items():
        function, alias = arn.rsplit(":", 1)
        aws(
            "lambda", "update-alias", "--function-name", function, "--name", alias, "--function-version", version,
            "--routing-config", json.dumps({"AdditionalVersionWeights": {}}),
        )  # fmt: skip
    print(f"{len(targets)} functions are back on release {previous}.")


def arguments(words=None):
    """Reads the words of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", choices=environments())
    parser.add_argument("parameters", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--rollback", action="store_true")
    read = parser.parse_args(words)
    wrong = [item for item in read.parameters if "=" not in item]
    if wrong:
        parser.error(f"{wrong[0]} is not NAME=VALUE")
    return read


def main():
    try:
        given = arguments()
        if given.rollback:
            roll_back(given.environment)
        else:
            deploy(given.environment, dict(item.split("=", 1) for item in given.parameters))
    except Refused as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
