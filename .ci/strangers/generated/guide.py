"""Runs the code of the API guide in sh, Python and TypeScript: the loops over pages, the repetition of a POST, and the
generated clients. Also runs samples of the API reference in Python.

Usage: guide.py BASE

The service must have the demo company. The package and the types must have been generated.
"""

import html
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from tools import LONG, SHORT

GUIDE = Path("../../../functions/README.md").read_text(encoding="utf-8")
PROGRAMS = {"sh": ["bash", "-uc"], "python": ["python", "-c"], "ts": ["node", "--input-type=module", "--eval"]}
LOCAL = "http://127.0.0.1:3000"
BASE = sys.argv[1]
KEY = re.search(r"^export ROLECALL_KEY=(\S+)$", GUIDE, re.MULTILINE)[1]
API = httpx.Client(base_url=f"{BASE}/api/v1", headers={"Authorization": f"Bearer {KEY}"})
ENVIRONMENT = {**os.environ, "ROLECALL_KEY": KEY, "PYTHONPATH": "."}
# The seconds for which a refused attempt must wait. They are longer than the program's own.
REFUSALS = {1: (503, 2), 2: (429, 3)}


def code(heading):
    """Returns the code below a heading, by language."""
    section = re.split(rf"^##+ {heading}\n", GUIDE, flags=re.MULTILINE)[1]
    section = re.split(r"^##+ ", section, flags=re.MULTILINE)[0]
    return dict(re.findall(r"^```(sh|python|ts)\n(.*?)^```", section, re.MULTILINE | re.DOTALL))


def compile_typescript():
    """Compiles the guide's TypeScript, and returns the JavaScript by heading."""
    headings = ["Paging", "Idempotency", "TypeScript"]
    for heading in headings:
        Path(f"made/{heading}.ts").write_text(code(heading)["ts"])
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", "--ignoreConfig"]
    subprocess.run(
        ["node_modules/typescript-7/bin/tsc", *options, *(f"made/{heading}.ts" for heading in headings)], check=True
    )
    return {heading: Path(f"made/{heading}.js").read_text() for heading in headings}


def run(heading, language, base=BASE):
    """Runs the code below a heading, and returns its output."""
    text = JAVASCRIPT[heading] if language == "ts" else code(heading)[language]
    return output([*PROGRAMS[language], text.replace(LOCAL, base)])


def output(command):
    result = subprocess.run(command, cwd="made", env=ENVIRONMENT, capture_output=True, text=True)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


def everything(path):
    """Returns all items of a list, which it reads with the URLs in the `Link` header."""
    items = []
    while path:
        response = API.get(path).raise_for_status()
        items += response.json()["data"]
        path = response.links.get("next", {}).get("url")
    return items


def read_pages():
    expected = [candidate["id"] for candidate in everything("/candidates?limit=7")]
    assert len(expected) > 100, "the loops must read more than one page"
    for language in code("Paging"):
        printed = run("Paging", language)
        if language == "sh":
            found = [item["id"] for line in printed.splitlines() for item in json.loads(line)["data"]]
        else:
            found = [int(line) for line in printed.splitlines()]
        assert found == expected, f"{language} reads {len(found)} of {len(expected)} candidates"
        print(f"all pages in {language}")


