#!/usr/bin/env bash
# DuckDB 2.0.1: the names that `read_csv` gets in `columns`, and those in the header of the file.
#
# With `read_json`, `columns` says which fields to read, by their names. One expects the same of `read_csv`, whose files have names in
# their header, too. But there the names go by their places and the header is skipped unread: two columns of one type change
# places without an error. With `types`, names are those of the header. So who exports CSV says the order of its columns as well.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check duckdb==2.0.1
venv/bin/python - <<'END'
from pathlib import Path

import duckdb

Path("touchpoints.csv").write_text("candidate_id,id\n17,901\n")
Path("touchpoints.ndjson").write_text('{"candidate_id": 17, "id": 901}\n')
names = "{'id': 'BIGINT', 'candidate_id': 'BIGINT'}"
found = []
for reading in [
    f"read_csv('touchpoints.csv', columns = {names})",
    f"read_csv('touchpoints.csv', types = {names})",
    f"read_json('touchpoints.ndjson', columns = {names})",
]:
    found.append(duckdb.sql(f"select id, candidate_id from {reading}").fetchall())
    print(f"{reading}: id and candidate_id are {found[-1]}")
if found != [[(17, 901)], [(901, 17)], [(901, 17)]]:
    raise SystemExit("DuckDB reads the columns otherwise now")
END
