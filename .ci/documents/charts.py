"""Compares the charts of the table's keys: tables with the columns `pk` and `sk` in documents and in doc comments, and
the list of the kinds of items in the source."""

import pathlib
import re

import markdown


def faults(tree):
    charts = [
        (document.path.relative_to(tree.root).as_posix(), table)
        for document in tree.documents
        for table in document.tables
        if is_chart(table)
    ]
    for file in tree.sources:
        if file.endswith(".rs") and re.search(r"^//! \| .*`pk`", tree.text(file), re.MULTILINE):
            # The comment at the top has the same lines as the file.
            lines = [
                re.sub("^//! ?", "", line) if line.startswith("//!") else "" for line in tree.text(file).split("\n")
            ]
            document = markdown.parse(pathlib.PurePosixPath(file), "\n".join(lines))
            charts += [(file, table) for table in document.tables if is_chart(table)]
    for at, (file, chart) in enumerate(charts):
        for other, reference in charts[:at]:
            yield from compare(file, rows(chart), other, rows(reference))
            yield from compare(other, rows(reference), file, rows(chart), only_missing=True)
    for file in tree.sources:
        if file.endswith(".rs") and (kinds := kinds_in(tree.text(file))):
            for other, chart in charts:
                yield from compare_kinds(file, kinds, other, rows(chart))


def is_chart(table):
    return {"pk", "sk"} <= {cell.strip("`") for cell in table.header}


def rows(chart):
    """Line, description and filter of each row, by its key."""
    header = [cell.strip("`") for cell in chart.header]
    pk, sk = header.index("pk"), header.index("sk")
    filter_ = header.index("filter") if "filter" in header else None
    return {
        (row[pk], row[sk]): (
            chart.line + 2 + number,
            row[0].removesuffix("*").strip(),
            row[filter_] if filter_ else None,
        )
        for number, row in enumerate(chart.rows)
    }


def compare(file, chart, other, reference, only_missing=False):
    for key, (line, text, filter_) in chart.items():
        if key not in reference:
            yield file, line, f"{other} has no row with the key {' / '.join(key)}"
        elif not only_missing:
            _, other_text, other_filter = reference[key]
            if text != other_text:
                yield file, line, f"{other} calls this item {other_text!r}"
            if filter_ != other_filter:
                yield file, line, f"{other} has the filter {other_filter or 'none'} here"


def kinds_in(text):
    """Line and name of each kind of item, by its key."""
    found = {}
    start = text.find("KINDS: ")
    row = re.compile(r'"(\w+)",\s*(?:pk: )?"([^"]+)",\s*(?:sk: )?"([^"]+)"')
    for match in row.finditer(text, start) if start >= 0 else []:
        found[match[2], match[3]] = (text.count("\n", 0, match.start()) + 1, match[1])
    return found


def compare_kinds(file, kinds, other, chart):
    charted = {}
    for (pk, sk), (line, text, _) in chart.items():
        for range_ in re.findall(r"`([^`]+)`", sk) or ["*"]:
            charted[general(pk.strip("`")), general(range_)] = (line, text)
    for key in charted.keys() - kinds.keys():
        line, text = charted[key]
        yield other, line, f"no kind in {file} has the key {' / '.join(key)} ({text})"
    for key in kinds.keys() - charted.keys():
        line, name = kinds[key]
        yield file, line, f"{other} has no row for {name} ({' / '.join(key)})"


def general(key):
    """A key as the list of kinds has it: `*` is what differs."""
    key = key.replace("{organization}#live", "{tenant}")
    start = "{tenant}" if key.startswith("{tenant}") else ""
    return "*" if key == "sk" else start + re.sub(r"\{.*", "*", key[len(start) :])
