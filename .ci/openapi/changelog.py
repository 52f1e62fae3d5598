"""Requires the changelog to name every field that the OpenAPI document has gained or lost.

Usage: changelog.py [BASE]. BASE is a commit: by default the last tag, or without one the commit at which this branch left
main. A field is named in backticks, in a line of CHANGELOG.md that is new since then.
"""

import json
import subprocess
import sys

DOCUMENT, CHANGELOG = "functions/docs/openapi.json", "CHANGELOG.md"


def git(*arguments):
    return subprocess.run(["git", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def schemas(document):
    """The fields of each schema."""
    all = json.loads(document)["components"]["schemas"]

    def fields(schema):
        named = [all[schema["$ref"].split("/")[-1]]] if "$ref" in schema else []
        return set(schema.get("properties", ())).union(*map(fields, named + schema.get("allOf", [])))

    return {name: fields(schema) for name, schema in all.items()}


def main():
    base = sys.argv[1] if sys.argv[1:] else git("describe", "--tags", "--abbrev=0") or git("merge-base", "HEAD", "main") or "HEAD"
    before, now = schemas(git("show", f"{base}:{DOCUMENT}")), schemas(open(DOCUMENT).read())
    changed = {name for schema in before.keys() & now.keys() for name in before[schema] ^ now[schema]}
    lines = [line for line in git("diff", base, "--", CHANGELOG).splitlines() if line.startswith("+")]
    missing = sorted(name for name in changed if not any(f"`{name}`" in line for line in lines))
    for name in missing:
        print(f"{CHANGELOG} does not name the field `{name}`, which is new or gone", file=sys.stderr)
    print(f"{CHANGELOG} names {len(changed) - len(missing)} of {len(changed)} fields that are new or gone since {base}")
    return bool(missing)


sys.exit(main())
