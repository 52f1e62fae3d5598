"""Reads exports of all kinds with DuckDB, polars and pandas, with the code that the guide prints under "Columns of exports", and
compares every value with the file.

Usage: exports.py API KEY
"""

import csv
import json
import os
import sys
import tempfile
import time
import urllib.request
from datetime import datetime
from pathlib import Path

import duckdb
import pandas
import polars
from data_tools import Service
from data_tools import printed as printed_code

KINDS = ["candidates", "applications", "roles", "job_postings", "notes", "voice_screens", "touchpoints"]
# DuckDB looks at 20,480 rows before it decides what a column is.
ROWS_WITHOUT_A_PHONE = 20_500


def export(service, format):
    """Loads the files of an export into the current folder."""
    made = service.send("POST", "/exports", {"format": format})
    while made["status"] == "running":
        time.sleep(0.2)
        made = service.send("GET", f"/exports/{made['id']}")
    for file in made["files"]:
        with urllib.request.urlopen(file["url"], timeout=60) as answer:
            Path(f"{file['kind']}.{format}").write_bytes(answer.read())


def plain(value, is_json):
    """A value as the file has it."""
    if isinstance(value, list | dict):
        return value
    if value is None or pandas.isna(value):
        return None
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.loads(value) if is_json and isinstance(value, str) else value


def check_ndjson(printed):
    def duckdb_rows(kind):
        found = printed["read_with_duckdb"](kind)
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]

    readers = {
        "DuckDB": duckdb_rows,
        "polars": lambda kind: printed["read_with_polars"](kind).to_dicts(),
        "pandas": lambda kind: printed["read_with_pandas"](kind).to_dict("records"),
    }
    counts = {}
    for kind in KINDS:
        rows = [json.loads(line) for line in Path(f"{kind}.ndjson").read_text().split("\n")[:-1]]
        columns = printed["columns"](kind)
        for name, read in readers.items():
            found = read(kind)
            if len(found) != len(rows):
                raise SystemExit(f"{name} reads {len(found)} of {len(rows)} {kind}")
            for expected, row in zip(rows, found, strict=True):
                row = {column: plain(value, columns[column] == "JSON") for column, value in row.items()}
                if row != expected:
                    different = [column for column in row.keys() | expected if row.get(column) != expected.get(column)]
                    raise SystemExit(f"{name}, {kind}: {[(row.get(c), expected.get(c)) for c in different]} in {different}")
        counts[kind] = len(rows)
    print("DuckDB, polars and pandas read " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))


def check_csv(printed):
    """The cells must be those that Python's own reader finds."""
    readers = {
        "DuckDB": lambda kind: printed["cells_with_duckdb"](kind).fetchall(),
        "polars": lambda kind: printed["cells_with_polars"](kind).rows(),
        "pandas": lambda kind: printed["cells_with_pandas"](kind).values.tolist(),
    }
    for kind in KINDS:
        with Path(f"{kind}.csv").open(encoding="utf-8-sig", newline="") as file:
            expected = list(csv.reader(file))[1:]
        for name, read in readers.items():
            rows = [["" if cell is None else cell for cell in row] for row in read(kind)]
            if rows != expected:
                raise SystemExit(f"{name}, {kind}.csv: {next(pair for pair in zip(rows, expected) if pair[0] != pair[1])}")


def main(base, key):
    service, printed = Service(base, key), {}
    exec(printed_code("Columns of exports", "python"), printed)
    ada = {"name": "Ada", "email": "ada@columns.example", "phone": "+4915112345678", "external_id": "00012"}
    ada = service.send("POST", "/candidates", ada | {"tags": ["a", "b; c"]})["id"]
    service.send("POST", f"/candidates/{ada}/notes", {"text": "=1+1"})
    service.send("POST", f"/candidates/{ada}/notes", {"text": "C:\\new\\table \"\u2028\" ends with \\"})
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for format in ("ndjson", "csv"):
            export(service, format)
        check_csv(printed)
        # So the first phone and the first external identifier come late.
        lines = Path("candidates.ndjson").read_text()
        early = json.loads(lines.split("\n")[0]) | {"phone": None, "external_id": None}
        early |= {"notes": [], "consents": [], "applications": []}
        Path("candidates.ndjson").write_text((json.dumps(early) + "\n") * ROWS_WITHOUT_A_PHONE + lines)
        check_ndjson(printed)


if __name__ == "__main__":
    main(*sys.argv[1:])
