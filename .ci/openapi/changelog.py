"""Requires the changelog to name everything that the OpenAPI document has gained, lost or given another type: operations,
parameters, and fields of requests and responses. The names of schemas do not count: they are not on the wire.

Usage: changelog.py [BASE]. BASE is a commit: by default the last tag, or without one the commit at which this branch left
main. A name is in backticks, in a line of CHANGELOG.md that is new since then.
"""

import json
import subprocess
import sys

DOCUMENT, CHANGELOG = "functions/docs/openapi.json", "CHANGELOG.md"


def git(*arguments):
    return subprocess.run(["git", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


class Promises:
    """What a document promises: the types of everything in it, by its place."""

    def __init__(self, document):
        self.document = json.loads(document)
        self.types = {}
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                self.read(f"{method.upper()} {path}", operation)

    def read(self, name, operation):
        self.types[name,] = {"operation"}
        for parameter in map(self.resolved, operation.get("parameters", ())):
            self.add((name, "parameter", parameter["name"]), parameter["schema"])
        bodies = {"request": operation.get("requestBody", {}), **operation["responses"]}
        for place, body in bodies.items():
            for media in self.resolved(body).get("content", {}).values():
                self.add((name, place), media.get("schema", {}))

    def resolved(self, value):
        while "$ref" in value:
            found = self.document
            for step in value["$ref"].split("/")[1:]:
                found = found[step]
            value = found
        return value

    def add(self, place, schema, above=()):
        """Adds a schema and all that it contains, but nothing that contains itself."""
        if schema.get("$ref") in above:
            return
        if "$ref" in schema:
            above = (*above, schema["$ref"])
        schema = self.resolved(schema)
        kinds = schema.get("type", [])
        self.types.setdefault(place, set()).update([kinds] if isinstance(kinds, str) else kinds)
        for part in (part for key in ("allOf", "anyOf", "oneOf") for part in schema.get(key, ())):
            self.add(place, part, above)
        for name, field in schema.get("properties", {}).items():
            self.add((*place, name), field, above)
        if isinstance(schema.get("items"), dict):
            self.add(place, schema["items"], above)


def main():
    base = sys.argv[1] if sys.argv[1:] else git("describe", "--tags", "--abbrev=0") or git("merge-base", "HEAD", "main") or "HEAD"
    before, now = Promises(git("show", f"{base}:{DOCUMENT}")).types, Promises(open(DOCUMENT).read()).types
    changed = {place for place in before.keys() | now.keys() if before.get(place) != now.get(place)}
    # What is new or gone as a whole needs no lines about its parts.
    changed = {place for place in changed if all((place[:end] in before) == (place[:end] in now) for end in range(1, len(place)))}
    lines = [line for line in git("diff", base, "--", CHANGELOG).splitlines() if line.startswith("+")]
    missing = sorted(place for place in changed if not any(f"`{place[-1]}`" in line for line in lines))
    for place in {place[-1]: place for place in reversed(missing)}.values():
        was, has = (" or ".join(sorted(types.get(place, ()))) or "nothing" for types in (before, now))
        print(f"{CHANGELOG} does not name `{place[-1]}`: {', '.join(place)} was {was} and is {has}", file=sys.stderr)
    print(f"{CHANGELOG} names {len(changed) - len(missing)} of {len(changed)} changes of the document since {base}")
    return bool(missing)


sys.exit(main())
