"""Types the commands of the documents, as they are printed: each `sh` block, in bash and then in zsh.

Usage: run.py TARGET [DOCUMENT...], with the folder of the build. It needs root, because each terminal has a fresh copy of
the checkout in the place of the checkout, so that Cargo finds what it has compiled.

A block that cannot run here says why to its reader, with one of the REASONS in the paragraph before it. Its commands are
then only judged (commands.py), as are all commands in the text around the blocks. `cargo test` and `.ci/run` are lanes
themselves.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import markdown
from commands import Judge, Wrong, commands, is_lane
from expected import EXPECTED
from terminal import Failed, Terminal

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci/runtime"))

import processes  # noqa: E402
from dynamodb import DynamoDB  # noqa: E402

REASONS = ["*needs an AWS account*", "*needs another system*", "*changes the machine*", "*waits for a person*"]
# The number of blocks with a reason. It may only become smaller.
MARKED = 29
# The lane `docker` types this section, because it needs a Docker engine.
CONTAINERS = ("infra/README.md", "Functions in containers")
# The programs of commands that are judged in the text around the blocks.
PROGRAMS = ("cargo ", ".ci/run", ".ci/renew", "infra/fuzz/run", "sam ", "aws ", "python3 infra/deploy.py", "rolecall-admin ")


class Documents:
    def __init__(self, target, chosen):
        self.chosen = chosen
        self.target = pathlib.Path(target).resolve()
        self.copy = self.target / "documents"
        self.judge = Judge(self.target)
        self.counts = {"typed": 0, "elsewhere": 0, "lanes": 0, "docker": 0, "marked": 0, "inline": 0}

    def run(self):
        make_copy(self.copy)
        problems = []
        paths = [path.relative_to(ROOT) for path in markdown.documents(ROOT)]
        documents = [(path, markdown.read(ROOT / path)) for path in paths if not self.chosen or str(path) in self.chosen]
        texts = "\n".join(block.text for _, document in documents for block in document.blocks)
        functions = re.findall(r"^(\w+)\(\) *\{", texts, re.MULTILINE)
        for path, document in documents:
            problems += self.judge_texts(path, document)
        for path, document in documents:
            blocks = [block for block in document.blocks if block.language == "sh"]
            try:
                typed = [block for block in blocks if self.is_typed(str(path), block)]
            except Wrong as error:
                problems.append(f"{path}: {error}")
                continue
            problems += self.judge_blocks(path, [block for block in blocks if block not in typed], functions)
            for shell in ("bash", "zsh") if typed else ():
                if problem := self.type(str(path), typed, shell):
                    problems.append(problem)
                    break
                print(f"{path}: {len(typed)} blocks were typed in {shell}")
            self.counts["typed"] += len(typed)
        print(*problems, sep="\n", file=sys.stderr)
        print(
            "{typed} blocks were typed in bash and zsh; {lanes} are lanes, and the lane docker types {docker}; {marked} are marked "
            "and {elsewhere} are in other documents: these were judged, as were {inline} commands in the text".format(**self.counts)
        )
        if not self.chosen and self.counts["marked"] != MARKED:
            problems.append(f"{self.counts['marked']} blocks are marked, not {MARKED}: type more of them, or count fewer here")
            print(problems[-1], file=sys.stderr)
        return bool(problems)

    def is_typed(self, path, block):
        """Whether a block is typed here, and counts it by what else becomes of it."""
        found = commands(block.text)
        if any(reason in block.before for reason in REASONS):
            self.counts["marked"] += 1
        elif (path, block.section) == CONTAINERS:
            self.counts["docker"] += 1
        elif found and all(map(is_lane, found)):
            self.counts["lanes"] += 1
        elif path in TYPED:
            return True
        else:
            self.counts["elsewhere"] += 1
        return False

    def judge_texts(self, path, document):
        """Judges the commands in the text around the blocks."""
        for code in document.codes:
            command = re.sub(r"^([A-Z_]+=\S+ )+", "", code.text)
            if command.startswith(PROGRAMS):
                self.counts["inline"] += 1
                try:
                    self.judge.judge(command)
                except Wrong as error:
                    yield f"{path}:{code.line}: {error}"

    def judge_blocks(self, path, blocks, functions):
        for block in blocks:
            try:
                self.judge.judge(block.text, functions)
            except Wrong as error:
                yield f"{path}:{block.line}: {error}"

    def type(self, path, blocks, shell):
        """Types the blocks of a document in terminals: a command that listens on a port keeps the terminal that it has."""
        output, place = "", f"{path}:1"
        with contextlib.ExitStack() as stack:
            terminal = None
            try:
                for block in blocks:
                    place = f"{path}:{block.line}"
                    if terminal is None or path in OPERATION:
                        environment = stack.enter_context(SETTINGS.get(path, nothing)(self.target, block.section))
                        terminal = self.terminal(stack, shell, environment)
                    shown, ports = terminal.type(block.text)
                    output += shown
                    if ports:
                        terminal.leave_running()
                        terminal = None
                look_for(EXPECTED.get(path, []), output)
            except Failed as error:
                return f"{place}: {error}"
        return None

    def terminal(self, stack, shell, environment):
        script = 'mount --bind "$1/target" "$2/target" && mount --rbind "$2" "$1" && cd "$1" && shift 2 && exec "$@"'
        place = ["unshare", "--mount", "sh", "-c", script, "-", str(ROOT), str(self.copy)]
        terminal = Terminal(shell, place, {**os.environ, **environment})
        stack.callback(terminal.close)
        return terminal


def make_copy(folder):
    """Copies the checkout with the times of its files and folders, so that Cargo does not compile anything again."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "target").mkdir(parents=True)
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout
    for file in map(os.fsdecode, files.rstrip(b"\0").split(b"\0")):
        if (ROOT / file).exists():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / file, follow_symlinks=False)
    shutil.copytree(ROOT / ".git", folder / ".git", symlinks=True)
    # Cargo looks at the times of folders that a build script reads, too.
    for copied, _, _ in os.walk(folder, topdown=False):
        original = ROOT / pathlib.Path(copied).relative_to(folder)
        if original.is_dir():
            shutil.copystat(original, copied)