def repeat_posts(language):
    """Runs the guide's POST on a proxy that refuses two attempts, and loses the response to the third."""
    attempts = []
    answers = []

    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            attempts.append((time.monotonic(), self.headers["idempotency-key"]))
            if refusal := REFUSALS.get(len(attempts)):
                self.send_response(refusal[0])
                self.send_header("Retry-After", str(refusal[1]))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            names = ["Authorization", "Content-Type", "Idempotency-Key"]
            sent = {name: self.headers[name] for name in names}
            answers.append(httpx.post(f"{BASE}{self.path}", content=body, headers=sent))
            if len(answers) == 1:
                self.close_connection = True
                return
            self.send_response(answers[-1].status_code)
            self.send_header("Content-Length", str(len(answers[-1].content)))
            self.end_headers()
            self.wfile.write(answers[-1].content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    printed = run("Idempotency", language, f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    first, second = answers
    assert first.status_code == second.status_code == 201 and first.json() == second.json(), answers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert str(first.json()["role"]["id"]) in printed, printed
    times, keys = zip(*attempts, strict=True)
    assert len(attempts) == 4 and len({*keys}) == 1, attempts
    for number, (_, seconds) in REFUSALS.items():
        assert times[number] - times[number - 1] >= seconds, attempts
    print(f"a repeated POST in {language}")
    return keys[0]


def use_clients():
    expected = [str(role["id"]) for role in everything("/roles?status=open")]
    assert expected
    for heading, language in [("TypeScript", "ts"), ("Python", "python")]:
        printed = run(heading, language)
        assert [line.split()[0] for line in printed.splitlines()] == expected, printed
        print(f"the generated client in {language}")
    check_generators()
    pinned = json.loads(Path("package.json").read_text())["devDependencies"]["openapi-typescript"]
    assert f"openapi-typescript@{pinned} " in code("TypeScript")["sh"]
    pinned = re.search(r"^openapi-python-client==.*$", Path("requirements.in").read_text(), re.MULTILINE)[0]
    assert f"pip install {pinned}\n" in GUIDE


def check_generators():
    """The generators and options that the guide names are those that are tried."""
    [python] = re.findall(r"^openapi-generator-cli==(.*)$", Path("requirements.in").read_text(), re.MULTILINE)
    npm = {name: json.loads(Path(name, "package.json").read_text())["devDependencies"] for name in (".", "orval")}
    go = Path("go/go.mod").read_text()
    pinned = {
        "openapi-generator": python,
        "hey-api": npm["."]["@hey-api/openapi-ts"],
        "orval": npm["orval"]["orval"],
        "oapi-codegen": re.search(r"oapi-codegen/v2 v(\S+)", go)[1],
        "ogen": re.search(r"ogen-go/ogen v(\S+)", go)[1],
    }
    for name, version in pinned.items():
        assert re.search(rf"^{name} {version}\b", GUIDE, re.MULTILINE), f"{name} {version}"
    for tool in SHORT + LONG:
        if found := re.search(r"(-g \S+) .*(--additional-properties=\S+)", tool.generate):
            assert f"\n  {found[1]} {found[2]}\n" in GUIDE, found[0]


# The programs that the guide's excerpts are from.
EXCERPTS = {
    "ts": "stories/openapi_generator_fetch.ts",
    "python": "stories/openapi_generator_python.py",
    "java": "java/Story.java",
    "kotlin": "kotlin/Story.kt",
    "go": "go/story_openapi_generator/main.go",
    "rust": "rust/src/main.rs",
    "ruby": "stories/openapi_generator_ruby.rb",
    "php": "stories/openapi_generator_php.php",
}


def check_excerpts():
    """The lines of the guide's excerpts are in the programs that are run, in this order."""
    section = re.search(r"^### Other generators\n(.*?)^## ", GUIDE, re.MULTILINE | re.DOTALL)[1]
    excerpts = dict(re.findall(r"^```(\w+)\n(.*?)^```", section, re.MULTILINE | re.DOTALL))
    for language, file in EXCERPTS.items():
        lines = iter(map(str.strip, Path(file).read_text().splitlines()))
        for line in filter(None, map(str.strip, excerpts[language].splitlines())):
            assert line in lines, f"{file} does not have: {line}"
    print(f"{len(EXCERPTS)} excerpts")


def run_samples():
    """Compiles all samples in Python, and runs two."""
    start = httpx.get(f"{BASE}/docs").text
    assert f"export ROLECALL_KEY={KEY}<" in re.sub(r"<span[^>]*>|</span>", "", start)
    pages = {*re.findall(r'<a href="/docs/([\w-]+)#\w+"><span>', start)}
    found = {}
    for page in pages:
        for text in re.findall(r"<pre><code>(.*?)</code></pre>", httpx.get(f"{BASE}/docs/{page}").text, re.DOTALL):
            sample = html.unescape(re.sub("<[^>]+>", "", text))
            if sample.startswith("import "):
                compile(sample, page, "exec")
                request = re.search(r'httpx\.(\w+)\(\s*"http://[^/]+(.*?)"', sample)
                found[request.groups()] = sample
    assert len(found) >= 50, len(found)
    for request in ("get", "/api/v1/roles"), ("post", "/api/v1/quick_post"):
        assert "'id': " in output([*PROGRAMS["python"], found[request]])
    print(f"{len(found)} samples in Python")


JAVASCRIPT = compile_typescript()
read_pages()
with ThreadPoolExecutor() as pool:
    used = list(pool.map(repeat_posts, code("Idempotency")))
assert len({*used}) == len(used) == 2, "each change needs a new key"
use_clients()
check_excerpts()
run_samples()
