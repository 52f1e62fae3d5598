"""Runs every function in Lambda's runtime interface emulator with its sample events.

Usage: main.py FOLDER ROLECALL [PACKAGE...], with the folder of the functions' binaries and the local service's binary,
whose embedded DynamoDB the functions use. Without packages, it runs all functions. It needs the package aws-sam-cli,
which contains the emulator.
`main.py --packages` prints the functions' packages, and `main.py --binaries` their binaries.
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


def main(folder, rolecall, *packages):
    # If this program is stopped, its processes must end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    provider = sam.functions()
    events = sam.events(provider)
    sam.check_environment(provider)
    api, dynamodb, bucket = processes.free_ports(3)
    os.environ.update(sam.shell(api, dynamodb, bucket))
    print("to do the same in containers, set up as described in infra/README.md:")
    with processes.local_service(rolecall, sam.SERVICE, api, dynamodb, bucket):
        functions = [one for one in provider.get_all() if not packages or sam.package(one) in packages]
        for function in sorted(functions, key=sam.binary):
            environment = sam.environment(provider, function)
            with processes.function(f"{folder}/{sam.binary(function)}", environment) as running:
                check(running, function.name, events[function.name], environment)
    print(f"ran {sum(len(events[one.name]) for one in functions)} events in {len(functions)} functions")


def check(function, name, events, environment):
    """Sends a function all its events, then an invalid event, then one more event, and ends it."""
    pids = set()
    for event, content in events:
        print(answer(function, event, content), sam.command(name, event))
        pids.add(function.pid())
    check_unknown_keys(function, events)
    if name == "VoiceWebhookFunction":
        check_fresh_signature(function, events[0][1], environment["SIGNING_KEYS"])
    processes.check_log(function.log)
    result = function.invoke({"hello": "world"})
    if "routeKey" in events[0][1]:
        assert result["errorType"] and result["errorMessage"], result
    else:
        # For a job, every event without records is one of the schedule.
        last = events[-1][0]
        expected.check_job(last, result, expected.REPEATED.get(last))
    answer(function, *repeatable(events), expected.REPEATED)
    assert pids == {function.pid()}, f"{name} was restarted"
    function.check_end()


def answer(function, name, event, results=expected.DONE):
    """Invokes a function, checks the result, and returns the status. `results` are those of jobs."""
    result = function.invoke(event)
    if "routeKey" in event:
        return expected.check(name, event, result)
    return expected.check_job(name, result, results.get(name))


def repeatable(events):
    """An event that always has the same result."""
    reading = [named for named in events if named[1].get("routeKey", "").startswith("GET ")]
    return (reading or events)[-1]


def check_unknown_keys(function, events):
    """Checks that routes with authentication reject an unknown key."""
    for _, event in events:
        if expected.is_documented(event) and "authorization" in event["headers"]:
            unknown = {**event, "headers": {**event["headers"], "authorization": "Bearer rc_live_nobodys"}}
            expected.check_unauthorized(event, function.invoke(unknown))


def check_fresh_signature(function, event, signing_key):
    """Checks that the voice simulator's callback is accepted if it is signed now."""
    purpose = b"voice simulator"
    key = hmac.digest(signing_key.encode(), len(purpose).to_bytes(8, "big") + purpose, hashlib.sha256)
    key, now = base64.urlsafe_b64encode(key).rstrip(b"="), str(int(time.time()))
    signature = hmac.new(key, f"{now}.{event['body']}".encode(), hashlib.sha256).hexdigest()
    signed = {**event, "headers": {**event["headers"], "x-timestamp": now, "x-signature": signature}}
    result = function.invoke(signed)
    assert result["statusCode"] == 200 and json.loads(result["body"]) == {}, result


if __name__ == "__main__":
    if sys.argv[1:] == ["--packages"]:
        print(*sorted({sam.package(function) for function in sam.functions().get_all()}))
    elif sys.argv[1:] == ["--binaries"]:
        print(*sorted(sam.binary(function) for function in sam.functions().get_all()))
    else:
        main(*sys.argv[1:])
