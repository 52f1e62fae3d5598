#!/usr/bin/env bash
# singer-sdk 0.54.9: an empty page that names a next one.
#
# A server that filters may answer with an empty page and the token of the next, because it has looked at many rows and found none.
# One expects a stream with `next_page_token_jsonpath` to go on until there is no token. It ends at the first empty page, and the run
# succeeds without the rest. It goes on only if its paginator's `continue_if_empty` returns True. So our API should fill its pages.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check singer-sdk==0.54.9
venv/bin/python - <<'END'
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from singer_sdk import RESTStream, Tap
from singer_sdk import typing as th
from singer_sdk.pagination import JSONPathPaginator

logging.disable()
PAGES = {
    "1": {"data": [{"id": 1}], "next_cursor": "2"},
    "2": {"data": [], "next_cursor": "3"},
    "3": {"data": [{"id": 2}], "next_cursor": None},
}
asked = []


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(parse_qs(urlsplit(self.path).query).get("cursor", ["1"])[0])
        body = json.dumps(PAGES[asked[-1]]).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()


class Events(RESTStream):
    name = "events"
    path = "/events"
    url_base = f"http://127.0.0.1:{server.server_port}"
    records_jsonpath = "$.data[*]"
    next_page_token_jsonpath = "$.next_cursor"
    schema = th.PropertiesList(th.Property("id", th.IntegerType)).to_dict()

    def get_url_params(self, context, next_page_token):
        return {"cursor": next_page_token} if next_page_token else {}


class Patient(JSONPathPaginator):
    def continue_if_empty(self, response):
        return True


class PatientEvents(Events):
    def get_new_paginator(self):
        return Patient(self.next_page_token_jsonpath)


class Example(Tap):
    name = "tap-example"

    def discover_streams(self):
        return [Events(self), PatientEvents(self)]


tap = Example()
found = []
for stream in Events(tap), PatientEvents(tap):
    asked.clear()
    ids = [record["id"] for record in stream.get_records(None)]
    found.append((list(asked), ids))
    print(f"{type(stream).__name__}: pages {asked}, ids {ids}")
if found != [(["1", "2"], [1]), (["1", "2", "3"], [1, 2])]:
    raise SystemExit("singer-sdk ends at another page now")
END
