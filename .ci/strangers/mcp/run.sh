#!/usr/bin/env bash
# Runs published clients of the Model Context Protocol against an in-memory local service. Each knows nothing but the
# address of /mcp: it registers, the member allows the access, and it lists the tools, reads, is refused and does what the
# member must confirm, in a form of the client or on a page of the dashboard.
#
# Usage: run.sh ROLECALL
set -euo pipefail
rolecall=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
log=$(mktemp)
exec {lines}< <(exec "$rolecall" --memory --port 0 2>"$log")
service=$!

# Stops the service, and prints the log if a client failed.
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

# The first line contains the service's URL.
read -r -t 300 -u "$lines" _ base
# What a client may use after the member has allowed all that it has asked for.
tools=14
printf '%-30s %-8s %-11s %5s  %s\n' client version protocol tools confirmed
export FASTMCP_LOG_LEVEL=ERROR
BROWSER="$PWD/browser.mjs %s &" timeout 300 ../.venv/bin/python -u clients.py "$base/mcp" "$tools" 2>>"$log"
timeout 300 node typescript.mjs "$base/mcp" "$tools" 2>>"$log"
