#!/usr/bin/env bash
# airbyte-cdk 7.39.1: what a declarative stream does with a 410.
#
# A 410 says that a row is gone for good, so one expects it to fail at once, like a 404. But the default error handler does not know
# 410, and takes it for transient: it asks six times, with growing waits, 31 seconds together, and then the stream ends as incomplete.
# With a response filter that ignores 410, the stream asks once and goes on. The waits are noted here, and not slept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check airbyte-cdk==7.39.1
venv/bin/python - <<'END'
import json
import logging
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

from airbyte_cdk.models import ConfiguredAirbyteCatalogSerializer, Type
from airbyte_cdk.sources.declarative.concurrent_declarative_source import ConcurrentDeclarativeSource
from airbyte_cdk.utils.traced_exception import AirbyteTracedException

logging.disable()
received = []
waits = []
sleep = time.sleep


def note(seconds):
    """Notes the waits between tries, and sleeps the shorter ones of the source's own threads."""
    if seconds < 1:
        sleep(seconds)
    else:
        waits.append(round(seconds))


time.sleep = note


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        received.append(self.path)
        gone = self.path == "/people/1"
        body = json.dumps({"error": "erased"} if gone else {"id": 2}).encode()
        self.send_response(410 if gone else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def read(error_handler):
    """Returns how often each person was asked for, the waits, the ids and the stream's last status."""
    received.clear()
    waits.clear()
    people = {
        "type": "DeclarativeStream",
        "name": "people",
        "primary_key": "id",
        "schema_loader": {
            "type": "InlineSchemaLoader",
            "schema": {"type": "object", "properties": {"id": {"type": "integer"}}},
        },
        "retriever": {
            "type": "SimpleRetriever",
            "requester": {
                "type": "HttpRequester",
                "url_base": f"http://127.0.0.1:{server.server_port}",
                "path": "/people/{{ stream_partition.id }}",
                "http_method": "GET",
                **error_handler,
            },
            "record_selector": {
                "type": "RecordSelector",
                "extractor": {"type": "DpathExtractor", "field_path": []},
            },
            "partition_router": {"type": "ListPartitionRouter", "values": ["1", "2"], "cursor_field": "id"},
        },
    }
    manifest = {
        "version": "7.0.0",
        "type": "DeclarativeSource",
        "check": {"type": "CheckStream", "stream_names": ["people"]},
        "streams": [people],
        "concurrency_level": {"type": "ConcurrencyLevel", "default_concurrency": 1},
    }
    catalog = ConfiguredAirbyteCatalogSerializer.load(
        {
            "streams": [
                {
                    "stream": {"name": "people", "json_schema": {}, "supported_sync_modes": ["full_refresh"]},
                    "sync_mode": "full_refresh",
                    "destination_sync_mode": "overwrite",
                }
            ]
        }
    )
    source = ConcurrentDeclarativeSource(catalog, {}, [], source_config=manifest)
    ids = []
    status = None
    try:
        for message in source.read(logging.getLogger("airbyte"), {}, catalog, []):
            if message.type == Type.RECORD:
                ids.append(message.record.data["id"])
            elif message.type == Type.TRACE and message.trace.stream_status:
                status = message.trace.stream_status.status.value
    except AirbyteTracedException:
        pass
    asked = [received.count("/people/1"), received.count("/people/2")]
    return asked, list(waits), ids, status


server = HTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
ignored = {"type": "HttpResponseFilter", "http_codes": [410], "action": "IGNORE"}
found = [
    read({}),
    read({"error_handler": {"type": "DefaultErrorHandler", "response_filters": [ignored]}}),
]
for name, (asked, waited, ids, status) in zip(("default", "ignored"), found):
    print(f"{name}: asked {asked} times, waits {waited}, ids {ids}, {status}")
if found != [([6, 1], [1, 2, 4, 8, 16], [2], "INCOMPLETE"), ([1, 1], [], [2], "COMPLETE")]:
    raise SystemExit("airbyte-cdk repeats something else now")
END
