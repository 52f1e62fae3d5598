"""Checks what AWS would get: the templates after SAM's transformation, for every environment of samconfig.toml.

SAM's translator runs on this machine. It says what SAM makes of the template, not what AWS does with the result.
"""

import copy
import importlib.util
import json
import logging
import pathlib
import re
import tomllib
from unittest import mock

import boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.open_api import open_api
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

logging.disable(logging.WARNING)
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PSEUDO = {"AccountId", "NoValue", "NotificationARNs", "Partition", "Region", "StackId", "StackName", "URLSuffix"}
# The attributes of the kinds of resources that the templates ask for attributes.
ATTRIBUTES = {
    "AWS::ApiGatewayV2::Api": {"ApiEndpoint", "ApiId"},
    "AWS::CloudFront::Distribution": {"DomainName", "Id"},
    "AWS::CloudFront::Function": {"FunctionARN"},
    "AWS::DynamoDB::Table": {"Arn", "StreamArn"},
    "AWS::IAM::Role": {"Arn", "RoleId"},
    "AWS::KMS::Key": {"Arn", "KeyId"},
    "AWS::Lambda::Function": {"Arn"},
    "AWS::Lambda::Version": {"FunctionArn", "Version"},
    "AWS::Logs::LogGroup": {"Arn"},
    "AWS::S3::Bucket": {"Arn", "DomainName", "RegionalDomainName"},
    "AWS::SNS::Topic": {"TopicArn", "TopicName"},
    "AWS::SQS::Queue": {"Arn", "QueueName", "QueueUrl"},
    "AWS::WAFv2::WebACL": {"Arn", "Id"},
}
MAX_RESOURCES, MAX_TEMPLATE, MAX_PARAMETERS, MAX_OUTPUTS = 500, 1_000_000, 200, 200
MAX_PERMISSIONS, MAX_POLICIES, MAX_INLINE, MAX_ROUTES = 20 * 1024, 10, 10_240, 300
VARIABLE = re.compile(r"\$\{([^!}][^}]*)\}")


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
            resource["Properties"]["CodeUri"] = "s3://bucket/build"
    # The translator asks only for the name of the region.
    session = boto3.Session(region_name="us-east-1")
    # It copies the API's whole document for every route, which takes most of the time. The document is only used here.
    with mock.patch.object(open_api, "_deepcopy", lambda document: document):
        return Translator({}, Parser(), boto_session=session).translate(template, parameters)


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
        known = ATTRIBUTES.get(of_kind, set())
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


def statement(name, alias, properties):
    """Returns a permission as Lambda stores it, with names of the usual length."""
    arn = properties["SourceArn"]["Fn::Sub"][0]
    for variable, value in {"Partition": "aws", "Region": "us-east-1", "AccountId": "123456789012"}.items():
        arn = arn.replace(f"${{AWS::{variable}}}", value)
    arn = arn.replace("${__ApiId__}", "abcdefghij").replace("${__Stage__}", "*")
    function = f"rolecall-{alias.removesuffix('Aliaslive')}-AbCdEfGhIjKl"
    return {
        "Sid": f"rolecall-{name}-AbCdEfGhIjKl",
        "Effect": "Allow",
        "Principal": {"Service": properties["Principal"]},
        "Action": properties["Action"],
        "Resource": f"arn:aws:lambda:us-east-1:123456789012:function:{function}:live",
        "Condition": {"ArnLike": {"AWS:SourceArn": arn}},
    }


def limits(template):
    """Yields which of AWS's limits a translated template exceeds."""
    resources = template["Resources"]
    sizes = [
        ("resources", len(resources), MAX_RESOURCES),
        ("bytes", len(json.dumps(template)), MAX_TEMPLATE),
        ("parameters", len(template.get("Parameters", {})), MAX_PARAMETERS),
        ("outputs", len(template.get("Outputs", {})), MAX_OUTPUTS),
    ]
    permissions = {}
    for name, resource in resources.items():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Lambda::Permission":
            function = properties["FunctionName"]["Ref"]
            permissions.setdefault(function, []).append(statement(name, function, properties))
        elif resource["Type"] == "AWS::IAM::Role":
            sizes.append((f"managed policies of {name}", len(properties.get("ManagedPolicyArns", [])), MAX_POLICIES))
            inline = sum(len(json.dumps(policy["PolicyDocument"], separators=(",", ":"))) for policy in properties.get("Policies", []))
            sizes.append((f"bytes in the policies of {name}", inline, MAX_INLINE))
        elif resource["Type"] == "AWS::ApiGatewayV2::Api" and "Body" in properties:
            routes = sum(len(methods) for methods in properties["Body"]["paths"].values())
            sizes.append((f"routes of {name}", routes, MAX_ROUTES))
    for function, found in permissions.items():
        size = len(json.dumps(found, separators=(",", ":")))
        sizes.append((f"bytes of permissions of {function}", size, MAX_PERMISSIONS))
    for what, size, most in sizes:
        if size > most:
            yield f"{size} {what} are more than {most}"


def problems(template, load):
    """Yields what is wrong with a translated template and the templates of its nested stacks, which `load` reads."""
    outputs = {}
    for name, resource in template["Resources"].items():
        if resource["Type"] != "AWS::CloudFormation::Stack":
            continue
        nested, inside = load(resource["Properties"]["TemplateURL"])
        outputs[name] = set(nested.get("Outputs", {}))
        given, known = set(resource["Properties"].get("Parameters", {})), nested.get("Parameters", {})
        needed = {parameter for parameter, value in known.items() if "Default" not in value}
        yield from (f"{name} has no parameter {parameter}" for parameter in sorted(given - set(known)))
        yield from (f"{name} lacks the parameter {parameter}" for parameter in sorted(needed - given))
        yield from (f"{name}: {problem}" for problem in problems(nested, inside))
    sections = [template["Resources"], template.get("Outputs", {}), template.get("Conditions", {})]
    found = (problem_of(reference, template, outputs) for section in sections for reference in references(section))
    yield from sorted({problem for problem in found if problem})
    if names := circle(template["Resources"]):
        yield f"these resources depend on each other in a circle: {' -> '.join(names)}"
    yield from limits(template)


def loader(folder):
    """Returns a function that reads a nested stack's template by its path from `folder`, and the one for its own stacks."""

    def load(path):
        file = folder / path
        return yaml_parse(file.read_text()), loader(file.parent)

    return load


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


def deploy_module():
    """Loads infra/deploy.py."""
    spec = importlib.util.spec_from_file_location("deploy", ROOT / "infra/deploy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
