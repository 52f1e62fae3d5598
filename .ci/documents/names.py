"""Checks that what the documents name exists, and is where they say.

Usage: names.py [ROOT], with the root of a checkout of the project; without it, this one. Prints each untrue name as
`PATH:LINE: what is wrong`.
"""

import itertools
import pathlib
import re
import shlex
import sys

import claims
from tree import Tree

NAME = re.compile(
    r"\.?([A-Za-z_]\w*(?:::(?:\w+|\{[\w, ]+\}))*)(?:<[^>]*>)?!?(?:\(.*\))?(?:\.\w+(?:\(.*\))?)*$", re.DOTALL
)
PATH = re.compile(r"\.?[\w*{}-]+(?:[./][\w*{}-]+)*/?$")
ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)=(?!=)")
METHODS = "GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|ANY"
# What stands between the names of a list, and between a name or a list and the path of its file.
BETWEEN = re.compile(r",?\s*(?:and|or|and then)?\s*$|,\s*(?:and|or|and then)\s*$")
IN = re.compile(r"\s+(?:in|from|at the (?:top|end) of)\s+$|\s+\($")
HAS = re.compile(r"\s+(?:has|contains|defines|declares|lists)\s+(?:the\s+)?$")
# Names that the document itself introduces.
CREATES = re.compile(r"\b(?:creates?|adds?)\s+$", re.IGNORECASE)
# A sentence about what is gone, or must not be, names what does not exist.
GONE = re.compile(r"\b(?:replaced by|renamed|never called)\b")
# `insert_x` is a pattern of names.
PLACEHOLDER = re.compile(r"[a-z]+_x$")
# Names of others that no source contains, with what they are.
FOREIGN = {
    ".cursor/mcp.json": "a file of an assistant",
    "altChunk": "an element of a Word document, which the sources have in lower case",
    "Referer": "a header, which the sources do not read",
    "/api/v2": "a version that may exist one day",
    "rolecall-client": "a generator makes this name from the document's title",
}
LOCAL = re.compile(r"(?:http://(?:127\.0\.0\.1|localhost):3000|https://YOUR-[A-Z]+|\{base_url\})(/[^\s?#`]*)?")
SHELL = re.compile(r"&&|\|\||[;|\n]")


def main(root):
    tree = Tree(root)
    found = {fault for rule in (of_documents, claims.faults) for fault in rule(tree)}
    for path, line, message in sorted(found):
        print(f"{path}:{line}: {message}")
    return bool(found)


def of_documents(tree):
    for document in tree.documents:
        path = document.path.relative_to(tree.root).as_posix()
        for line, message in Names(tree, document, path).faults():
            yield path, line, message
    yield from undescribed_lanes(tree)


