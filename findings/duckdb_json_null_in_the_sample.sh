#!/usr/bin/env bash
# DuckDB 2.0.1: a field of NDJSON that is null in all the rows that `read_json` samples.
#
# The types come from the first rows of a file, 20,480 unless told otherwise. One expects a field that is null in all of them to be
# read as JSON, as in 1.5.6, or a later value to be an error. But its type is "NULL", and every later value is lost without a word.
# With `sample_size = -1`, or with the type in `columns`, all are there. So who exports NDJSON says its types beside it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check duckdb==2.0.1
venv/bin/python - <<'END'
import json

import duckdb

with open("people.ndjson", "w") as file:
    for id in range(30_000):
        print(json.dumps({"id": id, "phone": f"+4915100{id}" if id >= 25_000 else None}), file=file)

found = []
for options in "", ", sample_size = -1", ", columns = {id: 'BIGINT', phone: 'VARCHAR'}":
    people = duckdb.sql(f"select * from read_json('people.ndjson'{options})")
    [(rows, phones)] = people.aggregate("count(*), count(phone)").fetchall()
    found.append((str(people.types[1]), rows, phones))
    print(f"read_json('people.ndjson'{options}): type {found[-1][0]}, {rows} rows, {phones} phones")
if found != [('"NULL"', 30_000, 0), ("VARCHAR", 30_000, 5_000), ("VARCHAR", 30_000, 5_000)]:
    raise SystemExit("DuckDB reads other values now")
END
