"""Checks what documents say beyond names: where handlers are, which libraries protect, what is generated, what pictures
show; and finds sentences that have lost their verb."""

import json
import re

# A protection that a library provides, and the library.
LIBRARIES = {
    r"\bsanitiz\w+": "ammonia",
    r"\bargon2id\b": "argon2",
    r"\bXChaCha20-Poly1305\b": "chacha20poly1305",
    r"\bHMAC\b": "hmac",
    r"\bSHA-256\b": "sha2",
    r"\bconstant time\b": "subtle",
}
# Generated files, and how a sentence about all of them names each.
GENERATED = {
    "functions/default/src/routes.rs": r"list of routes",
    "functions/*/src/lib.rs": r"functions' doc comments",
    "functions/ROUTES.md": r"ROUTES\.md",
    "functions/TOOLS.md": r"assistants' tools|TOOLS\.md",
    "functions/docs/openapi.json": r"OpenAPI document|openapi\.json",
    "functions/README.md": r"API guide",
    "README.md": r"(?<!functions/)\bREADME\b",
    "events": r"sample event",
    "infra/runbook.md": r"runbook",
    "tests/items/1": r"stored items|sample item\b|tests/items",
}
# Two quantities, one directly after the other.
NUMBER = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten)"
QUANTITIES = re.compile(rf"\b{NUMBER}\s[a-z]+s\s{NUMBER}\s[a-z]+\b")


def faults(tree):
    for document in tree.documents:
        path = document.path.relative_to(tree.root).as_posix()
        for line, text in document.prose:
            found = [
                *handlers(tree, text),
                *quantities(text),
                *(libraries(tree, text) if path.endswith("SECURITY.md") else []),
            ]
            yield from ((path, line + text.count("\n", 0, at), message) for at, message in found)
    yield from generated(tree)
    yield from pictures(tree)


def handlers(tree, text):
    """A sentence that gives each function's `src/lib.rs` handlers."""
    for sentence in re.finditer(r"(?:[^.]|\.(?!\s))+", text):
        if "`src/lib.rs`" in sentence[0] and re.search(r"\bhandlers\b", sentence[0]):
            files = [file for file in tree.files if re.fullmatch(r"functions/\w+/src/lib\.rs", file)]
            routed = [file for file in files if re.search(r"\b(?:R|Route|Document)::\w+\(", tree.text(file))]
            without = [
                file
                for file in routed
                if not re.search(r"^(?:pub\S* )?async fn .*\bReply<", tree.text(file), re.MULTILINE)
            ]
            if without:
                yield (
                    sentence.start(),
                    f"{len(without)} of {len(routed)} functions have no handlers in src/lib.rs, such as {without[0]}",
                )


def libraries(tree, text):
    for pattern, crate in LIBRARIES.items():
        if (match := re.search(pattern, text)) and crate not in linked(tree):
            yield match.start(), f"{match[0]!r}: no function links {crate}"
    for match in re.finditer(r"\bcrate `([\w-]+)`", text):
        if match[1] not in linked(tree):
            yield match.start(), f"no function links {match[1]}"


def linked(tree):
    """The crates that functions or the code that they share use outside of tests."""
    manifests = [file for file in tree.files if re.fullmatch(r"(functions/\w+|shared)/Cargo\.toml", file)]
    return {name for file in manifests for name in tree.manifest(file).get("dependencies", {})}


def quantities(text):
    for match in QUANTITIES.finditer(text):
        yield match.start(), f"a verb or a comma is missing: {match[0]!r}"


def generated(tree):
    """What `.ci/renew` lists is what its comment, the table of generated files and the guide say."""
    script = tree.text(".ci/renew")
    if not (listed := re.search(r"^files=\((.*?)\)", script, re.MULTILINE | re.DOTALL)):
        return
    files = listed[1].replace("'", "").split()
    line_of_files = script.count("\n", 0, listed.start()) + 1
    for document in tree.documents:
        path = document.path.relative_to(tree.root).as_posix()
        for table in document.tables:
            if table.section == "Generated files":
                rows = {
                    re.sub(r"/\*[.\w]*$", "", cell.strip("`")): table.line + 2 + at
                    for at, (cell, *_) in enumerate(table.rows)
                }
                yield from (
                    (path, rows[row], f"the files of .ci/renew do not have {row}") for row in rows.keys() - files
                )
                yield from (
                    (".ci/renew", line_of_files, f"{path} does not have {file}") for file in set(files) - rows.keys()
                )
        for line, text in document.prose:
            if "`.ci/renew`" in text and re.search(r"\ball\s(?:other\s)?generated\sfiles:", text):
                yield from ((path, line, message) for message in names_all(text, files))
    comment = "\n".join(line for line in script[: listed.start()].split("\n") if line.startswith("#"))
    yield from ((".ci/renew", 2, message) for message in names_all(comment, files))
    for file in tree.sources:
        if file.endswith(".rs") and re.search(r'env::var(?:_os)?\("RENEW"', tree.text(file)):
            if tree.package_of(file) != "tests" and f"::{file.split('/')[-1].removesuffix('.rs')}::" not in script:
                yield file, 1, "writes files if RENEW is set, but .ci/renew does not run its tests"


def names_all(text, files):
    for file, pattern in GENERATED.items():
        if (file in files) != bool(re.search(pattern, text)):
            yield (
                f"the files of .ci/renew have {file}, but this does not"
                if file in files
                else f"the files of .ci/renew do not have {file}"
            )


def pictures(tree):
    """A picture has notes of the page: its menu, and the addresses on it."""
    for document in tree.documents:
        path = document.path.relative_to(tree.root).as_posix()
        for link in document.links:
            if link.target.endswith(".png") and (document.path.parent / link.target).is_file():
                yield from (
                    (path, link.line, f"{link.target}: {message}")
                    for message in picture(tree, document.path.parent / link.target)
                )


def picture(tree, file):
    notes = png_text(file.read_bytes()).get("page")
    if notes is None:
        yield "the picture has no notes of its page; .ci/browser/pictures.mjs writes them"
        return
    notes = json.loads(notes)
    menu = menu_of(tree)
    for name in notes["menu"] and menu:
        if name not in notes["menu"]:
            yield f"the menu lacks {name}"
    for name in notes["menu"]:
        if name not in menu:
            yield f"the menu still has {name}"
    port = re.search(r"default_value_t = (\d+)\)\]\s*port:", tree.text("infra/local/src/main.rs"))
    for address in notes["addresses"]:
        if port and not re.match(rf"http://127\.0\.0\.1:{port[1]}(/|$)", address):
            yield f"shows the address {address}, whose port is not {port[1]}"


def menu_of(tree):
    """The sections of the dashboard's menu."""
    names = re.search(r"fn name\(self\).*?\{(.*?)\n    \}", tree.text("functions/dashboard/src/layout.rs"), re.DOTALL)
    return re.findall(r'Self::\w+ => "([^"]+)"', names[1]) if names else []


def png_text(data):
    """The texts in a PNG, by their keywords."""
    found, at = {}, 8
    while at < len(data):
        length, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        content = data[at + 8 : at + 8 + length]
        if kind == b"tEXt":
            keyword, _, text = content.partition(b"\0")
            found[keyword.decode("latin-1")] = text.decode("latin-1")
        at += 12 + length
    return found
