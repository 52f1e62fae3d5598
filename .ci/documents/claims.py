"""Checks what documents say beyond names: which libraries protect, what is generated, what pictures show; and finds
sentences that have lost their verb."""

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
# Two quantities, one directly after the other.
NUMBER = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten)"
QUANTITIES = re.compile(rf"\b{NUMBER}\s[a-z]+s\s{NUMBER}\s[a-z]+\b")


def faults(tree):
    for document in tree.documents:
        path = document.path.relative_to(tree.root).as_posix()
        for line, text in document.prose:
            found = [
                *quantities(text),
                *(libraries(tree, text) if path.endswith("SECURITY.md") else []),
            ]
            yield from ((path, line + text.count("\n", 0, at), message) for at, message in found)
    yield from generated(tree)
    yield from pictures(tree)


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
    """What `.ci/renew` lists is what the table of generated files says."""
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
    for file in tree.sources:
        if file.endswith(".rs") and re.search(r'env::var(?:_os)?\("RENEW"', tree.text(file)):
            if tree.package_of(file) != "tests" and f"::{file.split('/')[-1].removesuffix('.rs')}::" not in script:
                yield file, 1, "writes files if RENEW is set, but .ci/renew does not run its tests"


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
