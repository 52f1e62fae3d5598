"""Checks what AWS would get: the templates after SAM's transformation, for every environment of samconfig.toml.

SAM's translator runs on this machine. It says what SAM makes of the template, not what AWS does with the result.
"""

import collections
import copy
import functools
import json
import logging
import tomllib
from unittest import mock

import boto3
from cfnlint.api import lint
from cfnlint.config import ManualArgs
from samcli.yamlhelper import yaml_parse
from samtranslator.open_api import open_api
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

import published
from longest import FUNCTION, KINDS, ROOT, SUFFIX, VARIABLE, Longest, Unbounded

logging.disable(logging.WARNING)
PSEUDO = {"AccountId", "NoValue", "NotificationARNs", "Partition", "Region", "StackId", "StackName", "URLSuffix"}
# What a template may have at most. The first three leave room in AWS's quotas of 500 resources, 300 routes with an integration
# each, and 20,480 bytes of permissions of a function. The others are AWS's quotas.
MAX_RESOURCES, MAX_ROUTES, MAX_PERMISSIONS = 260, 220, 4096
MAX_TEMPLATE, MAX_PARAMETERS, MAX_OUTPUTS, MAX_VARIABLES = 1_000_000, 200, 200, 4096
MAX_POLICIES, MAX_INLINE, MAX_TRUST, MAX_GENERATED = 10, 10_240, 2048, 64
MAX_POLICY = {"AWS::IAM::ManagedPolicy": 6144, "AWS::KMS::Key": 32_768, "AWS::S3::BucketPolicy": 20_480}
# The longest name, by the property that has it.
MAX_NAME = {
    ("AWS::Backup::BackupVault", "BackupVaultName"): 50,
    ("AWS::CloudFront::Function", "Name"): 64,
    ("AWS::CloudWatch::Dashboard", "DashboardName"): 255,
    ("AWS::IAM::ManagedPolicy", "Description"): 1000,
    ("AWS::IAM::ManagedPolicy", "ManagedPolicyName"): 128,
    ("AWS::KMS::Key", "Description"): 8192,
    ("AWS::Lambda::Function", "Description"): 256,
    ("AWS::Lambda::Function", "FunctionName"): 64,
    ("AWS::Logs::LogGroup", "LogGroupName"): 512,
    ("AWS::Logs::QueryDefinition", "Name"): 255,
    ("AWS::SecretsManager::Secret", "Description"): 2048,
    ("AWS::SecretsManager::Secret", "Name"): 512,
}


def read(path):
    """Reads a template."""
    return yaml_parse((ROOT / path).read_text())


def translated(template, parameters):
    """Returns a template after SAM's transformation with these values of parameters."""
    template = copy.deepcopy(template)
    if "Transform" not in template:
        return template
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            # As long as SAM's own names of its bucket and of a build.
            resource["Properties"]["CodeUri"] = f"s3://{'b' * 63}/{'k' * 64}"
    # The translator asks only for the name of the region.
    session = boto3.Session(region_name="us-east-1")
    # It copies the API's whole document for every route, which takes most of the time. The document is only used here.
    with mock.patch.object(open_api, "_deepcopy", lambda document: document):
        return Translator({}, Parser(), boto_session=session).translate(template, parameters)


def linted(template):
    """Returns what cfn-lint finds in a translated template, as (rule, message). It no longer translates templates itself."""
    # Paths of nested stacks that `sam deploy` uploads, parameters of SAM's transformation, and the stream of no table.
    config = ManualArgs(ignore_checks=["W3002", "W2001", "W1030"], regions=["us-east-1"])
    return sorted({(match.rule.id, match.message) for match in lint(json.dumps(template), config=config)})


def references(node, local=frozenset()):
    """Yields the names to which Ref, GetAtt, Sub, If, Condition and DependsOn refer, as (kind, name, attribute)."""
    if isinstance(node, list):
        for item in node:
            yield from references(item, local)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "Ref":
                yield "ref", value, None
            elif key == "Fn::GetAtt":
                name, attribute = value.split(".", 1) if isinstance(value, str) else (value[0], value[1])
                yield "attribute", name, attribute
            elif key == "Fn::Sub":
                text, variables = value if isinstance(value, list) else (value, {})
                yield from references(variables, local)
                for name in VARIABLE.findall(text):
                    if name not in variables:
                        logical, _, attribute = name.partition(".")
                        yield ("attribute", logical, attribute) if attribute else ("ref", name, None)
            elif key == "Fn::If":
                yield "condition", value[0], None
                yield from references(value[1:], local)
            elif key == "Condition" and isinstance(value, str):
                yield "condition", value, None
            elif key == "DependsOn":
                for name in [value] if isinstance(value, str) else value:
                    yield "resource", name, None
            else:
                yield from references(value, local)


