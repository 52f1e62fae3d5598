"""The longest texts that AWS could make of a template's values: every parameter, name, region and secret is as long as allowed."""

import importlib.util
import json
import pathlib
import re

import botocore.session

ROOT = pathlib.Path(__file__).resolve().parents[2]


def deploy_module():
    """Loads infra/deploy.py."""
    spec = importlib.util.spec_from_file_location("deploy", ROOT / "infra/deploy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DEPLOY = deploy_module()
ACCOUNT = "1" * 12
# AWS adds this to the names that it makes of a stack's name and a logical id.
SUFFIX = "-" + "x" * 13
# A secret of the operator's, such as the key of a provider. The stack's own secrets say how long they are.
SECRET = "x" * DEPLOY.LONGEST_SECRET
SESSION = botocore.session.get_session()
PARTITIONS = SESSION.get_available_partitions()
PARTITION = max(PARTITIONS, key=len)
REGION = max((region for partition in PARTITIONS for region in SESSION.get_available_regions("lambda", partition)), key=len)
SUFFIXES = [SESSION.get_component("endpoint_resolver").get_partition_dns_suffix(partition) for partition in PARTITIONS]
VARIABLE = re.compile(r"\$\{([^!}][^}]*)\}")
DYNAMIC = re.compile(r"\{\{resolve:secretsmanager:(.*?)\}\}")


def arn(service, resource):
    return f"arn:{PARTITION}:{service}:{REGION}:{ACCOUNT}:{resource}"


NAME, UUID = "x" * 64, "x" * 36
FUNCTION, TABLE, ROLE, TOPIC = arn("lambda", f"function:{NAME}"), arn("dynamodb", "table/" + "x" * 255), NAME, arn("sns", "x" * 256)
# For each kind of resource, its longest `Ref`, and the longest text of each attribute that the templates ask for.
KINDS = {
    "AWS::ApiGatewayV2::Api": ("x" * 10, {"ApiEndpoint": f"https://{'x' * 10}.execute-api.{REGION}.{max(SUFFIXES, key=len)}", "ApiId": "x" * 10}),
    "AWS::Backup::BackupPlan": (UUID, {}),
    "AWS::Backup::BackupVault": ("x" * 50, {}),
    "AWS::CertificateManager::Certificate": (arn("acm", f"certificate/{UUID}"), {}),
    "AWS::CloudFront::Distribution": ("x" * 14, {"DomainName": "x" * 14 + ".cloudfront.net", "Id": "x" * 14}),
    "AWS::CloudFront::Function": (arn("cloudfront", f"function/{NAME}"), {"FunctionARN": arn("cloudfront", f"function/{NAME}")}),
    "AWS::CloudWatch::Alarm": ("x" * 255, {}),
    "AWS::CodeDeploy::Application": ("x" * 100, {}),
    "AWS::CodeDeploy::DeploymentGroup": ("x" * 100, {}),
    "AWS::DynamoDB::Table": ("x" * 255, {"Arn": TABLE, "StreamArn": f"{TABLE}/stream/2026-01-01T00:00:00.000"}),
    "AWS::IAM::ManagedPolicy": (arn("iam", "policy/" + "x" * 128), {}),
    "AWS::IAM::Role": (ROLE, {"Arn": arn("iam", f"role/{ROLE}"), "RoleId": "x" * 21}),
    "AWS::KMS::Key": (UUID, {"Arn": arn("kms", f"key/{UUID}"), "KeyId": UUID}),
    "AWS::Lambda::Alias": (f"{FUNCTION}:live", {}),
    "AWS::Lambda::Function": (NAME, {"Arn": FUNCTION}),
    "AWS::Lambda::Version": (f"{FUNCTION}:99999", {"FunctionArn": f"{FUNCTION}:99999", "Version": "99999"}),
    "AWS::Logs::LogGroup": ("x" * 512, {"Arn": arn("logs", "log-group:" + "x" * 512 + ":*")}),
    "AWS::S3::Bucket": ("x" * 63, {"Arn": f"arn:{PARTITION}:s3:::{'x' * 63}", "DomainName": "x" * 80, "RegionalDomainName": "x" * 100}),
    "AWS::SNS::Topic": (TOPIC, {"TopicArn": TOPIC, "TopicName": "x" * 256}),
    "AWS::SQS::Queue": (
        f"https://sqs.{REGION}.{max(SUFFIXES, key=len)}/{ACCOUNT}/{'x' * 80}",
        {"Arn": arn("sqs", "x" * 80), "QueueName": "x" * 80, "QueueUrl": "x" * 160},
    ),
    "AWS::SecretsManager::Secret": (arn("secretsmanager", "secret:" + "x" * 80), {}),
    "AWS::WAFv2::WebACL": ("x" * 128, {"Arn": arn("wafv2", f"global/webacl/{'x' * 128}/{UUID}"), "Id": UUID}),
}


class Unbounded(Exception):
    """A text has no longest value."""


class Longest:
    """The longest values of one template, in a stack of this name. A nested stack is given its parameters by its parent."""

    def __init__(self, template, stack="s" * DEPLOY.LONGEST_NAME, given=None):
        self.template, self.stack, self.given = template, stack, given

    def nested(self, name, template):
        """The longest values of the template of a nested stack."""
        given = self.template["Resources"][name]["Properties"].get("Parameters", {})
        texts = {parameter: self.text(value) for parameter, value in given.items()}
        return Longest(template, f"{self.stack}-{name}{SUFFIX}", texts)

    def text(self, node):
        """The longest text of a value."""
        value = self.whole(node)
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))

    def whole(self, node):
        """A value with the longest texts in place of the intrinsic functions."""
        if isinstance(node, list):
            values = [self.whole(value) for value in node]
            return [value for value in values if value is not None]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            [(function, argument)] = node.items()
            if function == "Ref":
                return self.named(argument)
            if function == "Fn::GetAtt":
                return self.named(argument if isinstance(argument, str) else ".".join(argument))
            if function == "Fn::Sub":
                return self.substituted(*(argument if isinstance(argument, list) else (argument, {})))
            if function == "Fn::If":
                return max(map(self.whole, argument[1:]), key=lambda value: len(json.dumps(value)) if value is not None else -1)
            if function == "Fn::Select" and "Fn::Split" in argument[1]:
                separator, text = argument[1]["Fn::Split"]
                return self.text(text).split(separator)[argument[0]]
            if function == "Fn::Join":
                return argument[0].join(map(self.text, argument[1]))
            if function.startswith("Fn::"):
                raise Unbounded(f"{function} is unknown")
        values = {key: self.whole(value) for key, value in node.items()}
        return {key: value for key, value in values.items() if value is not None}

    def substituted(self, text, variables):
        text = DYNAMIC.sub(lambda match: self.secret(match[1]), text)
        return VARIABLE.sub(lambda match: self.text(variables[match[1]]) if match[1] in variables else self.named(match[1]), text)

    def secret(self, reference):
        """The longest value of a secret, by the reference to it."""
        name = VARIABLE.match(reference)
        secret = self.template["Resources"].get(name[1]) if name else None
        return "x" * secret["Properties"]["GenerateSecretString"]["PasswordLength"] if secret else SECRET

    def named(self, name):
        """The longest value of a pseudo parameter, a parameter, a resource or an attribute."""
        pseudo = {
            "AWS::AccountId": ACCOUNT,
            "AWS::NoValue": None,
            "AWS::Partition": PARTITION,
            "AWS::Region": REGION,
            "AWS::StackId": arn("cloudformation", f"stack/{self.stack}/{UUID}"),
            "AWS::StackName": self.stack,
            "AWS::URLSuffix": max(SUFFIXES, key=len),
        }
        if name in pseudo:
            return pseudo[name]
        if name in self.template.get("Parameters", {}):
            return self.parameter(name)
        resource, _, attribute = name.partition(".")
        kind = self.template["Resources"][resource]["Type"]
        if kind == "AWS::CloudFormation::Stack":
            # An ARN, or the name of an alarm.
            return max(TOPIC, FUNCTION, key=len)
        reference, attributes = KINDS[kind]
        return attributes[attribute] if attribute else reference

    def parameter(self, name):
        parameter = self.template["Parameters"][name]
        if self.given is not None:
            return self.given.get(name, str(parameter.get("Default", "")))
        if parameter["Type"] == "Number":
            return str(parameter.get("MaxValue", 10**10))
        if "AllowedValues" in parameter:
            return max(map(str, parameter["AllowedValues"]), key=len)
        if "MaxLength" not in parameter:
            raise Unbounded(f"the parameter {name} has no MaxLength")
        return "x" * parameter["MaxLength"]