def look_for(patterns, output):
    """Looks for patterns in an output, in their order."""
    position = 0
    for pattern in patterns:
        found = re.compile(pattern).search(output, position)
        if not found:
            raise Failed(f"{pattern} is missing in:\n{output[position:][-6000:]}")
        position = found.end()


@contextlib.contextmanager
def nothing(*_):
    """The document starts the service itself, or needs none."""
    yield {}


@contextlib.contextmanager
def demo(target, _):
    """The local service as `cargo run` starts it."""
    with processes.local_service(str(target / "debug/rolecall"), ["--memory", "--demo"], 3000, *processes.free_ports(2)):
        yield {}


@contextlib.contextmanager
def recorded(target, section):
    """The local service with the records of the sample events, as what rolecall-admin works on."""
    api, database, bucket = processes.free_ports(3)
    options = ["--memory", "--recorded"]
    keys = json.loads((ROOT / "infra/local/environment.json").read_text())["Parameters"]
    with processes.local_service(str(target / "debug/rolecall"), options, api, database, bucket):
        if section in UNREADABLE:
            key = {"pk": {"S": RECORDS["PK"]}, "sk": {"S": RECORDS["SK"]}}
            table = DynamoDB(database)
            role = table.call("GetItem", TableName="rolecall", Key=key)["Item"]
            table.call("PutItem", TableName="rolecall", Item={**role, "status": {"S": "of a newer release"}})
        yield {
            **RECORDS,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_DYNAMODB": f"http://127.0.0.1:{database}",
            "RESUME_ENDPOINT": f"http://127.0.0.1:{bucket}",
            "BASE_URL": f"http://127.0.0.1:{api}",
            **{name: keys[name] for name in ("TABLE_NAME", "RESUME_BUCKET", "CREDENTIAL_KEYS", "SEALING_KEYS")},
        }


# What the operator sets before a command: records of infra/local/src/event_fixtures.rs.
RECORDS = {
    "ORGANIZATION": "1",
    "KEY": "1700000000000007",
    "APP": "1700000000000051",
    "ENDPOINT": "1700000000000061",
    "EMAIL": "recorded-31@example.com",
    # The only person on legal hold.
    "CANDIDATE": "1700000000000045",
    "SCREEN": "1700000000000041",
    "PK": "1#live#ROLE",
    "SK": "1700000000000011",
    "ROLECALL_KEY": "rc_live_000000001000000001ZCG7000000DemoKeyOfAcmeLiveNotASecretJPF42F2mh9z0N3tAZ",
}
# Sections about an item that cannot be read.
UNREADABLE = ("Items that cannot be read", "Remove a poison item")
# What a document finds running. Each block of the operator's documents gets a service of its own.
OPERATION = ("infra/README.md", "infra/runbook.md")
SETTINGS = {"functions/README.md": demo, **dict.fromkeys(OPERATION, recorded)}
# The documents whose blocks are typed. Elsewhere, commands are only judged.
TYPED = ("README.md", "CONTRIBUTING.md", "tests/README.md", *SETTINGS)


if __name__ == "__main__":
    # If this program is stopped, what it has started must end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(Documents(sys.argv[1], sys.argv[2:]).run())
