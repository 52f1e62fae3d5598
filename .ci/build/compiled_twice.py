"""Fails if Cargo compiled a crate for `cargo test` that it had compiled for `cargo run`.

Usage: compiled_twice.py RUN TEST, with the messages of the two commands, one after the other, as JSON. A crate is compiled
again if the second command needs other features of it or another profile, also by way of LTO, which Cargo derives from
all crates that a command links.
"""

import json
import sys

# Cargo keeps what build scripts and macros need apart from what programs link. Macros and the build script of a dependency
# need these with other features than the tests, which parse source code and compare schemas. Together they take about 10
# seconds of processor time.
WITH_OTHER_FEATURES = {"proc-macro2", "regex", "regex-automata", "syn", "tempfile"}


def artifacts(path):
    """Yields the compiled crates. A crate's own tests are another thing than the crate."""
    with open(path, encoding="utf-8") as messages:
        for line in messages:
            message = json.loads(line) if line.startswith("{") else {}
            if message.get("reason") == "compiler-artifact" and not message["profile"]["test"]:
                yield message


def name(artifact):
    return artifact["package_id"], artifact["target"]["name"], tuple(artifact["target"]["kind"])


def is_used(artifact, files):
    """Whether the command for tests takes a crate as the one for the program has left it."""
    return artifact["fresh"] and files.issuperset(artifact["filenames"])


def main(run, test):
    files = {}
    for artifact in artifacts(run):
        files.setdefault(name(artifact), set()).update(artifact["filenames"])
    twice = [
        f"{artifact['package_id'].split('#')[-1]} ({artifact['target']['name']}), with the features {artifact['features']}"
        for artifact in artifacts(test)
        if name(artifact) in files and not is_used(artifact, files[name(artifact)])
        if artifact["package_id"].split("#")[-1].split("@")[0] not in WITH_OTHER_FEATURES
    ]
    if twice:
        sys.exit("`cargo test` compiles these again after `cargo run`:\n" + "\n".join(sorted(twice)))
    print(f"cargo test uses all {len(files)} crates that cargo run compiles")


main(*sys.argv[1:])
