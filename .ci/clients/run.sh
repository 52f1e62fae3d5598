#!/usr/bin/env bash
# OAuth clients that others wrote, each through the whole flow against a local service that keeps nothing.
#
# Usage: run.sh ROLECALL
set -euo pipefail
rolecall=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"

clients=(oauth4webapi.js openid_client.js mcp_sdk.js authlib_client.py)

# The pinned packages; nothing to do where they are installed already. What says so is copied last, so that an installation
# that broke off is made anew.
install() {
  if ! cmp -s package-lock.json node_modules/installed.json; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/installed.json
  fi
  if ! cmp -s requirements.txt .venv/requirements.txt; then
    rm -rf .venv
    if ! python3 -m venv .venv; then
      # Debian's python3 comes without venv.
      rm -rf .venv
      apt-get update -qq
      DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends python3-venv
      python3 -m venv .venv
    fi
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
    cp requirements.txt .venv/requirements.txt
  fi
}

# Starts the service on a free port; its first line says where it is.
start() {
  log=$(mktemp)
  exec {lines}< <(exec "$rolecall" --memory --port 0 --template ../../template.yaml 2>"$log")
  service=$!
  trap stop EXIT
  read -r -t 60 -u "$lines" _ base
}

# Stops the service, and shows what it had to say if something has failed.
stop() {
  local status=$?
  kill "$service" 2>/dev/null || true
  wait "$service" 2>/dev/null || true
  if ((status != 0)); then
    cat "$log" >&2
  fi
  rm "$log"
}

install
start
for client in "${clients[@]}"; do
  echo "-- ${client%.*}"
  case $client in
    *.js) timeout 60 node "$client" "$base" ;;
    *.py) timeout 60 .venv/bin/python -u "$client" "$base" ;;
  esac
done
