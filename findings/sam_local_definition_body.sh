#!/usr/bin/env bash
# AWS SAM CLI 1.170.0: which routes of an HTTP API's DefinitionBody `sam local start-api` serves.
#
# A definition that API Gateway accepts is not always one that `sam local` reads. A route is found if its integration's URI
# names the function as `${Function.Arn}`, also with an alias after it, which the deployed API then uses: `${Function.Arn}:live`.
# With SAM's own `${Function.Alias}` it is not found, without a warning, although SAM's own events deploy the same URI. An
# integration that several routes share by `$ref`, as API Gateway's documentation shows, ends with an AttributeError.
# API Gateway exports the default route as `/$default`. `sam local` takes that for a path, and only `$default` for the
# route of all other requests. SAM writes the slash when it deploys, but only with `FailOnWarnings: true`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check aws-sam-cli==1.170.0
cat >"$folder/template.yaml" <<'END'
AWSTemplateFormatVersion: '2010-09-09'
Transform: AWS::Serverless-2016-10-31
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      FailOnWarnings: true
      DefinitionBody:
        openapi: 3.0.1
        info: {title: x, version: '1'}
        components:
          x-amazon-apigateway-integrations:
            Shared: {type: aws_proxy, httpMethod: POST, payloadFormatVersion: '2.0', uri: !Sub 'arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Function.Arn}/invocations'}
        paths:
          /arn: {get: {x-amazon-apigateway-integration: {type: aws_proxy, httpMethod: POST, payloadFormatVersion: '2.0', uri: !Sub 'arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Function.Arn}/invocations'}}}
          /arn-and-alias: {get: {x-amazon-apigateway-integration: {type: aws_proxy, httpMethod: POST, payloadFormatVersion: '2.0', uri: !Sub 'arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Function.Arn}:live/invocations'}}}
          /alias: {get: {x-amazon-apigateway-integration: {type: aws_proxy, httpMethod: POST, payloadFormatVersion: '2.0', uri: !Sub 'arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Function.Alias}/invocations'}}}
          $default: {x-amazon-apigateway-any-method: {isDefaultRoute: true, x-amazon-apigateway-integration: {type: aws_proxy, httpMethod: POST, payloadFormatVersion: '2.0', uri: !Sub 'arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${Function.Arn}/invocations'}}}
  Function:
    Type: AWS::Serverless::Function
    Properties: {Runtime: provided.al2023, Handler: bootstrap, CodeUri: s3://bucket/key, AutoPublishAlias: live}
END
cat >"$folder/routes.py" <<'END'
from unittest.mock import Mock

import boto3
from samcli.lib.providers.api_provider import ApiProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from samcli.local.apigw.local_apigw_service import LocalApigwService
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator


def served(path):
    """The paths that `sam local start-api` serves, as Flask writes them."""
    stacks, _ = SamLocalStackProvider.get_stacks(path)
    service = LocalApigwService(ApiProvider(stacks).api, Mock())
    service.create()
    return sorted({rule.rule for rule in service._app.url_map.iter_rules()} - {"/static/<path:filename>"})


template = open("template.yaml").read()
found = served("template.yaml")
print("served:", found)
assert found == ["/", "/<path:any_path>", "/arn", "/arn-and-alias"], "sam local serves other routes now"

shared = "          /shared: {get: {x-amazon-apigateway-integration: {$ref: '#/components/x-amazon-apigateway-integrations/Shared'}}}\n"
open("shared.yaml", "w").write(template.replace("          $default:", f"{shared}          $default:"))
try:
    found = served("shared.yaml")
except AttributeError as error:
    print("with a shared integration:", error)
else:
    raise SystemExit(f"sam local reads shared integrations now: {found}")

open("slash.yaml", "w").write(template.replace("          $default:", "          /$default:"))
found = served("slash.yaml")
print("served with the path /$default:", found)
assert found == ["/$default", "/arn", "/arn-and-alias"], "sam local reads /$default in another way now"

for fails in ("true", "false"):
    parsed = yaml_parse(template.replace("FailOnWarnings: true", f"FailOnWarnings: {fails}"))
    deployed = Translator({}, Parser(), boto_session=boto3.Session(region_name="us-east-1")).translate(parsed, {})
    body = deployed["Resources"]["Api"]["Properties"]["Body"]["paths"]
    default = [path for path in body if "default" in path]
    print(f"deployed with FailOnWarnings: {fails}:", default, body["/alias"]["get"]["x-amazon-apigateway-integration"]["uri"])
    assert default == ["/$default" if fails == "true" else "$default"], "SAM deploys another path now"
END
cd "$folder"
"$folder/venv/bin/python" -W ignore routes.py 2>"$folder/errors" || { cat "$folder/errors" >&2; exit 1; }