def problem_of(reference, template, outputs):
    """Returns what is wrong with a reference, or None. `outputs` has those of the nested stacks."""
    kind, name, attribute = reference
    resources = template["Resources"]
    if kind == "condition":
        return None if name in template.get("Conditions", {}) else f"the condition {name} does not exist"
    if name.startswith("AWS::"):
        return None if name.removeprefix("AWS::") in PSEUDO else f"{name} does not exist"
    if kind == "ref" and name in template.get("Parameters", {}):
        return None
    if name not in resources:
        return f"{name} is not a resource" + ("" if kind != "ref" else " or a parameter")
    if kind != "attribute":
        return None
    of_kind = resources[name]["Type"]
    if of_kind == "AWS::CloudFormation::Stack":
        known = {f"Outputs.{output}" for output in outputs[name]}
    else:
        _, known = KINDS.get(of_kind, (None, {}))
    return None if attribute in known else f"{name} ({of_kind}) has no attribute {attribute} that is known"


def circle(resources):
    """Returns the names of resources that depend on each other in a circle, or None."""
    edges = {
        name: {found for _, found, _ in references(resource) if found in resources and found != name}
        for name, resource in resources.items()
    }
    done = set()

    def visit(name, path):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        for following in sorted(edges[name]):
            if found := visit(following, [*path, name]):
                return found
        done.add(name)
        return None

    return next((found for name in sorted(edges) if (found := visit(name, []))), None)


def sizes(template, longest):
    """Yields what AWS limits in a translated template: what it is, of which resource, its size and its limit."""
    yield "resources", "the template", len(template["Resources"]), MAX_RESOURCES
    yield "bytes", "the template", len(json.dumps(template)), MAX_TEMPLATE
    yield "parameters", "the template", len(template.get("Parameters", {})), MAX_PARAMETERS
    yield "outputs", "the template", len(template.get("Outputs", {})), MAX_OUTPUTS
    permissions = {}
    for name, resource in template["Resources"].items():
        kind, properties = resource["Type"], resource.get("Properties", {})
        for (of_kind, key), most in MAX_NAME.items():
            if kind == of_kind and key in properties:
                yield f"characters of the {key}", name, len(longest.text(properties[key])), most
        if kind in ("AWS::IAM::Role", "AWS::Lambda::Function") and not {"FunctionName", "RoleName"} & properties.keys():
            # CloudFormation would shorten the stack's name, and policies with `${AWS::StackName}-*` would not match.
            yield "characters of the generated name", name, len(f"{longest.stack}-{name}{SUFFIX}"), MAX_GENERATED
        if kind == "AWS::Lambda::Permission":
            permissions.setdefault(properties["FunctionName"]["Ref"], []).append(statement(name, properties, longest))
        elif kind == "AWS::Lambda::Function":
            variables = properties.get("Environment", {}).get("Variables", {})
            size = sum(len(key) + len(longest.text(value)) for key, value in variables.items())
            yield "bytes of variables", name, size, MAX_VARIABLES
        elif kind == "AWS::IAM::Role":
            yield "managed policies", name, len(properties.get("ManagedPolicyArns", [])), MAX_POLICIES
            inline = sum(len(longest.text(policy["PolicyDocument"])) for policy in properties.get("Policies", []))
            yield "bytes of inline policies", name, inline, MAX_INLINE
            yield "bytes of the trust policy", name, len(longest.text(properties["AssumeRolePolicyDocument"])), MAX_TRUST
        elif kind in MAX_POLICY:
            yield "bytes of the policy", name, len(longest.text(properties.get("PolicyDocument", properties.get("KeyPolicy")))), MAX_POLICY[kind]
        elif kind == "AWS::ApiGatewayV2::Api":
            yield "routes", name, sum(map(len, properties["Body"]["paths"].values())), MAX_ROUTES
    for function, found in permissions.items():
        yield "permissions", function, len(found), 1
        size = len(json.dumps({"Version": "2012-10-17", "Id": "default", "Statement": found}, separators=(",", ":")))
        yield "bytes of permissions", function, size, MAX_PERMISSIONS


