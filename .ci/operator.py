"""Runs every command of rolecall-admin in the operator's documents, as it is written there, with the local service as the
database.

Usage: operator.py FOLDER, with the folder of the binaries. Each block of commands gets a new local service with the records
of the sample events. Placeholders such as ORGANIZATION_ID get a value from them.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / ".ci/runtime"))

import processes  # noqa: E402
from dynamodb import DynamoDB  # noqa: E402

DOCUMENTS = ["infra/README.md", "infra/runbook.md"]
TOOL = "cargo run -p rolecall-admin -- "
ROLE = {"pk": {"S": "1#live#ROLE"}, "sk": {"S": "1700000000000011"}}


def main(folder):
    folder = pathlib.Path(folder).resolve()
    blocks = [block for document in DOCUMENTS for block in commands((ROOT / document).read_text())]
    environment = json.loads((ROOT / "infra/local/environment.json").read_text())["Parameters"]
    count = 0
    for block in blocks:
        api, database, bucket = processes.free_ports(3)
        options = ["--template", str(ROOT / "template.yaml"), "--memory", "--recorded"]
        with processes.local_service(str(folder / "rolecall"), options, api, database, bucket):
            operator = Operator(folder, DynamoDB(database), api, bucket, environment)
            for command in block:
                operator.run(command)
        count += len(block)
    print(f"{count} commands of {' and '.join(DOCUMENTS)} work as written")


def commands(text):
    """The commands of rolecall-admin in each block of a document."""
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        lines = [line for line in block.replace("\\\n", " ").splitlines() if line.startswith(TOOL)]
        if lines:
            yield lines


class Operator:
    def __init__(self, folder, dynamodb, api, bucket, environment):
        self.dynamodb, self.work = dynamodb, tempfile.TemporaryDirectory()
        self.service, self.bucket = f"http://127.0.0.1:{api}", f"http://127.0.0.1:{bucket}"
        self.tool = f"{folder / 'rolecall-admin'} --endpoint {dynamodb.url} --bucket-endpoint {self.bucket} "
        credentials = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1"}
        keys = {name: environment[name] for name in ("CREDENTIAL_KEYS", "SEALING_KEYS")}
        self.organization = "1"
        self.environment = {**os.environ, **credentials, **keys}

    def run(self, command):
        if "quarantine move" in command or "quarantine drop" in command:
            # The item cannot be read, or not yet again.
            status = {"S": "of a newer release"}
            self.dynamodb.call("PutItem", TableName="rolecall", Item={**self.role(), "status": status})
        if "quarantine drop" in command:
            self.shell(command.replace("drop", "move").replace(" --yes", ""))
        if "organization delete" in command:
            for item in self.items("#LEGAL_HOLD"):
                mode, person = item["pk"]["S"].split("#")[1], item["sk"]["S"].lstrip("0")
                self.shell(f"{TOOL}person lift-hold {self.organization} --mode {mode} --id {person}")
        output = self.shell(command)
        # A log without entries is empty.
        assert output or ">" in command or " audit " in command, f"{command} prints nothing"
        if " organization create " in command:
            self.organization = self.listed("organization list")

    def role(self):
        found = self.dynamodb.call("GetItem", TableName="rolecall", Key=ROLE).get("Item")
        return found or {**ROLE, "form": {"N": "1"}}

    def shell(self, command):
        """Runs a command with values instead of its placeholders."""
        for placeholder, value in {
            "ORGANIZATION_ID": lambda: self.organization,
            "APP_ID": lambda: self.listed("app list 1"),
            "KEY_ID": lambda: self.listed("key list 1"),
            "ENDPOINT_ID": lambda: self.listed("webhook list 1"),
            "CANDIDATE_ID": lambda: self.person("sk"),
            "SCREEN_ID": lambda: self.task("call"),
            # A variable comes before the placeholder of the same name.
            "$BUCKET": lambda: "local-resumes",
            "BUCKET": lambda: "local-resumes",
            "$TABLE": lambda: "rolecall",
            "$STACK-restored": lambda: "rolecall",
            "TABLE": lambda: "rolecall",
            "ada@example.com": lambda: self.person("email"),
            "https://api.example.com": lambda: self.service,
            "https://hiring.example.com": lambda: self.service,
            "--key KEY": lambda: f"--key {self.new_key()}",
        }.items():
            if placeholder in command:
                command = command.replace(placeholder, value())
        run = subprocess.run(
            ["bash", "-c", command.replace(TOOL, self.tool)],
            env=self.environment, cwd=self.work.name, capture_output=True, text=True,
        )
        assert run.returncode == 0, f"{command} fails: {run.stderr}{run.stdout}"
        return run.stdout

    def new_key(self):
        command = f"{TOOL}key create {self.organization} --name Smoke --scope organization:read --json"
        return json.loads(self.shell(command))["key"]

    def listed(self, command):
        """The newest of what a command lists."""
        return str(max(one["id"] for one in json.loads(self.shell(f"{TOOL}{command} --json"))))

    def task(self, kind):
        [task] = [task for task in json.loads(self.shell(f"{TOOL}task list --all --json")) if task["kind"] == kind][:1]
        return str(task["id"])

    def person(self, attribute):
        return self.items("1#live#CANDIDATE")[0][attribute]["S"].lstrip("0")

    def items(self, end):
        """The items in the partitions whose key has this end."""
        return [item for item in self.dynamodb.scan("rolecall") if item["pk"]["S"].endswith(end)]


if __name__ == "__main__":
    main(*sys.argv[1:])
