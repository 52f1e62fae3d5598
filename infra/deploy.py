#!/usr/bin/env python3
"""Deploys an environment of samconfig.toml, or moves its functions back to the release before.

    python3 infra/deploy.py ENVIRONMENT [NAME=VALUE...]
    python3 infra/deploy.py ENVIRONMENT --rollback

NAME=VALUE sets a parameter of template.yaml. A parameter that is not set keeps its value. It needs `aws`, `sam` and
`cargo lambda` in PATH.
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / ".aws-sam/build"
OWN_SECRETS = ["SigningSecret", "CredentialSecret", "SealingSecret"]
GIVEN_SECRETS = ["ServicesSecretArn", "OriginSecretArn"]
SERVICES = {
    "Vapi": ["vapi_api_key", "vapi_phone_number_id", "vapi_webhook_secret", "vapi_credential_id"],
    "X": ["x_client_id", "x_client_secret"],
}
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


def configuration(environment):
    """Returns the environment's stack name and parameters in samconfig.toml."""
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())
    if environment not in config or "deploy" not in config[environment]:
        known = ", ".join(name for name, value in config.items() if isinstance(value, dict) and "deploy" in value)
        raise Refused(f"samconfig.toml has no environment {environment} to deploy. It has {known}.")
    parameters = dict(item.split("=", 1) for item in config[environment]["deploy"]["parameters"]["parameter_overrides"])
    return config[environment]["global"]["parameters"]["stack_name"], parameters


def stack(name):
    """Returns the parameters and outputs of a stack. Both are empty before the first deployment."""
    try:
        found = aws("cloudformation", "describe-stacks", "--stack-name", name)["Stacks"][0]
    except Refused as error:
        if "does not exist" in str(error):
            return {}, {}
        raise
    parameters = {item["ParameterKey"]: item["ParameterValue"] for item in found.get("Parameters", [])}
    return parameters, {item["OutputKey"]: item["OutputValue"] for item in found.get("Outputs", [])}


def check_quotas(environment, parameters, settings):
    """Refuses a deployment that the account has no room for."""
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
    ignored = {"Release", "PreviousRelease"}
    parameters = {name: value for name, value in parameters.items() if name not in ignored}
    text = json.dumps([build, parameters, versions], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def run(*command):
    """Runs a command and shows its output."""
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise Refused(f"{' '.join(command[:2])} failed.")


def deploy(environment, overrides):
    """Builds and deploys an environment, and checks the gateway."""
    name, configured = configuration(environment)
    before, outputs = stack(name)
    parameters = {**before, **configured, **overrides}
    check_quotas(environment, parameters, aws("lambda", "get-account-settings"))
    run("sam", "build", "--config-env", environment, *architecture(parameters))
    if services := parameters.get("ServicesSecretArn"):
        value = aws("secretsmanager", "get-secret-value", "--secret-id", services)["SecretString"]
        parameters.update(whole_services(json.loads(value)))
    arns = [outputs[key] for key in OWN_SECRETS if key in outputs] + [
        parameters[key] for key in GIVEN_SECRETS if parameters.get(key)
    ]
    new = release(digest(BUILD), parameters, secret_versions(arns))
    if new != before.get("Release"):
        parameters["PreviousRelease"] = before.get("Release", "")
    parameters["Release"] = new
    print(f"Release {new}, after {parameters.get('PreviousRelease') or 'none'}.")
    # SAM passes on the values of parameters that have one already.
    given = [f"{key}={value}" for key, value in parameters.items() if key not in before or before[key] != value]
    run("sam", "deploy", "--config-env", environment, *(["--parameter-overrides", *given] if given else []))
    url = stack(name)[1]["ApiUrl"]
    run("cargo", "run", "--quiet", "--bin", "rolecall-admin", "--", "smoke", url)


def architecture(parameters):
    """Returns what `sam build` has to know of the parameters."""
    value = parameters.get("Architecture")
    return ["--parameter-overrides", f"Architecture={value}"] if value else []


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
    name, _ = configuration(environment)
    previous = stack(name)[0].get("PreviousRelease")
    if not previous:
        raise Refused(f"{name} has no release before this one.")
    resources = aws("cloudformation", "list-stack-resources", "--stack-name", name)["StackResourceSummaries"]
    aliases = [item["PhysicalResourceId"] for item in resources if item["ResourceType"] == "AWS::Lambda::Alias"]
    functions = {arn: aws("lambda", "list-versions-by-function", "--function-name", arn.rsplit(":", 1)[0]) for arn in aliases}
    targets = {arn: version_of(previous, found["Versions"]) for arn, found in functions.items()}
    # All or none: an older function may not know what a newer one writes.
    if missing := [arn for arn, version in targets.items() if version is None]:
        raise Refused(f"No version of release {previous} is left of {', '.join(missing)}. Deploy the earlier commit.")
    for arn, version in targets.items():
        function, alias = arn.rsplit(":", 1)
        aws(
            "lambda", "update-alias", "--function-name", function, "--name", alias, "--function-version", version,
            "--routing-config", json.dumps({"AdditionalVersionWeights": {}}),
        )  # fmt: skip
    print(f"{len(targets)} functions are back on release {previous}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment")
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--rollback", action="store_true")
    arguments = parser.parse_args()
    if wrong := [item for item in arguments.parameters if "=" not in item]:
        parser.error(f"{wrong[0]} is not NAME=VALUE")
    try:
        if arguments.rollback:
            roll_back(arguments.environment)
        else:
            deploy(arguments.environment, dict(item.split("=", 1) for item in arguments.parameters))
    except Refused as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
