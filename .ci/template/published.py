"""Checks templates against what AWS has published: the permissions that CloudFormation's handlers need, the actions that know
no resource, quotas, and the values of schedules, deployments, routes and CloudFront.

cfn-lint's package has AWS's schemas of resources, and the actions and resources of its policies, as data.
"""

import fnmatch
import functools
import json
import pathlib
import re
import types

import cfnlint
from cfnlint.rules.resources.events.RuleScheduleExpression import RuleScheduleExpression
from samtranslator.model.preferences.deployment_preference_collection import CODEDEPLOY_PREDEFINED_CONFIGURATIONS_LIST

DATA = pathlib.Path(cfnlint.__file__).parent / "data"
# CloudFormation allows this many dynamic references in a template. How it counts them is not documented.
MAX_REFERENCES = 60
# The values of parameters that add dynamic references, and those that they need.
OPTIONS = {
    "OriginSecretArn": {"OriginSecretArn": "arn"},
    "EdgeDomain": {"EdgeDomain": "api.example.com"},
    "AcceptPreviousOriginSecret": {"EdgeDomain": "api.example.com", "AcceptPreviousOriginSecret": "true"},
    "ServicesSecretArn": {"ServicesSecretArn": "arn"},
    "AcceptPreviousKeys": {"AcceptPreviousKeys": "true"},
    "AcceptPreviousSigningKey": {"AcceptPreviousSigningKey": "true"},
    "PreviousSealingKeyId": {"PreviousSealingKeyId": "1"},
}
# What handlers call only for properties that no template uses, and an action that would free a role from its boundary.
UNUSED = [
    "acm-pca:*", "billing:*", "cloudfront:CreateConnectionGroup", "ec2:*", "elasticfilesystem:*", "firehose:*", "iam:*Group*",
    "iam:*User*", "iam:DeleteRolePermissionsBoundary", "kinesis:*", "payments:*", "s3files:*", "s3tables:*",
]  # fmt: skip
# The kinds of resources without published handlers. infra/deployment_role.yaml has what their documentation names.
UNPUBLISHED = {"AWS::Route53::RecordSetGroup"}
# The reference names no resource for it, but AWS's own examples limit it to a deployment group.
LIMITED = ["codedeploy:PutLifecycleEventHookExecutionStatus"]
# The errors that CloudFront keeps.
CACHED_ERRORS = {400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504}
# The paths of pages. Programs call all others.
PAGES = re.compile(r"\$default|/((careers|dashboard|docs)(/.*)?|robots\.txt)?")
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace", "x-amazon-apigateway-any-method"}
# The keys of a policy whose values are names of services, which are the same in every partition.
SERVICES = {"Principal", "Service", "kms:ViaService", "iam:PassedToService", "iam:AWSServiceName"}


def listed(value):
    return value if isinstance(value, list) else [value]


def branches(node):
    """Yields the values that a node of a policy or a property may have: all branches of its conditions."""
    if isinstance(node, dict) and set(node) == {"Fn::If"}:
        for branch in node["Fn::If"][1:]:
            yield from branches(branch)
    elif isinstance(node, list):
        for item in node:
            yield from branches(item)
    elif node != {"Ref": "AWS::NoValue"}:
        yield node


def walk(node, keys=()):
    """Yields every value with the keys that lead to it."""
    yield keys, node
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from walk(value, (*keys, key))


def of_kind(template, *kinds):
    """Yields the name and the properties of each resource of these kinds."""
    for name, resource in template["Resources"].items():
        if resource["Type"] in kinds:
            yield name, resource.get("Properties", {})


# ---- Permissions ----------------------------------------------------------------------------------------------------


@functools.cache
def resources_of(action):
    """Returns the kinds of resources that an action knows, or None if there is no such action."""
    service, _, name = action.lower().partition(":")
    found = reference().get(service, {}).get("Actions", {}).get(name)
    return None if found is None else found.get("Resources", [])


@functools.cache
def reference():
    return json.loads((DATA / "AdditionalSpecs/Policies.json").read_text())


@functools.cache
def handlers(kind):
    """Returns the permissions that CloudFormation needs to create, read, update and delete a kind of resource."""
    number = known_kinds().get(kind)
    found = json.loads((DATA / f"schemas/resources/{number}.json").read_text()).get("handlers", {}) if number else {}
    return sorted({action for name, handler in found.items() if name != "list" for action in handler.get("permissions", [])})


@functools.cache
def known_kinds():
    return json.loads((DATA / "schemas/providers/us-east-1.json").read_text())


def statements(template):
    """Yields the name of the resource and each statement of the policies of roles."""
    for name, properties in of_kind(template, "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy", "AWS::IAM::Role"):
        for policy in [properties, *properties.get("Policies", [])]:
            for statement in branches(policy.get("PolicyDocument", {}).get("Statement", [])):
                yield name, statement


