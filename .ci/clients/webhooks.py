"""Sends events to receivers in Python and JavaScript over HTTPS, and lets them judge genuine and forged requests.

Usage: webhooks.py ROLECALL

Each receiver has a public host name, a public address, port 443, and a certificate of an authority that the service
trusts. Run this in its own network and mount namespaces, so that these names and addresses lead to this machine.
"""

import datetime
import ipaddress
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

KEY = "rc_live_000000001000000001ZCG7000000DemoKeyOfAcmeLiveNotASecretJPF42F2mh9z0N3tAZ"
# Any public addresses: the requests stay in the namespace.
RECEIVERS = {
    ("python.example.com", "93.184.215.14"): [".venv/bin/python", "-u", "receiver.py"],
    ("node.example.com", "93.184.215.15"): ["node", "receiver.js"],
}


def certificate(name, issuer=None):
    """Creates a key and a certificate for a host, or for an authority if there is no issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer_key, issuer_certificate = issuer or (key, None)
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer_certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    )
    return key, builder.sign(issuer_key, hashes.SHA256())


def write_pem(folder, name, pair):
    """Writes the certificate and the key as PEM files, and returns their paths."""
    key, found = pair
    paths = folder / f"{name}.pem", folder / f"{name}.key"
    paths[0].write_bytes(found.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))
    return paths


def set_network(folder):
    """Gives this machine the addresses of the receivers, and lets their names lead there."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    hosts = folder / "hosts"
    lines = ["127.0.0.1 localhost"]
    for name, address in RECEIVERS:
        assert ipaddress.ip_address(address).is_global
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
        lines.append(f"{address} {name}")
    hosts.write_text("\n".join([*lines, ""]))
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)


class Receiver:
    """A receiver in another process."""

    def __init__(self, command, address, paths):
        self.process = subprocess.Popen(
            [*command, address, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.expect_ready()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def expect_ready(self):
        line = self.lines.get(timeout=300)
        assert line == "ready", line

    def trust(self, secret, public_keys):
        print(json.dumps({"secret": secret, "public_keys": public_keys}), file=self.process.stdin, flush=True)
        self.expect_ready()

    def next_request(self):
        return json.loads(self.lines.get(timeout=300))

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=300) == 0


def judge(api, authority, host, receiver):
    """Sends genuine and forged requests to a receiver. Returns their number."""

    def call(method, path, body=None):
        answer = api.request(method, f"{api.base}/api/v1/webhook_endpoints{path}", json=body)
        assert answer.ok, answer.text
        return answer.json()

    url = f"https://{host}/hook"
    # Only pings: an event of another change, such as the rotation, could arrive between any two requests.
    endpoint = call("POST", "", {"url": url, "types": ["webhook_endpoint.pinged"]})
    path = f"/{endpoint['id']}"
    old = (endpoint["secret"], endpoint["public_keys"])
    receiver.trust(*old)
    call("POST", f"{path}/ping")
    first = receiver.next_request()
    assert first["verdicts"] == [True, True], first
    rotated = call("POST", f"{path}/rotate_secret")
    new = (rotated["secret"], rotated["public_keys"][:1])
    receiver.trust(*new)
    call("POST", f"{path}/ping")
    both = receiver.next_request()
    assert both["verdicts"] == [True, True], both
    wait_for_delivery(call, path, int(both["headers"]["webhook-id"]))

    headers, body = both["headers"], both["body"]
    tampered = body.replace("pinged", "pinned")
    late = {**headers, "webhook-timestamp": str(int(time.time()) - 301)}
    # What a key without its own signature sees, as it is 24 hours after a rotation.
    only_new = {**headers, "webhook-signature": " ".join(headers["webhook-signature"].split()[:2])}
    cases = [
        ("the old keys during a rotation", old, headers, body, True),
        ("the old keys afterwards", old, only_new, body, False),
        ("the new keys, before the rotation", new, first["headers"], first["body"], False),
        ("another body", new, headers, tampered, False),
        ("another time", new, late, body, False),
        ("another id", new, {**headers, "webhook-id": "1"}, body, False),
    ]
    for name, keys, sent, text, expected in cases:
        receiver.trust(*keys)
        answer = requests.post(url, data=text.encode(), headers=sent, verify=authority, timeout=300)
        given = receiver.next_request()
        assert given["verdicts"] == [expected] * 2, (host, name, given)
        assert answer.status_code == (204 if expected else 401), (host, name, answer.status_code)
    call("DELETE", path)
    return 2 + len(cases)


def wait_for_delivery(call, path, event):
    """Waits until the log of the endpoint has the delivery of this event, with the receiver's answer."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        deliveries = call("GET", f"{path}/deliveries")["data"]
        if any(delivery["event_id"] == event and delivery["status"] == "delivered" for delivery in deliveries):
            return
        time.sleep(0.1)
    raise AssertionError(f"event {event} was not delivered: {deliveries}")


def main():
    rolecall = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        set_network(folder)
        authority = certificate("Authority of the test")
        root, _ = write_pem(folder, "authority", authority)
        command = [rolecall, "--memory", "--port", "0"]
        environment = {**os.environ, "SSL_CERT_FILE": str(root)}
        log = folder / "service.log"
        with log.open("w") as errors:
            service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        try:
            api = requests.Session()
            api.base = service.stdout.readline().split()[1]
            api.headers["authorization"] = f"Bearer {KEY}"
            for (host, address), receiving in RECEIVERS.items():
                receiver = Receiver(receiving, address, write_pem(folder, host, certificate(host, authority)))
                count = judge(api, root, host, receiver)
                receiver.stop()
                print(f"{host} judged {count} requests by secret and by public key")
        except BaseException:
            print(log.read_text(), file=sys.stderr)
            raise
        finally:
            service.kill()
            service.wait()


main()
