#!/usr/bin/env bash
# Tests clients that are generated from the OpenAPI document, in TypeScript and Python. The compilers judge all that is
# generated. Using only the generated types, a session in each language runs the README's walkthrough on an in-memory
# service. Then runs the code of the API guide.
#
# Usage: run.sh ROLECALL
set -euo pipefail
rolecall=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
document=../../functions/docs/openapi.json
export NODE_NO_WARNINGS=1 PYTHONDONTWRITEBYTECODE=1 PATH="$PWD/node_modules/.bin:$PWD/.venv/bin:$PATH"

# Runs a generator, and fails if it prints warnings: generators succeed even if they skip parts of the document.
generate() {
  local warnings
  warnings=$("$@" 2>&1 >/dev/null) || { echo "$warnings" >&2; return 1; }
  if [[ -n $warnings ]]; then
    echo "$1 warns: $warnings" >&2
    return 1
  fi
}

# Runs a program with the URL of a new service, which gets $options. Prints the service's log if the program fails.
play() (
  log=$(mktemp)
  exec {lines}< <(exec "$rolecall" --memory "${options[@]}" --port 0 2>"$log")
  service=$!
  # shellcheck disable=SC2329 # The trap calls it.
  stop() {
    local status=$?
    kill "$service" 2>/dev/null || true
    wait "$service" 2>/dev/null || true
    if ((status != 0)); then
      cat "$log" >&2
    fi
    rm "$log"
  }
  trap stop EXIT
  read -r -t 300 -u "$lines" _ base
  timeout 300 "$@" "$base"
)

options=()
rm -rf generated
mkdir generated

echo "-- TypeScript"
generate openapi-typescript "$document" --root-types --root-types-no-schema-prefix --output generated/rolecall.d.ts
tsc
eslint --max-warnings 0 session.ts
play node generated/session.js

echo "-- Python"
generate openapi-python-client generate --path "$document" --meta none \
  --output-path generated/rolecall_client --fail-on-warning
mypy --no-incremental --no-error-summary
if grep -nE 'type: *ignore|\bcast\b' ./*.py; then
  echo "the session must not override the generated types" >&2
  exit 1
fi
# Imports every module, including those that the session does not use.
python -c 'import importlib, pkgutil
from generated import rolecall_client as client
for module in pkgutil.walk_packages(client.__path__, f"{client.__name__}."): importlib.import_module(module.name)'
play python -u session.py

echo "-- The API guide"
options=(--demo)
play python -u guide.py
