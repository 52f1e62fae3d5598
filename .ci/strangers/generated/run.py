"""Generates clients from the OpenAPI document with published tools, compiles them, and runs a story with each: a quick post
with a key, all pages of a list, a field that null clears, the messages of a 422, a 304, a 429, and a newer release.

Usage: run.py ROLECALL [--all]

A story prints the name of each column that it has passed. The last lines are a table of all tools. Fails if a tool does less
than expected, or more. OPENAPI is another document than the one in the repository.
"""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import service
from tools import COLUMNS, LONG, SHORT

HERE = Path(__file__).parent
[JAR] = HERE.glob(".venv/lib/*/site-packages/openapi_generator_cli/openapi-generator.jar")
ENVIRONMENT = {
    **os.environ,
    "DOCUMENT": str(Path(os.environ.get("OPENAPI", HERE / "../../../functions/docs/openapi.json")).resolve()),
    # Java's optimized code comes too late to be of use.
    "OPENAPI_GENERATOR": f"java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -jar {JAR} generate",
    "PATH": f"{HERE / 'node_modules/.bin'}:{HERE / '.venv/bin'}:{os.environ['PATH']}",
    "PYTHONDONTWRITEBYTECODE": "1",
    "NODE_NO_WARNINGS": "1",
}


# What would override the generated types.
OVERRIDES = {"*.ts": r"\bas (?!const\b)|\bany\b|@ts-", "*.py": r"type: *ignore|\bcast\b"}


class Failure(Exception):
    """A command failed, or warned."""


def run(command, **environment):
    """Runs a command of Bash, and returns what it prints."""
    started = time.monotonic()
    bash = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=HERE,
        env={**ENVIRONMENT, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1500,
    )
    print(f"{time.monotonic() - started:6.1f} s  {command}", flush=True)
    if bash.returncode != 0:
        raise Failure(f"{command}\n{bash.stdout[-6000:]}")
    return bash.stdout


def generate(tool):
    """Generates a client. Tools that skip parts of the document succeed, but warn."""
    printed = run(tool.generate).splitlines()
    if "$OPENAPI_GENERATOR" in tool.generate:
        printed = [line for line in printed if re.search(r"\b(WARN|ERROR)\b", line)]
    if warnings := [line for line in printed if not any(re.search(harmless, line) for harmless in tool.harmless)]:
        raise Failure("\n".join([f"{tool.name} warns:", *warnings]))
    return ["generates"]


def compile_clients(command):
    run(command)
    return ["compiles"]


def read_stories():
    """Yields the lines of the stories that do not use the generated types."""
    for files, override in OVERRIDES.items():
        for story in sorted((HERE / "stories").glob(files)):
            for number, line in enumerate(story.read_text().splitlines(), 1):
                if re.search(override, line) and not line.startswith(("//", "import ")):
                    yield f"{story.name}:{number} overrides the generated types: {line.strip()}"


def tell(tool, environment):
    """Runs the story of a tool, and returns the columns that it has passed."""
    printed = run(tool.story, **environment).splitlines()
    for line in printed:
        if line not in COLUMNS:
            print(f"  {line}")
    return [line for line in printed if line in COLUMNS]


def print_table(tools, passed):
    width = max(len(tool.name) for tool in tools)
    print(f"{'':{width}}  {'  '.join(COLUMNS)}")
    for tool in tools:
        cells = (f"{'yes' if column in passed[tool] else '-':{len(column)}}" for column in COLUMNS)
        print(f"{tool.name:{width}}  {'  '.join(cells)}".rstrip())
    for tool in tools:
        for column, reason in tool.lacks.items():
            print(f"{tool.name}, {column}: {reason}")


def main(rolecall, tools, programs):
    passed = {tool: [] for tool in tools}
    failures = [*read_stories()]

    def attempt(work, argument, done):
        """Adds the columns that some work passes to those of the tools that it is done for."""
        try:
            columns = work(argument)
        except (Failure, subprocess.TimeoutExpired) as failure:
            failures.append(str(failure))
            return
        for tool in done:
            passed[tool] += columns

    run("rm -rf made go/made && mkdir made")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda tool: attempt(generate, tool, [tool]), tools))
        ready = {}
        for tool in tools:
            if passed[tool]:
                ready.setdefault(tool.compile, []).append(tool)
        list(pool.map(lambda command: attempt(compile_clients, command, ready[command]), ready))
    with service.local_service(rolecall) as base, service.future(base) as newer:
        service.reach_limit(base)
        environment = {
            "ROLECALL": base,
            "ROLECALL_KEY": service.ACME,
            "ROLECALL_LIMITED_KEY": service.GLOBEX,
            "ROLECALL_FUTURE": newer,
        }
        for tool in tools:
            if "compiles" in passed[tool]:
                attempt(lambda tool: tell(tool, environment), tool, [tool])
        for program in programs:
            attempt(lambda program: print(run(program, **environment), end=""), program, [])
    print_table(tools, passed)
    for tool in tools:
        expected = {*COLUMNS} - {*tool.lacks}
        if {*passed[tool]} != expected:
            failures.append(f"{tool.name} should pass {sorted(expected)}, and passes {sorted(passed[tool])}")
    if failures:
        raise SystemExit("\n\n".join(failures))


GUIDE = "python -u guide.py $ROLECALL"
if __name__ == "__main__":
    if "--all" in sys.argv:
        main(Path(sys.argv[1]).resolve(), SHORT + LONG, [GUIDE, "cd ../go_sdk && go run ."])
    else:
        main(Path(sys.argv[1]).resolve(), SHORT, [GUIDE])
