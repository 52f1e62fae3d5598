"""Adds a webhook endpoint, receives its requests, and lets the receivers of the API guide judge them."""

import json
import queue
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import requests

KEY = "rc_live_000000001000000001ZCG7000000DemoKeyOfAcmeLiveNotASecretJPF42F2mh9z0N3tAZ"
RECEIVERS = [[".venv/bin/python", "-u", "receiver.py"], ["node", "receiver.js"]]
received = queue.Queue()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("webhook-")}
        received.put((headers, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def next_ping():
    """Waits for a ping. The endpoint also receives the events of changes, such as its own rotation."""
    while True:
        headers, body = received.get(timeout=30)
        if json.loads(body)["type"].endswith(".pinged"):
            return headers, body


def main():
    base = sys.argv[1]
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    session = requests.Session()
    session.headers["authorization"] = f"Bearer {KEY}"

    def post(path, body=None):
        answer = session.post(f"{base}/api/v1/webhook_endpoints{path}", json=body)
        assert answer.ok, answer.text
        return answer.json()

    endpoint = post("", {"url": f"http://127.0.0.1:{server.server_port}/hook"})
    path = f"/{endpoint['id']}"
    post(f"{path}/ping")
    first = next_ping()
    rotated = post(f"{path}/rotate_secret")
    post(f"{path}/ping")
    both = next_ping()
    deliveries = session.get(f"{base}/api/v1/webhook_endpoints{path}/deliveries").json()["data"]
    assert int(first[0]["webhook-id"]) in [delivery["event_id"] for delivery in deliveries], deliveries

    old = (endpoint["secret"], endpoint["public_keys"])
    new = (rotated["secret"], rotated["public_keys"][:1])
    headers, body = both
    tampered = body.replace("pinged", "pinned")
    late = {**headers, "webhook-timestamp": str(int(time.time()) - 301)}
    # What a key without its own signature sees, as it is 24 hours after a rotation.
    only_new = {**headers, "webhook-signature": " ".join(headers["webhook-signature"].split()[:2])}
    cases = [
        ("the first request", old, *first, True),
        ("the new keys", new, headers, body, True),
        ("the old keys during a rotation", old, headers, body, True),
        ("the old keys afterwards", old, only_new, body, False),
        ("the new keys, before the rotation", new, *first, False),
        ("another body", new, headers, tampered, False),
        ("another time", new, late, body, False),
        ("another id", new, {**headers, "webhook-id": "1"}, body, False),
    ]
    for command in RECEIVERS:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as receiver:
            for name, (secret, public_keys), headers, body, expected in cases:
                given = {"secret": secret, "public_keys": public_keys, "headers": headers, "body": body}
                print(json.dumps(given), file=receiver.stdin, flush=True)
                verdicts = json.loads(receiver.stdout.readline())
                assert verdicts == [expected] * 2, (command, name, verdicts)
            receiver.stdin.close()
    print(f"{len(RECEIVERS)} receivers judged {len(cases)} requests by secret and by public key")


main()
