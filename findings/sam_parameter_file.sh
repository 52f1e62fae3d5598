#!/usr/bin/env bash
# AWS SAM CLI 1.170.0: `sam deploy --parameter-overrides file://NAME.yaml`.
#
# A YAML file is typed, so one expects its values to arrive as they are. SAM reads most of them so, also empty ones and
# `0012`. But it treats each value as a word of the command line and removes quotes and backslashes from it, twice: once for
# the file and once for the option. A value in quotes loses them, and quotes that are escaped once are still removed.
# Without a file, `--parameter-overrides K=` is refused, so a file is the only way to pass an empty value beside others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check aws-sam-cli==1.170.0
cat >"$folder/parameters.yaml" <<'END'
Plain: one, two
Empty: ""
Zeros: "0012"
Quoted: '"a"'
EscapedOnce: '"\"a\""'
EscapedTwice: '"\"\\"a\\"\""'
END
"$folder/venv/bin/python" - "$folder/parameters.yaml" <<'END'
import sys

from samcli.cli.types import CfnParameterOverridesType

read = CfnParameterOverridesType().convert([f"file://{sys.argv[1]}"], None, None)
print(read)
assert read == {
    "Plain": "one, two",
    "Empty": "",
    "Zeros": "0012",
    "Quoted": "a",
    "EscapedOnce": "a",
    "EscapedTwice": '"a"',
}, "SAM reads a parameter file in another way now"
try:
    CfnParameterOverridesType().convert(["K="], None, None)
except Exception as error:
    print(f"K=: {error}")
else:
    sys.exit("SAM accepts an empty value on the command line now")
END