def denial(action, template, policies):
    """Returns why these policies of a template deny an action on every resource, or None."""
    resources = [
        statement["Resource"]
        for name, statement in statements(template)
        if name in policies and statement["Effect"] == "Allow"
        if any(fnmatch.fnmatchcase(action.lower(), pattern.lower()) for pattern in listed(statement["Action"]))
    ]
    if not resources:
        return action
    if resources_of(action) == [] and "*" not in resources and action not in LIMITED:
        return f"{action}, which knows no resource, on *"
    return None


def lacking(role, templates):
    """Yields what a deployment of the templates needs that the deployment role and its boundary deny."""
    policies = {name for name, _ in of_kind(role, "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy")} - {"Boundary"}
    kinds = {resource["Type"] for template in templates for resource in template["Resources"].values()}
    yield from (f"the handlers of {kind} are not published" for kind in sorted(kinds - UNPUBLISHED) if not handlers(kind))
    for action in sorted({action for kind in kinds for action in handlers(kind)}):
        if not any(fnmatch.fnmatchcase(action, pattern) for pattern in UNUSED) and (found := denial(action, role, policies)):
            yield f"{', '.join(sorted(kind for kind in kinds if action in handlers(kind)))} needs {found}"
    hooks = [one["Action"] for template in templates for name, one in statements(template) if name == "HookPolicy"]
    for action in sorted({action for actions in hooks for action in listed(actions)}):
        if found := denial(action, role, {"Boundary"}):
            yield f"the hook needs {found}"


def permissions(template):
    """Yields what is wrong with the statements of a template."""
    for name, statement in statements(template):
        actions, resource = listed(statement["Action"]), statement["Resource"]
        for action in actions:
            if statement["Effect"] == "Allow" and resource != "*" and resources_of(action) == [] and action not in LIMITED:
                yield f"{name} limits {action}, which knows no resource"
        condition = statement.get("Condition", {})
        if "dynamodb:LeadingKeys" in condition.get("ForAllValues:StringLike", {}):
            if condition.get("Null") != {"dynamodb:LeadingKeys": "false"}:
                yield f"{name} allows {', '.join(actions)} without a key"


def functions(template):
    """Yields what is wrong with the permissions and the variables of functions."""
    for name, properties in of_kind(template, "AWS::Lambda::Function"):
        if properties.get("Environment") and properties.get("KmsKeyArn") != {"Fn::GetAtt": ["DataKey", "Arn"]}:
            yield f"the variables of {name} are not encrypted with the stack's key"
    keys = [{"Fn::GetAtt": [key, "Arn"]} for key, _ in of_kind(template, "AWS::KMS::Key")]
    buckets = "|".join(bucket for bucket, _ in of_kind(template, "AWS::S3::Bucket"))
    for name, statement in statements(template):
        # A boundary allows nothing by itself.
        if name == "FunctionBoundary":
            continue
        resources = list(branches(statement["Resource"]))
        services = statement.get("Condition", {}).get("StringEquals", {}).get("kms:ViaService")
        if not services and any(key in resources for key in keys):
            yield f"{name} allows the use of the key without a service"
        if buckets and any(action.startswith("s3:") and action.endswith("Object") for action in listed(statement["Action"])):
            folder = re.compile(rf"\$\{{({buckets})\.Arn\}}/[a-z]+/\*")
            if not all(folder.fullmatch(str(resource.get("Fn::Sub"))) for resource in resources):
                yield f"{name} allows {', '.join(listed(statement['Action']))} outside of a folder"


def retained(template):
    """Yields what would be left of a creation that failed, and what one environment could read of another."""
    for name, resource in template["Resources"].items():
        # SAM keeps the versions of functions, which end with their functions.
        if resource.get("DeletionPolicy") == "Retain" and resource["Type"] != "AWS::Lambda::Version":
            yield f"{name} is left after a creation that failed"
    for name, properties in of_kind(template, "AWS::SecretsManager::Secret"):
        if not str(listed(properties.get("Name", {}).get("Fn::Sub"))[0]).startswith("${AWS::StackName}-"):
            yield f"the name of the secret {name} does not begin with the stack's"
    for name, properties in of_kind(template, "AWS::KMS::Key"):
        if {"Key": "stack", "Value": {"Ref": "AWS::StackName"}} not in properties.get("Tags", []):
            yield f"the key {name} has no tag with the stack"


# ---- Dynamic references -----------------------------------------------------------------------------------------------


def holds(node, template, parameters):
    """Returns the value of a condition, with the defaults of parameters."""
    if not isinstance(node, dict):
        return str(node)
    [(function, argument)] = node.items()
    if function == "Ref":
        return str(parameters.get(argument, template["Parameters"].get(argument, {}).get("Default", "")))
    if function == "Condition":
        return holds(template["Conditions"][argument], template, parameters)
    values = [holds(value, template, parameters) for value in argument]
    results = {"Fn::Equals": values[0] == values[-1], "Fn::Not": not values[0], "Fn::And": all(values), "Fn::Or": any(values)}
    return results[function]


