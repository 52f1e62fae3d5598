"""The local service for the stories, and a newer release of it."""

import json
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

ACME = "rc_live_000000001000000001ZCG7000000DemoKeyOfAcmeLiveNotASecretJPF42F2mh9z0N3tAZ"
# Of an organization on the Free plan.
GLOBEX = "rc_live_000000002000000002ZCG7000000DemoKeyOfGlobexLiveNoSecretHoFqctcKUab3rjR1L"
UNKNOWN = {"status": "on_ice", "stage": "handshake", "kind": "teleported"}


@contextmanager
def local_service(rolecall):
    """Starts the service with the demo company, and yields its URL. Prints its log if something fails."""
    with tempfile.TemporaryFile("w+") as log:
        command = [rolecall, "--memory", "--demo", "--port", "0"]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield service.stdout.readline().split()[1]
        except BaseException:
            log.seek(0)
            print(log.read())
            raise
        finally:
            service.terminate()
            service.wait()


def reach_limit(base):
    """Uses up the daily requests of the Free plan."""
    with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {GLOBEX}"}) as client:
        for _ in range(101):
            response = client.get("/api/v1/organization")
    assert response.status_code == 429, response


def age(value, unknown):
    """Adds a field to each object, and gives the first of each field in `unknown` a value of a newer release."""
    if isinstance(value, list):
        return [age(item, unknown) for item in value]
    if not isinstance(value, dict):
        return value
    aged = {
        name: unknown.pop(name, item) if isinstance(item, str) else age(item, unknown) for name, item in value.items()
    }
    return {**aged, "added_later": {"by": "a newer release"}}


@contextmanager
def future(base):
    """Yields the URL of a newer release: its answers to GET have fields and values that the document does not know."""

    class Newer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            response = httpx.get(f"{base}{self.path}", headers={"Authorization": self.headers["Authorization"]})
            content = json.dumps(age(response.json(), {**UNKNOWN})).encode()
            self.send_response(response.status_code)
            for name, value in {**response.headers, "content-length": str(len(content))}.items():
                if name not in ("content-encoding", "transfer-encoding", "vary", "date"):
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Newer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