class Names:
    """The names in one document."""

    def __init__(self, tree, document, path):
        self.tree, self.document, self.path = tree, document, path
        self.folder = pathlib.PurePosixPath(path).parent.as_posix()
        self.folder = "" if self.folder == "." else self.folder
        # The words of the document's own examples, and the paths that it tells to create.
        self.examples = set(re.findall(r"\w+", "\n".join(block.text for block in document.blocks)))
        self.created = {code.text for code in document.codes if CREATES.search(code.context[: code.start])}

    def faults(self):
        for code in self.document.codes:
            text = code.text.strip()
            if text not in FOREIGN and text not in self.created and not GONE.search(sentence(code)):
                yield from ((code.line, message) for message in self.wrong(text, code))
        for _, group in itertools.groupby(self.document.codes, key=lambda code: id(code.context)):
            yield from self.pairs(list(group))
        for table in self.document.tables:
            yield from self.table(table)
        for link in self.document.links:
            if message := self.link(link.target):
                yield link.line, message
        for line, text in self.document.prose:
            for match in re.finditer(r"\blanes?\s+((?:`\w+`(?:,\s*|\s+and\s+|\s+or\s+)?)+)|`(\w+)` lane\b", text):
                for lane in re.findall(r"\w+", (match[1] or match[2]).replace(" and ", " ").replace(" or ", " ")):
                    if lane not in self.tree.lanes:
                        yield line + text.count("\n", 0, match.start()), f"no lane is called {lane}"
        for block in self.document.blocks:
            if block.language in ("sh", "bash", "console"):
                for source in re.finditer(r"(?:\\\n|[^\n])+", block.text):
                    line = block.line + block.text.count("\n", 0, source.start())
                    yield from ((line, message) for message in self.commands(source[0].replace("\\\n", " ")))
            yield from self.example(block)

    # Code spans

    def wrong(self, text, code):
        tree = self.tree
        if match := re.match(rf"({METHODS}) ((?:\.\.\.)?/\S*)", text):
            if not is_route(tree, match[2], match[1]):
                yield f"no route is {match[1]} {match[2]}"
            return
        if match := LOCAL.search(text):
            if match[1] and "..." not in match[1] and not is_route(tree, match[1].rstrip("\"'})")):
                yield f"no route is {match[1]}"
            return
        if re.fullmatch(r"(\.\.\.)?/[\w.-][^\s]*", text):
            if not is_route(tree, text):
                yield f"no route is {text}"
            return
        if self.is_path(text):
            # A program may have the path in a text (a folder of the bucket, the name of a method), and a patch may add the file.
            if not self.resolve(text) and f'"{text}' not in tree.source and f"+++ b/{text}\n" not in tree.source:
                yield f"{text} does not exist"
            return
        if "::{" in text and NAME.match(text):
            yield from self.identifier(text)
            return
        if re.fullmatch(r"[a-z_]+::", text):
            if not any(name.startswith(text) for name in api_tests(tree)):
                yield f"no test's name begins with {text}"
            return
        if re.fullmatch(r"[A-Za-z\d]+([-:][A-Za-z\d_]+)+", text):
            if text.lower() not in tree.lower and not re.search(r"[:-](ID|\d+)$", text):
                yield f"nothing is called {text}"
            return
        if " " in text or ASSIGNMENT.match(text) or text.startswith("--"):
            yield from self.commands(text)
            yield from self.lone_option(text, code)
            # A command may have the beginning of a test's name.
            yield from self.missing(
                word for word in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text) if word not in tree.source
            )
            return
        if re.search(r"#[A-Z_]{2,}", text):
            for word in re.findall(r"[A-Z][A-Z_]+", text):
                if word not in tree.words:
                    yield f"no key contains {word}"
            return
        yield from self.identifier(text)

    def is_path(self, text):
        if not PATH.match(text) or re.match(r"[\d.]+$", text):
            return False
        last = text.rstrip("/").split("/")[-1]
        if text.endswith("/") or any(
            last.endswith(extension) for extension in self.tree.extensions if last != extension
        ):
            return True
        return "/" in text and any(f"/{path}".endswith("/" + text.split("/")[0]) for path in self.tree.paths)

    def resolve(self, text, section=None):
        """The files or folders that a path means."""
        tree = self.tree
        if text.split("/")[0] in tree.ignored:
            return [text]
        folders = [self.folder, ""]
        if section:
            folders = [
                path for code in re.findall(r"[\w.]+(?:/[\w.]+)+", section) for path in tree.find(code)
            ] + folders
        found = tree.find(text, folders)
        if not found and "/" not in text.rstrip("/"):
            # A file that the service serves.
            found = [path for _, path in tree.routes if path.endswith(f"/{text}")]
        return found

    def identifier(self, text):
        """Each name occurs in the sources, and a member's name in a file that also has its type or module."""
        if not (match := NAME.match(text)) or PLACEHOLDER.match(match[1]):
            return
        words = re.findall(r"[A-Za-z_]\w+", re.sub('"[^"]*"', "", text))
        missing = [*self.missing(words)]
        yield from missing
        if not missing:
            for name in expanded(match[1]):
                parts = name.split("::")
                if len(parts) > 1 and not self.is_member(parts):
                    yield f"{name} does not exist"

    def missing(self, words):
        return (
            f"nothing is called {word}" for word in words if word not in self.tree.words and word not in self.examples
        )

    def is_member(self, parts):
        tree, (*_, owner, name) = self.tree, parts
        if f"tests/api/{parts[0]}.rs" in tree.paths and len(parts) == 2:
            full = "::".join(parts)
            return any(test == full for test in api_tests(tree)) or self.is_in_module(owner, name)
        if parts[0] in tree.crates:
            return True
        if owner in tree.types:
            return any(re.search(rf"\b{owner}\b", tree.text(file)) for file in tree.definitions.get(name, ()))
        if owner[0].isupper():
            # A type of others, or a parameter: `R::new`.
            return len(owner) > 1 or name in tree.definitions
        return self.is_in_module(owner, name)

    def is_in_module(self, owner, name):
        """Whether a module or a crate of ours defines the name."""
        package = self.tree.packages.get(owner)
        return any(
            re.search(rf"/{owner}(/|\.rs$)", f"/{file}") or (package and file.startswith(f"{package}/"))
            for file in self.tree.definitions.get(name, ())
        )

    # A name and its file

    def pairs(self, codes):
        context = codes[0].context
        between = [context[a.end : b.start] for a, b in itertools.pairwise(codes)]
        for at, code in enumerate(codes):
            if not self.is_path(code.text) or not (files := self.resolve(code.text)):
                continue
            names = []
            if (
                at
                and IN.search(between[at - 1])
                and BETWEEN.match(between[at - 1][: IN.search(between[at - 1]).start()])
            ):
                first = at - 1
                while first > 0 and BETWEEN.fullmatch(between[first - 1]):
                    first -= 1
                names += codes[first:at]
            if at < len(between) and HAS.fullmatch(between[at]):
                last = at + 1
                while last < len(between) and BETWEEN.fullmatch(between[last]):
                    last += 1
                names += codes[at + 1 : last + 1]
            # `name` (`a.rs`, `b.rs`)
            after = at
            while (
                after < len(between)
                and re.fullmatch(r"(,| and)\s+", between[after])
                and self.is_path(codes[after + 1].text)
            ):
                after += 1
                files = files + self.resolve(codes[after].text)
            for name in names:
                if not self.is_path(name.text) and (match := NAME.match(name.text)):
                    for one in expanded(match[1]):
                        if message := self.outside(one, files, code.text):
                            yield name.line, message

    def outside(self, name, files, path):
        tree, (*owners, last) = self.tree, name.split("::")
        files = [file for known in files for file in (tree.below(known) or [known])]
        if any(
            last in tree.defined_in(file) and all(owner in tree.text(file) for owner in owners[-1:]) for file in files
        ):
            return None
        elsewhere = sorted(tree.definitions.get(last, ()))
        return f"{name} is not in {path}" + (f", but in {elsewhere[0]}" if len(elsewhere) == 1 else "")

    # Tables

    def table(self, table):
        header = [cell.strip("`") for cell in table.header]
        for number, row in enumerate(table.rows):
            line = table.line + 2 + number
            cells = [re.findall(r"`([^`]+)`", cell) for cell in row]
            if header[:1] == ["Lane"]:
                for lane in cells[0]:
                    if lane not in self.tree.lanes:
                        yield line, f"no lane is called {lane}"
            if header[:1] in (["File"], ["Module"], ["Path"]) and len(cells) > 1:
                files = [file for path in cells[0] for file in self.resolve(path, table.section)]
                text = "\n".join(
                    self.tree.text(file) for known in files for file in (self.tree.below(known) or [known])
                )
                for name in cells[1]:
                    if re.fullmatch(r"[A-Z]\w*[a-z]\w*|[A-Z]+_[A-Z_]+", name) and not re.search(rf"\b{name}\b", text):
                        yield line, f"{name} is not in {row[0]}"
            for column, title in enumerate(header):
                if title == "Tested by" and column < len(cells):
                    for name in cells[column]:
                        if not self.is_tested_by(name):
                            yield line, f"{name} is no test"

    def is_tested_by(self, name):
        """A test, a file of `tests/api`, or another path."""
        if "::" in name:
            return name in api_tests(self.tree)
        return f"tests/api/{name}.rs" in self.tree.paths or self.is_path(name) and bool(self.resolve(name))

    # Links

    def link(self, target):
        if match := LOCAL.match(target):
            return None if not match[1] or is_route(self.tree, match[1]) else f"no route is {match[1]}"
        if re.match(r"[a-z]+:", target):
            return None
        file, _, anchor = target.partition("#")
        path = (self.document.path.parent / file).resolve() if file else self.document.path
        try:
            relative = path.relative_to(self.tree.root).as_posix()
        except ValueError:
            return f"{target} is outside of the project"
        if relative not in self.tree.paths and relative != ".":
            return f"{target} does not exist"
        other = next((other for other in self.tree.documents if other.path == path), None)
        if anchor and other and anchor not in {heading.slug for heading in other.headings}:
            return f"{file or self.path} has no heading #{anchor}"
        return None

    # Commands

    def commands(self, source):
        for command in SHELL.split(source):
            try:
                words = shlex.split(command, comments=True)
            except ValueError:
                words = command.split()
            yield from self.command(words)

    def command(self, words):
        tree = self.tree
        variables = list(itertools.takewhile(lambda word: re.match(r"[A-Z_]\w*=", word), words))
        words = words[len(variables) :]
        if words or len(variables) == 1:
            for variable in variables:
                name = variable.split("=")[0]
                if (
                    name.isupper()
                    and name not in tree.words
                    and name not in tree.parameters
                    and name not in self.examples
                ):
                    yield f"nothing reads {name}"
        for word in variables + (words if words[:1] != ["aws"] or "--parameter-overrides" in words else []):
            match = ASSIGNMENT.match(word)
            if match and re.match(r"[A-Z]\w*[a-z]", match[1]) and match[1] not in tree.parameters:
                yield f"no template has the parameter {match[1]}"
        if not words:
            return
        program, *rest = words
        if program.startswith("python"):
            program, *rest = rest or [""]
        if program == ".ci/run":
            for lane in rest:
                # `release` stands for several lanes.
                if re.fullmatch(r"[a-z]\w*", lane) and lane not in (*tree.lanes, "release"):
                    yield f"no lane is called {lane}"
        elif program == "cargo" and rest:
            yield from self.cargo(rest)
        elif self.is_subcommand(program, rest):
            yield from self.call("rolecall-admin", words)
        elif program in tree.binaries:
            yield from self.call(tree.binaries[program], rest)
        elif program in tree.paths:
            yield from self.options(program, rest)
            if program == "infra/fuzz/run":
                known = {
                    match[1] for file in tree.files if (match := re.fullmatch(r"infra/fuzz/targets/(\w+)\.rs", file))
                }
                yield from (
                    f"no fuzz target is called {word}"
                    for word in rest
                    if re.fullmatch(r"[a-z_]+", word) and word not in known
                )
        elif "/" in program and self.is_path(program) and not self.resolve(program):
            yield f"{program} does not exist"

    def is_subcommand(self, program, rest):
        """Whether this is a command of rolecall-admin without its name: `key rotate`."""
        if "rolecall-admin" not in self.tree.packages or not rest or not re.fullmatch(r"[a-z-]+", rest[0]):
            return False
        return bool(self.tree.subcommands("rolecall-admin").get(program))

    def options(self, program, words):
        for word in words:
            option = word.split("=")[0]
            if re.match(r"--[a-z]", option) and option not in self.tree.options(program):
                yield f"{program} has no option {option}"

    def call(self, package, words):
        yield from self.options(package, words)
        commands, after_option = self.tree.subcommands(package), False
        for word in words:
            if word.startswith("-"):
                after_option = "=" not in word
            elif not commands or not re.fullmatch(r"[a-z-]+", word):
                if not after_option and not word.isupper():
                    return
                after_option = False
            elif word in commands:
                commands, after_option = commands[word], False
            elif not after_option:
                yield f"{package} has no command {word}"
                return
            else:
                after_option = False

    def cargo(self, words):
        tree, (verb, *rest) = self.tree, words
        own, given = (rest[: rest.index("--")], rest[rest.index("--") + 1 :]) if "--" in rest else (rest, [])
        if verb not in ("run", "test", "check", "build", "clippy"):
            return
        named = {}
        free = []
        pairs = iter(own)
        for word in pairs:
            option, _, value = word.partition("=")
            if option in ("-p", "--package", "--bin", "--test", "--features", "--target"):
                named[{"-p": "--package"}.get(option, option)] = value or next(pairs, "")
            elif word == "--lib":
                named["--test"] = "lib"
            elif not word.startswith("-"):
                free.append(word)
        if "--package" in named and named["--package"].isupper():
            return
        package, target = named.get("--package"), named.get("--test")
        if package and package not in tree.packages:
            yield f"no package is called {package}"
        elif verb == "run":
            binary = named.get("--bin")
            if binary and binary not in tree.binaries:
                yield f"no program is called {binary}"
            elif package := package or tree.binaries.get(binary) or tree.default_package:
                yield from self.call(package, given)
        elif verb == "test":
            tests = [name for owner, kind, _, name in tree.tests if package in (None, owner) and target in (None, kind)]
            if not tests:
                yield f"no tests are in {package or target}"
            for word in free + [word for word in given if not word.startswith("-")]:
                if not any(word in name for name in tests) and not word.isdigit():
                    yield f"no test's name contains {word}"

    def lone_option(self, text, code):
        """An option without a command is one of ours, or the text around it has somebody else's command."""
        if (match := re.match(r"--[a-z][\w-]*", text)) and match[0] not in self.tree.all_options:
            others = re.findall(r"`(?:cargo (?!run|test)|sam|aws|git|npm|docker)\b", code.context)
            if not others:
                yield f"no program has the option {match[0]}"

    # Examples

    def example(self, block):
        """The names of Rust that a block uses are defined in it, or in the file that it is for."""
        if block.language != "rust":
            return
        tree = self.tree
        section = [
            other for other in self.document.blocks if other.section == block.section and other.language == "rust"
        ]
        told = " ".join(code.text for code in self.document.codes)
        given = set(re.findall(r"\w+", told)) | {
            "Self",
            "Result",
            "Ok",
            "Err",
            "Some",
            "None",
            "Option",
            "Vec",
            "String",
            "Box",
        }
        for other in section:
            given |= set(re.findall(r"\b(?:fn|struct|enum|type|const|static|mod|let|let mut)\s+(\w+)", other.text))
        target = self.target(block)
        known = tree.words if target is None else set(re.findall(r"\w+", tree.text(target)))
        if re.match(r"//!", block.text):
            known = tree.words
        code = re.sub(r'//.*|"(?:[^"\\]|\\.)*"|#\[[^\]]*\]', "", block.text)
        for match in re.finditer(r"(?<![\w:.!#])([A-Z]\w+)|(?<![\w:.])([a-z]\w*)\(", code):
            name = match[1] or match[2]
            if (
                name not in known
                and name not in given
                and name not in ("if", "match", "matches", "while", "for", "derive")
            ):
                where = f"{target} has no" if target else "there is no"
                yield (
                    block.line + block.text.count("\n", 0, block.text.find(name)),
                    f"{where} {name}, which the example uses",
                )

    def target(self, block):
        """The file that a block is for: the last source that the text before it names, unless it is a new one."""
        heading = max((heading.line for heading in self.document.headings if heading.line < block.line), default=0)
        before = [
            code for code in self.document.codes if heading < code.line < block.line and code.text.endswith(".rs")
        ]
        if not before or before[-1].text in self.created:
            return None
        found = self.resolve(before[-1].text)
        return found[0] if len(found) == 1 and self.tree.text(found[0]) else None


