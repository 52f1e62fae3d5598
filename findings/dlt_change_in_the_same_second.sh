#!/usr/bin/env bash
# dlt 1.31.0: a second change with the same cursor value.
#
# With `incremental("updated_at")`, rows as old as the newest of the last run are read again, and dlt leaves out those that it knows.
# One expects it to know them by their content. With a primary key, it knows them by this key alone. So if a row changes again in the
# second in which it was read, the copy keeps the first change, also in later runs, until the row changes in another second. With
# `primary_key=()` given to `incremental`, the second change arrives. An API with finer times makes this rare.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check dlt==1.31.0 duckdb==1.5.6
export DLT_DATA_DIR=$folder/data RUNTIME__DLTHUB_TELEMETRY=false
venv/bin/python - <<'END'
import dlt
import duckdb


def follow(name, **options):
    """Returns the names in the copy after each run."""
    people = [{"id": 1, "name": "First Name", "updated_at": "2026-11-01T12:00:00Z"}]

    @dlt.resource(name="people", primary_key="id", write_disposition="merge")
    def read(updated_at=dlt.sources.incremental("updated_at", **options)):
        yield [dict(person) for person in people]

    pipeline = dlt.pipeline(name, destination=dlt.destinations.duckdb(f"{name}.duckdb"), dataset_name="copy")

    def run():
        pipeline.run(read())
        with duckdb.connect(f"{name}.duckdb", read_only=True) as copy:
            return [name for (name,) in copy.sql("select name from copy.people order by id").fetchall()]

    copies = [run()]
    people[0]["name"] = "Second Name"
    copies.append(run())
    people.append({"id": 2, "name": "Other", "updated_at": "2026-11-01T12:00:01Z"})
    copies.append(run())
    return copies


found = [follow("by_key"), follow("by_nothing", primary_key=())]
print("with the primary key:", found[0])
print("with primary_key=():", found[1])
first, second, other = "First Name", "Second Name", "Other"
if found != [[[first], [first], [first, other]], [[first], [second], [second, other]]]:
    raise SystemExit("dlt leaves out other rows now")
END
