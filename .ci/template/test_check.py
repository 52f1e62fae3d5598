"""Tests of check.py, of the releases of infra/deploy.py and of the hook in infra/shift.yaml."""

import copy
import fnmatch
import heapq
import io
import json
import random
import re
import sys
import tomllib
import unittest
from unittest import mock

import check
import published
from longest import DEPLOY

sys.path.append(str(check.ROOT / ".ci/runtime"))

import sam  # noqa: E402

TEMPLATE = check.read("template.yaml")
STACKS = {path.name: check.read(f"infra/{path.name}") for path in sorted((check.ROOT / "infra").glob("*.yaml"))}
ROLE = STACKS.pop("deployment_role.yaml")
PROD = check.translated(TEMPLATE, {"Environment": "prod"})


def function(release, **parameters):
    return check.versions(TEMPLATE, {"Environment": "prod", "Release": release, **parameters})


def routes():
    """The logical id of the function whose live alias each route of the translated template invokes."""
    found = {}
    for path, methods in PROD["Resources"]["Api"]["Properties"]["Body"]["paths"].items():
        uri = methods["x-amazon-apigateway-any-method"]["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
        found[path] = re.fullmatch(
            r"arn:\$\{AWS::Partition\}:apigateway:\$\{AWS::Region\}:lambda:path/2015-03-31/functions/\$\{(\w+)\.Arn\}:live/invocations", uri
        )[1]
    return found


class Versions(unittest.TestCase):
    """A change of the build, of any parameter or of any secret publishes a new version of every function."""

    def test_every_change_is_a_new_version_of_every_function(self):
        parameters = {name: str(value.get("Default", "x")) for name, value in TEMPLATE["Parameters"].items()}
        secrets = {"signing": ["1", None], "credential": ["1", "0"], "services": ["1", None]}
        base = DEPLOY.release("build", parameters, secrets)
        changed = {"build": DEPLOY.release("other", parameters, secrets)}
        for name in parameters.keys() - {"Release", "PreviousRelease"}:
            changed[name] = DEPLOY.release("build", {**parameters, name: "changed"}, secrets)
        for name, (current, previous) in secrets.items():
            changed[name] = DEPLOY.release("build", parameters, {**secrets, name: ["2", previous]})
            changed[f"{name}, previous"] = DEPLOY.release("build", parameters, {**secrets, name: [current, "2"]})
        for what, release in changed.items():
            self.assertNotEqual(release, base, what)
        self.assertEqual(len(set(changed.values())), len(changed))
        own = {"Release": "0" * 10, "PreviousRelease": "1" * 10}
        self.assertEqual(DEPLOY.release("build", {**parameters, **own}, secrets), base, "a release has no own name in it")

        functions = {n for n, r in TEMPLATE["Resources"].items() if r["Type"] == "AWS::Serverless::Function"}
        before, after = function(base), function(changed["build"])
        self.assertEqual(len(before), len(functions))
        self.assertFalse(before & after)
        self.assertEqual(before, function(base), "the same release is the same version")
        pattern = TEMPLATE["Parameters"]["Release"]["AllowedPattern"]
        for release in [base, *changed.values()]:
            self.assertRegex(release, pattern)
            self.assertRegex(f"RolesFunctionVersion{release}", r"^[A-Za-z0-9]+$")

    def test_a_parameter_alone_publishes_nothing_without_a_release(self):
        self.assertEqual(function("", CallCountries="US"), function("", CallCountries="DE"))

    def test_everything_invokes_the_alias(self):
        resources = PROD["Resources"]
        kinds = {"AWS::Lambda::Permission": "FunctionName", "AWS::Lambda::EventSourceMapping": "FunctionName"}
        for name, resource in resources.items():
            if key := kinds.get(resource["Type"]):
                self.assertTrue(resource["Properties"][key]["Ref"].endswith("Aliaslive"), name)
            elif resource["Type"] == "AWS::Scheduler::Schedule":
                self.assertTrue(resource["Properties"]["Target"]["Arn"]["Ref"].endswith("Aliaslive"), name)

    def test_the_gateway_invokes_the_alias_and_follows_it(self):
        api = PROD["Resources"]["Api"]
        self.assertEqual(len(routes()), len(api["Properties"]["Body"]["paths"]))
        permitted = {r["Properties"]["FunctionName"]["Ref"] for r in PROD["Resources"].values() if r["Type"] == "AWS::Lambda::Permission"}
        aliases = {f"{function}Aliaslive" for function in routes().values()}
        self.assertEqual((permitted, set(api["DependsOn"])), (aliases, aliases))

    def test_sam_local_finds_every_route(self):
        # SAM writes the path of the default route with a slash.
        self.assertEqual(sam.routes(), {path.replace("/$", "$"): function for path, function in routes().items()})
        print(f"sam local lists {len(sam.routes())} routes")

    def test_every_function_with_requests_has_an_alarm_and_the_hook(self):
        resources = PROD["Resources"]
        shift = check.read("infra/shift.yaml")["Resources"]
        groups = 0
        for name, resource in TEMPLATE["Resources"].items():
            if resource["Type"] != "AWS::Serverless::Function" or name == "UsageResetFunction":
                continue
            groups += 1
            short = name.removesuffix("Function")
            group = resources[f"{name}DeploymentGroup"]["Properties"]
            self.assertEqual(group["AlarmConfiguration"]["Alarms"], [{"Name": {"Fn::GetAtt": ["Shift", f"Outputs.{short}Alarm"]}}])
            alarm = shift[short]["Properties"]
            self.assertEqual(alarm["TreatMissingData"], "notBreaching")
            dimensions = {item["Name"]: item["Value"] for item in alarm["Dimensions"]}
            alias = {"Fn::Sub": f"${{{name}}}:live"}
            version = {"Ref": f"{short}Version"}
            self.assertEqual(dimensions, {"FunctionName": {"Ref": name}, "Resource": alias, "ExecutedVersion": version})
            update = resources[f"{name}Aliaslive"]["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
            self.assertEqual(update["BeforeAllowTrafficHook"], {"Fn::GetAtt": ["Shift", "Outputs.Hook"]})
        self.assertEqual(groups, sum(r["Type"] == "AWS::CodeDeploy::DeploymentGroup" for r in resources.values()))


class Tracing(unittest.TestCase):
    """One parameter switches X-Ray on for every function, with the permission to send traces."""

    def roles(self, parameters):
        resources = check.translated(TEMPLATE, parameters)["Resources"]
        functions = [name for name, resource in resources.items() if resource["Type"] == "AWS::Lambda::Function"]
        for name in functions:
            self.assertEqual(resources[name]["Properties"]["TracingConfig"], {"Mode": {"Ref": "Tracing"}}, name)
        allowed = "XrayWriteOnlyAccess"
        return {name: allowed in json.dumps(resources[f"{name}Role"]["Properties"]["ManagedPolicyArns"]) for name in functions}

    def test_one_switch(self):
        prod = next(parameters for name, parameters in check.environments() if name == "prod")
        self.assertEqual(TEMPLATE["Parameters"]["Tracing"]["Default"], "Disabled")
        self.assertTrue(all(self.roles({**prod, "Tracing": "Active"}).values()))
        boundary = json.dumps(TEMPLATE["Resources"]["FunctionBoundary"])
        role = json.dumps(check.read("infra/deployment_role.yaml")["Resources"]["Boundary"])
        for policy in (boundary, role):
            self.assertIn("xray:PutTraceSegments", policy)


class Environments(unittest.TestCase):
    """Every environment of samconfig.toml that is deployed has a valid template."""

    def test_the_templates(self):
        names = []
        for name, parameters in check.environments():
            names.append(name)
            self.assertEqual(set(parameters) - set(TEMPLATE["Parameters"]), set(), name)
            template = check.translated(TEMPLATE, parameters)
            self.assertEqual(list(check.problems(template, check.loader(check.ROOT))), [], name)
        self.assertEqual(names, ["default", "dev", "stage", "prod"])

    def test_the_deployment_role(self):
        template = check.read("infra/deployment_role.yaml")
        self.assertEqual(list(check.problems(template, check.loader(check.ROOT / "infra"))), [])
        name = template["Parameters"]["StackName"]
        self.assertEqual(name["MaxLength"], DEPLOY.LONGEST_NAME)
        for settings in DEPLOY.environments().values():
            self.assertRegex(settings["stack_name"], name["AllowedPattern"])

    def test_every_function_has_the_boundary(self):
        for name, resource in TEMPLATE["Resources"].items():
            if resource["Type"] == "AWS::Serverless::Function":
                role = PROD["Resources"][f"{name}Role"]["Properties"]
                boundary = {"Fn::If": ["HasBoundary", {"Ref": "BoundaryArn"}, {"Ref": "FunctionBoundary"}]}
                self.assertEqual(role["PermissionsBoundary"], boundary, name)
        for boundary in (PROD["Resources"]["FunctionBoundary"], check.read("infra/deployment_role.yaml")["Resources"]["Boundary"]):
            self.check_actions(boundary["Properties"]["PolicyDocument"]["Statement"])

    def check_actions(self, allowed):
        """Checks that a boundary allows every action of the functions' own policies."""
        actions = [a for one in allowed for a in ([one["Action"]] if isinstance(one["Action"], str) else one["Action"])]
        for name, resource in TEMPLATE["Resources"].items():
            if resource["Type"] == "AWS::Serverless::Function":
                for policy in PROD["Resources"][f"{name}Role"]["Properties"].get("Policies", []):
                    for one in policy["PolicyDocument"]["Statement"]:
                        for action in [one["Action"]] if isinstance(one["Action"], str) else one["Action"]:
                            known = any(fnmatch.fnmatchcase(action, pattern) for pattern in actions)
                            self.assertTrue(known, f"{name}: the boundary lacks {action}")

    def test_a_deployment_asks_nothing_and_has_a_stack_of_its_own(self):
        config = tomllib.loads((check.ROOT / "samconfig.toml").read_text())
        expected = {"capabilities": "CAPABILITY_IAM", "resolve_s3": True, "confirm_changeset": False}
        for name in ("dev", "stage", "prod"):
            parameters = config[name]["deploy"]["parameters"]
            self.assertLessEqual((expected | {"fail_on_empty_changeset": False}).items(), parameters.items(), name)
            self.assertIn(f"Environment={name}", parameters["parameter_overrides"])
            # No name begins with another one's, so that the role of one environment has no power over another.
            self.assertEqual(config[name]["global"]["parameters"]["stack_name"], f"rolecall-{name}")

    def test_prod_needs_an_address_for_alarms(self):
        rule = TEMPLATE["Rules"]["ProdHasAlarmEmail"]
        self.assertEqual(rule["RuleCondition"], {"Fn::Equals": [{"Ref": "Environment"}, "prod"]})
        empty = {"Fn::Equals": [{"Ref": "AlarmEmail"}, ""]}
        self.assertEqual(rule["Assertions"][0]["Assert"], {"Fn::Not": [empty]})
        self.assertEqual(PROD["Rules"], TEMPLATE["Rules"], "SAM keeps it")


class Linted(unittest.TestCase):
    """cfn-lint knows the values of properties, and sees what SAM makes of the template."""

    def test_the_templates(self):
        templates = [check.translated(TEMPLATE, parameters) for _, parameters in check.environments()]
        for template in {json.dumps(template, sort_keys=True): template for template in templates}.values():
            self.assertEqual(check.linted(template), [])

    def test_faults(self):
        template = {**TEMPLATE, "Resources": {"TasksFunction": copy.deepcopy(TEMPLATE["Resources"]["TasksFunction"])}}
        properties = template["Resources"]["TasksFunction"]["Properties"]
        properties["LoggingConfig"]["SystemLogLevel"] = "WARNING"
        properties["Events"]["Written"]["Properties"]["StartingPosition"] = "NEWEST"
        properties.update(Timeout=1000, MemorySize=100)
        properties["Policies"][-1]["Statement"][0]["Action"].append("dynamodb:GetItemz")
        faults = {"E3030": "WARNING", "E3031": "NEWEST", "E3717": "900", "E3034": "100", "W3037": "getitemz"}
        found = check.linted(check.translated(template, {"Environment": "prod"}))
        for rule, value in faults.items():
            self.assertTrue([message for number, message in found if number == rule and value in message], (rule, found))


class Published(unittest.TestCase):
    """What AWS has published about permissions, quotas and its services."""

    def check(self, judge, before, faults):
        """Checks that nothing is found before, and each fault after its change."""
        self.assertEqual(list(judge(*before)), [])
        for expected, fault in faults.items():
            with self.subTest(expected):
                changed = copy.deepcopy(before)
                fault(*changed)
                self.assertTrue([problem for problem in judge(*changed) if expected in problem], list(judge(*changed)))

    def test_the_deployment_role_may_do_what_cloudformation_does(self):
        def statement(action):
            def change(role, _):
                for _, one in published.statements(role):
                    one["Action"] = [each for each in published.listed(one["Action"]) if each != action]

            return change

        def limit(action):
            def change(role, _):
                for _, one in published.statements(role):
                    if action in published.listed(one["Action"]):
                        one["Resource"] = "arn"

            return change

        needed = [
            "kms:ListResourceTags", "kms:DisableKey", "kms:ScheduleKeyDeletion", "kms:ListAliases", "kms:RevokeGrant",
            "iam:CreateServiceLinkedRole", "iam:UpdateRole", "iam:UpdateRoleDescription", "iam:UntagRole",
            "iam:ListEntitiesForPolicy", "cloudwatch:ListTagsForResource", "cloudwatch:UntagResource", "backup-storage:Mount*",
            "kms:RetireGrant", "acm:ListTagsForCertificate", "acm:UpdateCertificateOptions", "budgets:TagResource",
        ]  # fmt: skip
        faults = {f"needs {action.replace('*', '')}": statement(action) for action in needed}
        for action in ["codedeploy:StopDeployment", "logs:PutIndexPolicy", "logs:DescribeIndexPolicies", "cloudfront:CreateDistribution"]:
            faults[f"needs {action}, which knows no resource"] = limit(action)
        faults["the hook needs codedeploy:ListDeploymentTargets, which"] = limit("codedeploy:ListDeploymentTargets")
        faults["the hook needs lambda:InvokeFunction"] = statement("lambda:InvokeFunction")
        faults["handlers of AWS::New::Kind are not published"] = lambda _, templates: templates[0]["Resources"].update(
            New={"Type": "AWS::New::Kind"}
        )
        self.check(published.lacking, (ROLE, [PROD, *STACKS.values()]), faults)

    def test_permissions(self):
        def resource(template, name, resource):
            for owner, one in published.statements(template):
                if name in published.listed(one["Action"]):
                    one["Resource"] = resource

        self.check(
            published.permissions,
            (STACKS["shift.yaml"],),
            {"limits codedeploy:ListDeploymentTargets": lambda t: resource(t, "codedeploy:ListDeploymentTargets", "arn")},
        )

    def test_dynamic_references(self):
        least, added = published.added_references(PROD)
        self.assertLessEqual(least, published.MAX_REFERENCES)
        everything = {key: value for parameters in published.OPTIONS.values() for key, value in parameters.items()}
        counted = published.dynamic_references(PROD, everything)
        self.assertEqual(counted, least + sum(added.values()) - added["OriginSecretArn"], "the edge's secret replaces the other")
        text = (check.ROOT / "infra/README.md").read_text()
        rows = {option: int(count) for option, count in re.findall(r"^\| `(\w+)` \| (\d+) \|$", text, re.MULTILINE)}
        self.assertEqual({option: rows.get(option) for option in added}, added)
        self.assertIn(f"CloudFormation's {published.MAX_REFERENCES} dynamic references", text)
        self.assertIn(f"The template has {least}.", " ".join(text.split()))
        changed = copy.deepcopy(PROD)
        changed["Resources"]["RolesFunction"]["Properties"]["Environment"]["Variables"]["ORIGIN_SECRETS"] = ""
        self.assertNotEqual(published.added_references(changed)[1], added)

    def test_partitions(self):
        def logs(text):
            return lambda template: template["Resources"]["FunctionLogs"]["Properties"].update(KmsKeyId=text)

        for template in [*STACKS.values(), ROLE]:
            self.assertEqual(list(published.partitions(template)), [])
        faults = {"arn:aws:kms": logs("arn:aws:kms:x"), "s3.amazonaws.com": logs({"Fn::Sub": "https://${Resumes}.s3.amazonaws.com"})}
        self.check(published.partitions, (TEMPLATE,), faults)

    def test_the_edge(self):
        def distribution(template):
            return template["Resources"]["Distribution"]["Properties"]["DistributionConfig"]

        def rule(template, place):
            return template["Resources"]["Firewall"]["Properties"]["Rules"][place]

        def rate(template, place):
            return rule(template, place)["Statement"]["RateBasedStatement"]

        faults = {
            "keeps errors 404": lambda t, _: distribution(t)["CustomErrorResponses"].pop(2),
            "keeps errors 503": lambda t, _: distribution(t)["CustomErrorResponses"][9].update(ErrorCachingMinTTL=10),
            "does not limit /api/v1/roles by ClientRequestsPerAddress alone": lambda t, _: rate(t, 0).pop("ScopeDownStatement"),
            "does not limit /dashboard/sign-in by PageRequestsPerAddress": lambda t, _: rate(t, 0).update(Limit=100),
            "does not limit /new by ClientRequestsPerAddress": lambda _, paths: paths.append("/new"),
            "answers without a body": lambda t, _: rule(t, 1)["Action"].update(Block={}),
        }
        self.check(published.edge, (STACKS["edge.yaml"], [path for path in routes()]), faults)
        self.assertGreater(len(routes()), 100)


class Documented(unittest.TestCase):
    """infra/README.md has what a new account sees and pays."""

    def test_the_first_night(self):
        expecting = {
            name
            for template in STACKS.values()
            for name, properties in published.of_kind(template, "AWS::CloudWatch::Alarm")
            if properties["TreatMissingData"] == "breaching"
        }
        paragraph = re.search(r"\*\*The first night\.\*\*.*?\n\n", self.text(), re.DOTALL)[0]
        self.assertEqual(set(re.findall(r"`(\w+)`", paragraph)), expecting)

    def test_what_costs(self):
        for start, kind in [("secrets", "AWS::SecretsManager::Secret"), ("the key in KMS", "AWS::KMS::Key")]:
            number = sum(resource["Type"] == kind and "Condition" not in resource for resource in TEMPLATE["Resources"].values())
            self.assertRegex(self.text(), rf"(?m)^\| {start}, at [^|]*\| {number} \|")
        rules = STACKS["edge.yaml"]["Resources"]["Firewall"]["Properties"]["Rules"]
        self.assertIn(f"WAF adds ${5 + len(rules)} ", self.text())

    def text(self):
        return (check.ROOT / "infra/README.md").read_text()


class Faults(unittest.TestCase):
    """Planted faults are found."""

    def problems(self, change):
        template = copy.deepcopy(PROD)
        change(template)
        return list(check.problems(template, check.loader(check.ROOT)))

    def test_faults(self):
        def shift(template):
            return template["Resources"]["Shift"]["Properties"]["Parameters"]

        def role(template):
            return template["Resources"]["RolesFunctionRole"]["Properties"]

        def logs(template):
            return template["Resources"]["FunctionLogs"]["Properties"]

        def schedule(template, name, text):
            template["Resources"][name]["Properties"]["ScheduleExpression"] = text

        def statement(template, name, place):
            return template["Resources"][name]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][place]

        def allowing(template, name, action):
            policy = template["Resources"][name]["Properties"]["Policies"][0]["PolicyDocument"]
            return next(one for one in policy["Statement"] if one["Action"] == action)

        faults = {
            "NoSuch is not a resource or a parameter": lambda t: logs(t).update(RetentionInDays={"Ref": "NoSuch"}),
            "Missing is not a resource": lambda t: logs(t).update(KmsKeyId={"Fn::GetAtt": ["Missing", "Arn"]}),
            "Table (AWS::DynamoDB::Table) has no attribute Nothing": lambda t: logs(t).update(
                KmsKeyId={"Fn::Sub": "${Table.Nothing}"}
            ),
            "Shift (AWS::CloudFormation::Stack) has no attribute Outputs.Other": lambda t: logs(t).update(
                KmsKeyId={"Fn::GetAtt": "Shift.Outputs.Other"}
            ),
            "AWS::Nothing does not exist": lambda t: logs(t).update(KmsKeyId={"Ref": "AWS::Nothing"}),
            "the condition Never does not exist": lambda t: logs(t).update(KmsKeyId={"Fn::If": ["Never", 1, 2]}),
            "depend on each other in a circle": lambda t: shift(t).update(LogRetentionDays={"Ref": "Api"}),
            "Shift lacks the parameter RolesVersion": lambda t: shift(t).pop("RolesVersion"),
            "Shift has no parameter Other": lambda t: shift(t).update(Other="x"),
            "resources of the template are more than 260": lambda t: t["Resources"].update(
                {f"Queue{i}": {"Type": "AWS::SQS::Queue"} for i in range(60)}
            ),
            "bytes of the template are more than 1000000": lambda t: t["Resources"]["Table"].update(Metadata={"x": "x" * 1_000_000}),
            "managed policies of RolesFunctionRole are more than 10": lambda t: role(t).update(ManagedPolicyArns=["arn"] * 11),
            "bytes of inline policies of RolesFunctionRole": lambda t: role(t).update(
                Policies=[{"PolicyDocument": {"Statement": [], "Id": "x" * 11_000}}]
            ),
            "routes of Api are more than 220": lambda t: t["Resources"]["Api"]["Properties"]["Body"]["paths"].update(
                {f"/{i}": {"get": {}} for i in range(100)}
            ),
            "2 permissions of OauthFunctionAliaslive are more than 1": lambda t: t["Resources"].update(
                Again=t["Resources"]["OauthPermission"]
            ),
            "bytes of permissions of OauthFunctionAliaslive": lambda t: t["Resources"]["OauthPermission"]["Properties"].update(
                SourceArn="x" * 4000
            ),
            # Each of these is short enough with names of the usual length.
            "bytes of variables of RolesFunction are more than 4096": lambda t: t["Resources"]["RolesFunction"]["Properties"][
                "Environment"
            ]["Variables"].update({f"NAME{i}": {"Ref": "CallCountries"} for i in range(3)}),
            "bytes of the policy of FunctionBoundary are more than 6144": lambda t: t["Resources"]["FunctionBoundary"][
                "Properties"
            ].update(PolicyDocument={"Statement": [], "Id": [{"Fn::GetAtt": ["Table", "Arn"]}] * 20}),
            "characters of the BackupVaultName of Vault": lambda t: t["Resources"].update(
                Vault={"Type": "AWS::Backup::BackupVault", "Properties": {"BackupVaultName": {"Fn::Sub": "${AWS::StackName}" * 3}}}
            ),
            "characters of the generated name of LongerThanTheLongestOfTheOthersRole": lambda t: t["Resources"].update(
                LongerThanTheLongestOfTheOthersRole=t["Resources"]["RolesFunctionRole"]
            ),
            "the parameter BaseUrl has no MaxLength": lambda t: t["Parameters"]["BaseUrl"].pop("MaxLength"),
            "the import warns of a server without a URL": lambda t: t["Resources"]["Api"]["Properties"].update(FailOnWarnings=True),
            "TasksFunctionEveryMinute: 'minutes' is not one of": lambda t: schedule(t, "TasksFunctionEveryMinute", "rate(1 minutes)"),
            "UsageResetFunctionMidnight: '0' is not of length 6": lambda t: schedule(t, "UsageResetFunctionMidnight", "cron(0 0 * * ?)"),
            "CodeDeploy has no configuration Canary10Percent4Minutes": lambda t: t["Resources"]["RolesFunctionDeploymentGroup"][
                "Properties"
            ].update(DeploymentConfigName={"Fn::If": ["IsDev", {"Fn::Sub": ["x", {"ConfigName": "AllAtOnce"}]}, "Canary10Percent4Minutes"]}),
            "Api: / has no method fetch": lambda t: t["Resources"]["Api"]["Properties"]["Body"]["paths"]["/"].update(fetch={}),
            "Table is left after a creation that failed": lambda t: t["Resources"]["Table"].update(DeletionPolicy="Retain"),
            "the name of the secret SealingKey does not begin": lambda t: t["Resources"]["SealingKey"]["Properties"].pop("Name"),
            "the key DataKey has no tag": lambda t: t["Resources"]["DataKey"]["Properties"].pop("Tags"),
            "the variables of DocsFunction are not encrypted": lambda t: t["Resources"]["DocsFunction"]["Properties"].pop("KmsKeyArn"),
            "RolesFunctionRole allows dynamodb:Query without a key": lambda t: statement(t, "RolesFunctionRole", 1)["Condition"].pop("Null"),
            "TableEncryption allows the use of the key without": lambda t: t["Resources"]["TableEncryption"]["Properties"][
                "PolicyDocument"
            ]["Statement"][0].pop("Condition"),
            "allows s3:PutObject outside of a folder": lambda t: allowing(t, "TasksFunctionRole", "s3:PutObject").update(
                Resource={"Fn::Sub": "${Resumes.Arn}/*"}
            ),
        }
        before = self.problems(lambda template: None)
        self.assertEqual(before, [])
        for expected, fault in faults.items():
            with self.subTest(expected):
                self.assertTrue([problem for problem in self.problems(fault) if expected in problem])

    def test_a_macro_in_a_nested_stack(self):
        load = check.loader(check.ROOT)

        def with_macro(path):
            template, inside = load(path)
            return {**template, "Transform": TEMPLATE["Transform"]}, inside

        self.assertIn("Shift has a macro, which needs CAPABILITY_AUTO_EXPAND", list(check.problems(PROD, with_macro)))


class Hook(unittest.TestCase):
    """The hook's code is in infra/shift.yaml."""

    def setUp(self):
        code = check.read("infra/shift.yaml")["Resources"]["Hook"]["Properties"]["Code"]["ZipFile"]
        self.module = {}
        exec(compile(code, "hook", "exec"), self.module)  # noqa: S102

    def status(self, function, answer, error=False):
        codedeploy, client = mock.Mock(), mock.Mock()
        codedeploy.list_deployment_targets.return_value = {"targetIds": ["t"]}
        info = {"functionName": function, "targetVersion": "8", "currentVersion": "7", "functionAlias": "live"}
        target = {"lambdaTarget": {"lambdaFunctionInfo": info}}
        codedeploy.batch_get_deployment_targets.return_value = {"deploymentTargets": [target] if function else []}
        result = {"Payload": io.BytesIO(json.dumps(answer).encode()), **({"FunctionError": "Unhandled"} if error else {})}
        client.invoke.return_value = result
        clients = {"codedeploy": codedeploy, "lambda": client}
        client.exceptions.TooManyRequestsException = KeyError
        with mock.patch.object(self.module["boto3"], "client", clients.get), mock.patch("builtins.print"):
            try:
                self.module["handle"]({"DeploymentId": "d-1", "LifecycleEventHookExecutionId": "e-1"}, None)
            except Exception:
                pass
        call = codedeploy.put_lifecycle_event_hook_execution_status.call_args.kwargs
        self.assertEqual((call["deploymentId"], call["lifecycleEventHookExecutionId"]), ("d-1", "e-1"))
        return call["status"], client.invoke.call_args

    def test_the_new_version_is_invoked(self):
        status, invoked = self.status("rolecall-RolesFunction-1", {"statusCode": 404})
        self.assertEqual((status, invoked.kwargs["Qualifier"]), ("Succeeded", "8"))
        self.assertEqual(json.loads(invoked.kwargs["Payload"])["requestContext"]["routeKey"], "GET /health")
        for job in ("Tasks", "Feed", "Deliver"):
            status, invoked = self.status(f"rolecall-{job}Function-1", {"failed": 0})
            payload = json.loads(invoked.kwargs["Payload"])
            self.assertEqual((status, payload), ("Succeeded", {"Records": [], "tenants": []}))

    def test_any_other_answer_fails(self):
        roles, tasks = "rolecall-RolesFunction-1", "rolecall-TasksFunction-1"
        for function, answer, error in [
            (roles, {"statusCode": 500}, False),
            (roles, {"statusCode": 404}, True),
            (roles, {"errorMessage": "x"}, False),
            (roles, [], False),
            (tasks, {"failed": 1}, False),
            (tasks, {"statusCode": 404}, False),
            (None, {}, False),
        ]:
            self.assertEqual(self.status(function, answer, error)[0], "Failed", (function, answer))

    def repeated(self, attempt):
        """Returns the status, the seconds of waiting and the event of the next run, if the new version is throttled."""

        class Throttled(Exception):
            pass

        codedeploy, client, waited = mock.Mock(), mock.Mock(), []
        client.exceptions.TooManyRequestsException = Throttled
        client.invoke.side_effect = lambda **call: None if "InvocationType" in call else throttle()

        def throttle():
            raise Throttled

        codedeploy.list_deployment_targets.return_value = {"targetIds": ["t"]}
        info = {"functionName": "rolecall-RolesFunction-1", "targetVersion": "8"}
        codedeploy.batch_get_deployment_targets.return_value = {"deploymentTargets": [{"lambdaTarget": {"lambdaFunctionInfo": info}}]}
        event = {"DeploymentId": "d-1", "LifecycleEventHookExecutionId": "e-1", **({"Attempt": attempt} if attempt else {})}
        context = mock.Mock(function_name="CodeDeployHook_rolecall")
        clients = {"codedeploy": codedeploy, "lambda": client}
        with (
            mock.patch.object(self.module["boto3"], "client", clients.get),
            mock.patch.object(self.module["time"], "sleep", waited.append),
            mock.patch.object(self.module["random"], "uniform", lambda least, most: (least, most)),
        ):
            self.module["handle"](event, context)
        statuses = [call.kwargs["status"] for call in codedeploy.put_lifecycle_event_hook_execution_status.call_args_list]
        again = [call.kwargs for call in client.invoke.call_args_list if "InvocationType" in call.kwargs]
        for call in again:
            self.assertEqual((call["FunctionName"], call["InvocationType"]), ("CodeDeployHook_rolecall", "Event"))
        return statuses, waited, [json.loads(call["Payload"]) for call in again]

    def test_a_throttled_hook_makes_room_and_runs_again(self):
        attempt, most = 0, []
        while True:
            statuses, waited, again = self.repeated(attempt)
            if not again:
                break
            self.assertEqual((statuses, again), ([], [{"DeploymentId": "d-1", "LifecycleEventHookExecutionId": "e-1", "Attempt": attempt + 1}]))
            attempt = again[0]["Attempt"]
            most += waited
        self.assertEqual((statuses, waited), (["Failed"], []))
        self.assertEqual(most, [(0, 2), (0, 4), (0, 8)] + [(0, 10)] * (attempt - 3), "a random part of a time that doubles")
        self.assertLess(attempt + 1, 16, "Lambda ends a function that has invoked itself this often")
        self.assertLess(10, check.read("infra/shift.yaml")["Resources"]["Hook"]["Properties"]["Timeout"])

    def deploy(self, seed, most, hooks=24):
        """Returns the statuses of hooks that start at once in an account with `most` concurrent executions."""
        chance, now, busy, statuses = random.Random(seed), 0.0, 0, []
        # When something happens, in any order at the same time: a run of a hook asks for an execution, or executions end.
        agenda = [(0.0, chance.random(), {}) for _ in range(hooks)]
        while agenda:
            now, _, event = heapq.heappop(agenda)
            if isinstance(event, int):
                busy -= event
            elif busy == most:
                # Lambda keeps the event of a function that it cannot start.
                heapq.heappush(agenda, (now + 1, chance.random(), event))
            elif busy + 2 <= most:
                # The hook and the cold start of the new version.
                busy += 2
                statuses.append("Succeeded")
                heapq.heappush(agenda, (now + 3, chance.random(), 2))
            else:
                busy += 1
                client, waited = mock.Mock(), [0.5]
                with (
                    mock.patch.object(self.module["time"], "sleep", waited.append),
                    mock.patch.object(self.module["random"], "uniform", chance.uniform),
                ):
                    failed = self.module["repeat"](client, event, mock.Mock())
                heapq.heappush(agenda, (now + sum(waited), chance.random(), 1))
                if failed:
                    statuses.append(failed)
                else:
                    again = json.loads(client.invoke.call_args.kwargs["Payload"])
                    heapq.heappush(agenda, (now + sum(waited), chance.random(), again))
        return statuses

    def test_a_new_account_has_room_for_a_deployment(self):
        for seed in range(20):
            self.assertEqual(self.deploy(seed, 10), ["Succeeded"] * 24, seed)
        self.assertIn("Failed", self.deploy(0, 1), "with one execution, no hook can invoke anything")


if __name__ == "__main__":
    unittest.main()