def sentence(code):
    """The sentence of a code span."""
    start = max((match.end() for match in re.finditer(r"[.:] |\n- ", code.context[: code.start])), default=0)
    return re.split(r"\.\s", code.context[code.end :] + " ", maxsplit=1)[0] + code.context[start : code.start]


def expanded(name):
    """`a::{b, c}` is `a::b` and `a::c`."""
    if match := re.match(r"(.*)\{([\w, ]+)\}$", name):
        return [match[1] + part.strip() for part in match[2].split(",")]
    return [name]


def api_tests(tree):
    return {name for package, target, _, name in tree.tests if (package, target) == ("tests", "api")}


def is_route(tree, path, method=None):
    """A parameter is written as `{id}`, as `:id` or as a value."""
    path = path.split("?")[0].removesuffix("...")
    if path in ("", "/"):
        return True
    prefixes = ("", "/api/v1")
    if path.startswith("/"):
        wanted = [f"{prefix}{path}".split("/") for prefix in prefixes]
    else:
        wanted = [path.split("/")]
    for verb, route in tree.routes:
        if method not in (None, "ANY", verb) and not (method == "HEAD" and verb == "GET"):
            continue
        parts = route.split("/")
        for segments in wanted:
            # Without a method, a path may be the beginning of routes.
            if path.startswith("."):
                if parts[1 - len(segments) :] == segments[1:]:
                    return True
                continue
            ours = parts if method or segments[0] == "" and len(segments) > len(parts) else parts[: len(segments)]
            if len(ours) == len(segments) and all(map(is_segment, segments, ours)):
                return True
    return False


def is_segment(written, part):
    if not part.startswith("{"):
        return written == part
    is_placeholder = re.fullmatch(r"\{.*\}|:\w+|\d+|[A-Z_]+", written)
    return bool(is_placeholder) or not part.endswith("id}")


def undescribed_lanes(tree):
    """CONTRIBUTING.md describes every lane."""
    guide = next((document for document in tree.documents if document.path.name == "CONTRIBUTING.md"), None)
    if guide:
        described = {
            cell
            for table in guide.tables
            if table.header[0] == "Lane"
            for row in table.rows
            for cell in re.findall(r"\w+", row[0])
        }
        yield from (
            ("CONTRIBUTING.md", 1, f"the lane {lane} is not described") for lane in tree.lanes if lane not in described
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]))
