#!/usr/bin/env bash
# Runs third-party OAuth clients through the complete flow against an in-memory local service. Then runs receivers of
# webhooks, with a service in their own namespaces.
#
# Usage: run.sh ROLECALL
set -euo pipefail
rolecall=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"

clients=(oauth4webapi.js openid_client.js authlib_client.py)

# Starts the service on a free port. The first line of its output contains its URL.
start() {
  log=$(mktemp)
  exec {lines}< <(exec "$rolecall" --memory --port 0 2>"$log")
  service=$!
  trap stop EXIT
  read -r -t 300 -u "$lines" _ base
}

# Stops the service, and prints its log if a client failed.
stop() {
  local status=$?
  kill "$service" 2>/dev/null || true
  wait "$service" 2>/dev/null || true
  if ((status != 0)); then
    cat "$log" >&2
  fi
  rm "$log"
}

start
for client in "${clients[@]}"; do
  echo "-- ${client%.*}"
  case $client in
    *.js) timeout 300 node "$client" "$base" ;;
    *.py) timeout 300 .venv/bin/python -u "$client" "$base" ;;
  esac
done
trap - EXIT
stop
echo "-- webhooks"
timeout 300 unshare --net --mount --pid --fork --kill-child --mount-proc .venv/bin/python -u webhooks.py "$rolecall"
