"""A receiver of webhooks with the code of the API guide: it verifies each request with the secret and the public keys.

Usage: receiver.py ADDRESS CERTIFICATE KEY

Listens at port 443. Each line of the standard input is JSON with the secret and the public keys from then on. Prints the
requests as JSON with both verdicts.
"""

import json
import re
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

guide = Path("../../functions/README.md").read_text(encoding="utf-8")
section = guide.split("### Verifying requests\n")[1].split("\n## ")[0]
# The standard output is for requests.
code = {"print": lambda *_: None}
for block in re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
    exec(block, code)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("webhook-")}
        verdicts = [code["receive"](headers, body) == 204, code["is_genuine"](headers, body)]
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
    code.update(SECRET=trusted["secret"], PUBLIC_KEYS=trusted["public_keys"])
    print("ready", flush=True)