def dynamic_references(template, parameters):
    """Returns the number of dynamic references that CloudFormation resolves with these parameters."""
    on = {name: holds(condition, template, parameters) for name, condition in template.get("Conditions", {}).items()}

    def count(node):
        if isinstance(node, str):
            return node.count("{{resolve:")
        if isinstance(node, list):
            return sum(map(count, node))
        if not isinstance(node, dict):
            return 0
        if "Fn::If" in node:
            condition, yes, no = node["Fn::If"]
            return count(yes if on[condition] else no)
        return sum(map(count, node.values()))

    resources = template["Resources"].values()
    return sum(count(resource) for resource in resources if on.get(resource.get("Condition"), True))


def added_references(template):
    """Returns the number of dynamic references without options, and how many each option adds."""
    least = dynamic_references(template, {})
    return least, {
        option: dynamic_references(template, parameters)
        - dynamic_references(template, {key: value for key, value in parameters.items() if key != option})
        for option, parameters in OPTIONS.items()
    }


# ---- Values -----------------------------------------------------------------------------------------------------------


def values(template):
    """Yields values that CloudFormation accepts and AWS refuses later."""
    rule, asks = RuleScheduleExpression(), types.SimpleNamespace(is_type=lambda value, _: isinstance(value, str))
    for name, properties in of_kind(template, "AWS::Scheduler::Schedule", "AWS::Backup::BackupPlan"):
        for keys, value in walk(properties):
            if keys and keys[-1] == "ScheduleExpression":
                yield from (f"{name}: {error.message}" for error in rule.validate(asks, None, value, {}))
    for name, properties in of_kind(template, "AWS::CodeDeploy::DeploymentGroup"):
        for value in branches(properties["DeploymentConfigName"]):
            _, variables = value["Fn::Sub"] if isinstance(value, dict) else (None, {"ConfigName": value})
            if variables["ConfigName"] not in CODEDEPLOY_PREDEFINED_CONFIGURATIONS_LIST:
                yield f"{name}: CodeDeploy has no configuration {variables['ConfigName']}"
    for name, properties in of_kind(template, "AWS::ApiGatewayV2::Api"):
        for path, methods in properties["Body"]["paths"].items():
            yield from (f"{name}: {path} has no method {method}" for method in sorted(set(methods) - METHODS))
        servers = properties["Body"].get("servers", [])
        if properties.get("FailOnWarnings") and any("url" not in server for server in servers):
            yield f"{name}: the import warns of a server without a URL, and fails"


def partitions(template):
    """Yields names of hosts and ARNs, as written, that are different in other partitions."""
    for keys, value in walk(template["Resources"]):
        if isinstance(value, str) and not set(keys) & {*SERVICES, "Description", "ZipFile", "FunctionCode"}:
            if re.search(r"\barn:aws\b|\.amazonaws\.", value):
                yield f"{keys[0]}: {value} is different in other partitions"


# ---- The edge ---------------------------------------------------------------------------------------------------------


def edge(template, paths):
    """Yields what is wrong with CloudFront and WAF in front of these paths."""
    for name, properties in of_kind(template, "AWS::CloudFront::Distribution"):
        responses = properties["DistributionConfig"].get("CustomErrorResponses", [])
        kept = CACHED_ERRORS - {response["ErrorCode"] for response in responses if response.get("ErrorCachingMinTTL") == 0}
        yield from (f"{name} keeps errors {code} and gives them to everybody" for code in sorted(kept))
    for name, properties in of_kind(template, "AWS::WAFv2::WebACL"):
        rules = [rule for rule in properties["Rules"] if "RateBasedStatement" in rule["Statement"]]
        for path in paths:
            limits = [
                rule["Statement"]["RateBasedStatement"]["Limit"]
                for rule in rules
                if counts(rule["Statement"]["RateBasedStatement"].get("ScopeDownStatement"), path)
            ]
            expected = "PageRequestsPerAddress" if PAGES.fullmatch(path) else "ClientRequestsPerAddress"
            if limits != [{"Ref": expected}]:
                yield f"{name} does not limit {path} by {expected} alone"
        for rule in rules:
            answer = rule["Action"].get("Block", {}).get("CustomResponse", {})
            bodies = properties.get("CustomResponseBodies", {})
            if answer.get("CustomResponseBodyKey") not in bodies or not answer.get("ResponseHeaders"):
                yield f"{name}: the rule {rule['Name']} answers without a body or Retry-After"


def counts(statement, path):
    """Returns whether a rule that is narrowed down by a statement counts requests for a path."""
    if not statement:
        return True
    if "NotStatement" in statement:
        return not counts(statement["NotStatement"]["Statement"], path)
    return bool(re.search(statement["RegexMatchStatement"]["RegexString"], path))
