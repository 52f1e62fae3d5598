#!/usr/bin/env bash
# polars 2.1.0: an object of NDJSON that the schema of `read_ndjson` calls a string.
#
# One expects the text of the object, as it is in the file. But polars writes it anew and escapes no backslash and no control
# character: a Windows path comes with a line end and a tab in it, and a text that ends with a backslash makes JSON that nobody can
# read, without an error. Strings at the top are right. `json_path_match` on the lines gives the object as it is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check polars==2.1.0
venv/bin/python - <<'END'
import json

import polars

notes = [[{"text": "C:\\new\\table"}], [{"text": "share\\"}]]
with open("people.ndjson", "w") as file:
    for text, list_of_notes in zip(["C:\\new", "share\\"], notes):
        print(json.dumps({"path": text, "notes": list_of_notes}), file=file)


def meaning(text):
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        return "no JSON"


rows = polars.read_ndjson("people.ndjson", schema={"path": polars.String, "notes": polars.String})
with open("people.ndjson") as file:
    lines = polars.Series(list(file), dtype=polars.String)
found = [rows["path"].to_list(), [meaning(text) for text in rows["notes"]]]
from_lines = [meaning(text) for text in lines.str.json_path_match("$.notes")]
print("strings at the top:", found[0], "\nobjects as text:", found[1], "\nobjects from the lines:", from_lines)
if found != [["C:\\new", "share\\"], [[{"text": "C:\new\table"}], "no JSON"]] or from_lines != notes:
    raise SystemExit("polars reads other values now")
END
