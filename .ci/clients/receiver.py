"""A receiver of webhooks, as the API guide describes it: it verifies each request with the secret and the public keys.

Usage: receiver.py ADDRESS CERTIFICATE KEY

Listens at port 443. Each line of the standard input is JSON with the secret and the public keys from then on. Prints the
requests as JSON with both verdicts.
"""

import json
import ssl
import sys
import threading
import time
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

trusted = {}


def receive(secret: str, headers: dict[str, str], body: bytes) -> bool:
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


def is_genuine(public_keys: list[str], headers: dict[str, str], body: bytes) -> bool:
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    is_fresh = abs(time.time() - int(headers["webhook-timestamp"])) < 300
    for version, _, signature in (entry.partition(",") for entry in headers["webhook-signature"].split()):
        for key in public_keys if version == "v1a" else []:
            try:
                VerifyKey(b64decode(key.removeprefix("whpk_"))).verify(signed, b64decode(signature))
                return is_fresh
            except BadSignatureError:
                pass
    return False


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("webhook-")}
        verdicts = [receive(trusted["secret"], headers, body), is_genuine(trusted["public_keys"], headers, body)]
        print(json.dumps({"headers": headers, "body": body.decode(), "verdicts": verdicts}), flush=True)
        self.send_response(204 if all(verdicts) else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


address, certificate, key = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server = ThreadingHTTPServer((address, 443), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    trusted = json.loads(line)
    print("ready", flush=True)
