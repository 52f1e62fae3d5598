"""A receiver of webhooks, as the API guide describes it: it verifies a request with the secret and with the public keys.

It reads one request at a time from the standard input, as a line of JSON, and prints the verdict of each way.
"""

import json
import sys
import time
from base64 import b64decode

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError


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


for line in sys.stdin:
    given = json.loads(line)
    headers, body = given["headers"], given["body"].encode()
    verdicts = [receive(given["secret"], headers, body), is_genuine(given["public_keys"], headers, body)]
    print(json.dumps(verdicts), flush=True)
