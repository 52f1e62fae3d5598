"""Runs every function in Lambda's runtime interface emulator, and sends it its recorded events.

Usage: main.py FOLDER ROLECALL, the folder of the functions' binaries, and the local service, whose embedded DynamoDB they work
on. Run it with the Python that has aws-sam-cli: the emulator is part of that package. `main.py --packages` names the functions.
"""

import base64
import hashlib
import hmac
import json
import os
import signal
import sys
import time

import expected
import processes
import sam


def main(folder, rolecall):
    # A stopped run must not leave its processes behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    provider = sam.functions()
    events = sam.events(provider)
    sam.check_environment(provider)
    sam.check_readme(events)
    api, dynamodb = processes.free_ports(2)
    os.environ.update(sam.shell(api, dynamodb))
    print("to do the same in containers, set up as the README says:")
    with processes.local_service(rolecall, sam.SERVICE, api, dynamodb):
        for function in sorted(provider.get_all(), key=sam.package):
            environment = sam.environment(provider, function)
            with processes.function(f"{folder}/{sam.package(function)}", environment) as running:
                play(running, function.name, events[function.name], environment)
    print(f"{sum(map(len, events.values()))} events, {len(events)} functions")


def play(function, name, events, environment):
    """A function's life: its first event, with which it starts; the others; what is no event for it; and its end."""
    pids = set()
    for event, content in events:
        print(answer(function, event, content), sam.command(name, event))
        pids.add(function.pid())
    refuse_strangers(function, events)
    if name == "VoiceWebhookFunction":
        sign_anew(function, events[0][1], environment["SIGNING_KEY"])
    processes.check_log(function.log)
    junk = function.invoke({"hello": "world"})
    if "routeKey" in events[0][1]:
        assert junk["errorType"] and junk["errorMessage"], junk
    else:
        # A job runs whatever it is told, and finds what it found the last time.
        expected.check_job(events[-1][0], junk)
    answer(function, *repeatable(events))
    assert pids == {function.pid()}, f"{name} was started anew"
    function.check_end()


def answer(function, name, event):
    """Invokes a function, checks what it answers, and returns the status."""
    given = function.invoke(event)
    return expected.check(name, event, given) if "routeKey" in event else expected.check_job(name, given)


def repeatable(events):
    """An event that is answered alike however often it comes."""
    reading = [one for one in events if one[1].get("routeKey", "").startswith("GET ")]
    return (reading or events)[-1]


def refuse_strangers(function, events):
    """A row of the API does not know everybody who comes with a key."""
    for _, event in events:
        if expected.is_documented(event) and "authorization" in event["headers"]:
            stranger = {**event, "headers": {**event["headers"], "authorization": "Bearer rc_live_nobodys"}}
            expected.check_refused(event, function.invoke(stranger))


def sign_anew(function, event, signing_key):
    """The voice simulator's callback, signed now, is taken."""
    purpose = b"voice simulator"
    key = hmac.digest(signing_key.encode(), len(purpose).to_bytes(8, "big") + purpose, hashlib.sha256)
    key, now = base64.urlsafe_b64encode(key).rstrip(b"="), str(int(time.time()))
    signature = hmac.new(key, f"{now}.{event['body']}".encode(), hashlib.sha256).hexdigest()
    signed = {**event, "headers": {**event["headers"], "x-timestamp": now, "x-signature": signature}}
    given = function.invoke(signed)
    assert given["statusCode"] == 200 and json.loads(given["body"]) == {}, given


if __name__ == "__main__":
    if sys.argv[1:] == ["--packages"]:
        print(*[sam.package(function) for function in sam.functions().get_all()])
    else:
        main(*sys.argv[1:])
