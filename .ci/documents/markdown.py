"""Reads the project's Markdown files: CommonMark with tables."""

import dataclasses
import os
import pathlib
import re
import subprocess

from markdown_it import MarkdownIt

# Folders of tools, and of what they make. Only a checkout without Git needs them.
LEFT_OUT = {"target", "node_modules"}


@dataclasses.dataclass
class Block:
    """A code block. `line` is the first line of its text. `before` is the paragraph directly before it, or ""."""

    line: int
    language: str
    text: str
    section: str
    before: str


@dataclasses.dataclass
class Code:
    """A code span. `context` is the source of its paragraph, heading or table cell, and has it from `start` to `end`."""

    line: int
    text: str
    context: str
    start: int
    end: int


@dataclasses.dataclass
class Table:
    line: int
    section: str
    header: list[str]
    rows: list[list[str]]


@dataclasses.dataclass
class Heading:
    line: int
    level: int
    text: str
    slug: str


@dataclasses.dataclass
class Link:
    """A link or an image."""

    line: int
    target: str


@dataclasses.dataclass
class Document:
    path: pathlib.Path
    blocks: list[Block] = dataclasses.field(default_factory=list)
    codes: list[Code] = dataclasses.field(default_factory=list)
    tables: list[Table] = dataclasses.field(default_factory=list)
    headings: list[Heading] = dataclasses.field(default_factory=list)
    links: list[Link] = dataclasses.field(default_factory=list)
    # Line and source of each paragraph and table cell.
    prose: list[tuple[int, str]] = dataclasses.field(default_factory=list)


def documents(root: pathlib.Path) -> list[pathlib.Path]:
    """The Markdown files of a checkout, or of a copy without Git."""
    return [root / path for path in files(root) if path.endswith(".md")]


def files(root: pathlib.Path) -> list[str]:
    """All files of a checkout, relative to its root."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True, check=True
        ).stdout
        return sorted(path for path in listed.split("\0") if path and (root / path).exists())
    found = []
    for folder, folders, names in os.walk(root):
        at = pathlib.Path(folder).relative_to(root)
        # `.ci`, `.cargo` and `.github` belong to a project; what other hidden folders contain belongs to tools.
        folders[:] = [
            name
            for name in folders
            if name not in LEFT_OUT
            and (not name.startswith(".") or str(at) == "." and name in {".ci", ".cargo", ".github"})
        ]
        found += [(at / name).as_posix() for name in names]
    return sorted(found)


def read(path: pathlib.Path) -> Document:
    return parse(path, path.read_text())


def parse(path: pathlib.Path, text: str) -> Document:
    document = Document(path)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    section, before, slugs = "", "", {}
    cell_line = 1
    for i, token in enumerate(tokens):
        previous = tokens[i - 1].type if i else ""
        if token.type in ("fence", "code_block"):
            fenced = token.type == "fence"
            document.blocks.append(
                Block(
                    line=token.map[0] + 1 + fenced,
                    language=token.info.split()[0] if token.info.split() else "",
                    text=token.content,
                    section=section,
                    before=before if previous == "paragraph_close" else "",
                )
            )
        elif token.type == "table_open":
            document.tables.append(Table(token.map[0] + 1, section, [], []))
        elif token.type == "tr_open":
            cell_line = token.map[0] + 1
            if tokens[i + 1].type == "td_open":
                document.tables[-1].rows.append([])
        elif token.type == "inline":
            in_cell = previous in ("th_open", "td_open")
            line = cell_line if in_cell else token.map[0] + 1
            _read_inline(document, token, line)
            if previous == "heading_open":
                section = _plain(token)
                slug = slug_of(section)
                repeated = slugs.get(slug, 0)
                slugs[slug] = repeated + 1
                document.headings.append(
                    Heading(line, int(tokens[i - 1].tag[1:]), section, f"{slug}-{repeated}" if repeated else slug)
                )
                continue
            document.prose.append((line, token.content))
            if previous == "th_open":
                document.tables[-1].header.append(token.content)
            elif previous == "td_open":
                document.tables[-1].rows[-1].append(token.content)
            else:
                before = token.content
    return document


def slug_of(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _plain(inline) -> str:
    return "".join(
        " " if child.type.endswith("break") else child.content
        for child in inline.children
        if not child.type.startswith("html")
    )


def _read_inline(document: Document, inline, first_line: int) -> None:
    source, at = inline.content, 0
    for child in inline.children:
        line = first_line + source.count("\n", 0, at)
        if child.type == "code_inline":
            # A line break in a code span has become a space.
            written = child.markup + child.content + child.markup
            start = source.find(written, at) if " " not in written else -1
            end = start + len(written)
            if start < 0:
                words = r"\s+".join(re.escape(word) for word in child.content.split())
                start, end = re.compile(f"{child.markup}\\s*{words}\\s*{child.markup}").search(source, at).span()
            line, at = first_line + source.count("\n", 0, start), end
            document.codes.append(Code(line, child.content, source, start, end))
        elif child.type in ("link_open", "image"):
            document.links.append(Link(line, child.attrs["href" if child.type == "link_open" else "src"]))
        elif child.type == "text" and child.content:
            found = source.find(child.content, at)
            at = found + len(child.content) if found >= 0 else at
        elif child.type.endswith("break"):
            at = source.find("\n", at) + 1 or at