def statement(name, properties, longest):
    """Returns a permission as Lambda stores it."""
    return {
        "Sid": f"{longest.stack}-{name}-{'x' * 12}",
        "Effect": "Allow",
        "Principal": {"Service": properties["Principal"]},
        "Action": properties["Action"],
        "Resource": f"{FUNCTION}:live",
        "Condition": {"ArnLike": {"AWS:SourceArn": longest.text(properties["SourceArn"])}},
    }


def limits(template, longest):
    """Yields which limits a translated template exceeds."""
    try:
        for what, name, size, most in sizes(template, longest):
            if size > most:
                yield f"{size} {what} of {name} are more than {most}"
    except Unbounded as error:
        yield str(error)


def problems(template, load, longest=None):
    """Yields what is wrong with a translated template and the templates of its nested stacks, which `load` reads."""
    longest = longest or Longest(template)
    outputs = {}
    for name, resource in template["Resources"].items():
        if resource["Type"] != "AWS::CloudFormation::Stack":
            continue
        nested, inside = load(resource["Properties"]["TemplateURL"])
        if "Transform" in nested:
            yield f"{name} has a macro, which needs CAPABILITY_AUTO_EXPAND"
        outputs[name] = set(nested.get("Outputs", {}))
        given, known = set(resource["Properties"].get("Parameters", {})), nested.get("Parameters", {})
        needed = {parameter for parameter, value in known.items() if "Default" not in value}
        yield from (f"{name} has no parameter {parameter}" for parameter in sorted(given - set(known)))
        yield from (f"{name} lacks the parameter {parameter}" for parameter in sorted(needed - given))
        yield from (f"{name}: {problem}" for problem in problems(nested, inside, longest.nested(name, nested)))
    sections = [template["Resources"], template.get("Outputs", {}), template.get("Conditions", {})]
    found = (problem_of(reference, template, outputs) for section in sections for reference in references(section))
    yield from sorted({problem for problem in found if problem})
    if names := circle(template["Resources"]):
        yield f"these resources depend on each other in a circle: {' -> '.join(names)}"
    yield from limits(template, longest)
    for judge in (published.permissions, published.functions, published.retained, published.values):
        yield from judge(template)


def loader(folder):
    """Returns a function that reads a nested stack's template by its path from `folder`, and the one for its own stacks."""

    def load(path):
        file = folder / path
        return parsed(file), loader(file.parent)

    return load


@functools.cache
def parsed(file):
    """Reads a nested stack's template, once."""
    return yaml_parse(file.read_text())


def versions(template, parameters):
    """Returns the logical ids of the functions' versions. The routes do not matter, and take most of the time."""
    template = copy.deepcopy(template)
    for resource in template["Resources"].values():
        resource["Properties"].pop("Events", None)
    resources = translated(template, parameters)["Resources"]
    return {name for name, resource in resources.items() if resource["Type"] == "AWS::Lambda::Version"}


def environments():
    """Yields the name and the parameters of each environment of samconfig.toml that is deployed."""
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())
    for name, commands in config.items():
        if isinstance(commands, dict) and "deploy" in commands:
            overrides = commands["deploy"]["parameters"].get("parameter_overrides", [])
            yield name, dict(item.split("=", 1) for item in overrides)


def main():
    """Prints the counts of the translated template, and of each kind of size the one that is closest to its limit."""
    template = translated(read("template.yaml"), dict(environments())["prod"])
    least, added = published.added_references(template)
    print(f"dynamic references: {least}, and", ", ".join(f"{count} with {option}" for option, count in added.items()))
    kinds = collections.Counter(resource["Type"] for resource in template["Resources"].values())
    print("resources:", ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    closest = {}
    for what, name, size, most in sizes(template, Longest(template)):
        closest[what] = max(closest.get(what, (0, 1)), (size, most, name), key=lambda one: one[0] / one[1])
    for what, (size, most, name) in closest.items():
        print(f"{what}: at most {size:,} of {most:,} ({name})")


if __name__ == "__main__":
    main()
