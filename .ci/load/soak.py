"""Sends a steady mixed load to the local service, and checks that it neither grows nor slows down nor fails.

Usage: soak.py FOLDER [MINUTES [RATE]], with the folder of the binaries, and the number of requests a second.

The database is in a process of its own, and the data do not grow: the requests read, change what exists, and delete the
notes that they add. All organizations have the Pro plan. The first sixth of the time is the warm-up: five minutes of 30.
In the second half of the warm-up, all requests of a second are sent at once. So the service then already has the
connections and the memory that it needs when a busy machine delays requests, and what grows later is a leak.
"""

import gzip
import http.client
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runtime"))

import processes  # noqa: E402

ORGANIZATIONS, ROLES, CANDIDATES = 4, 10, 100
# The limits: the memory after the warm-up, and the 99th percentile of the last sixth, relative to the one after the
# warm-up. Times of a shared machine vary, memory does not.
MEMORY, SLOWDOWN = 1.1, 1.5


def main(folder, minutes="30", rate="50"):
    folder, seconds = pathlib.Path(folder), float(minutes) * 60
    port, database = processes.free_ports(2)
    rolecall = str(folder / "rolecall")
    engine = [rolecall, "--memory", "--table", "engine", "--port", "0", "--dynamodb-port", str(database)]
    endpoint = f"http://127.0.0.1:{database}"
    command = [rolecall, "--endpoint", endpoint, "--port", str(port)]
    with processes.running("database", engine) as (engine, _):
        processes.wait_for(engine, lambda: processes.listens(database))
        with processes.running("local service", command) as (service, _):
            processes.wait_for(service, lambda: processes.answers(f"http://127.0.0.1:{port}/api/v1/organization"))
            tenants = [Tenant(folder, endpoint, port, number) for number in range(ORGANIZATIONS)]
            load = Load(tenants, port, int(rate), seconds)
            memory = load.run([service.pid, engine.pid])
    report(load.answers, memory, seconds)


class Tenant:
    """An organization with roles and candidates."""

    def __init__(self, folder, endpoint, port, number):
        def admin(*words):
            command = [folder / "rolecall-admin", "--endpoint", endpoint, "--json", *words]
            variables = {**os.environ, "CREDENTIAL_KEYS": keys()}
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=variables)
            return json.loads(done.stdout)

        organization = str(admin("organization", "create", f"Soak {number}", "--plan", "pro")["id"])
        self.slug, self.port = f"soak-{number}", port
        self.key = admin("key", "create", organization, "--name", "Soak")["key"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        posted = [self.post(connection, "quick_post", {"role": role(number)}) for number in range(ROLES)]
        self.roles = [one["role"]["id"] for one in posted]
        self.jobs = [one["job_posting"]["slug"] for one in posted]
        self.candidates = []
        for number in range(CANDIDATES):
            body = {"name": f"Ada Lovelace {number}", "email": f"ada.{number}@example.com", "role_id": self.roles[number % ROLES]}
            self.candidates.append(self.post(connection, "candidates", body)["id"])
        self.notes = []

    def post(self, connection, path, body):
        status, content = self.send(connection, "POST", f"/api/v1/{path}", body)
        assert status == 201, content
        return content

    def send(self, connection, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", "Accept-Encoding": "gzip"}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        content = response.read()
        if response.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return response.status, json.loads(content) if is_json and content else content

    def request(self, chance):
        """A request of the mix: method, path and body."""
        candidate, one, job = chance.choice(self.candidates), chance.choice(self.roles), chance.choice(self.jobs)
        mix = {
            ("GET", "/api/v1/candidates", None): 20,
            ("GET", f"/api/v1/candidates/{candidate}", None): 20,
            ("GET", f"/api/v1/candidates?q=lovelace+{chance.randrange(CANDIDATES)}", None): 8,
            ("GET", f"/api/v1/candidates?role_id={one}", None): 5,
            ("GET", "/api/v1/roles", None): 10,
            ("GET", f"/api/v1/applications?role_id={one}", None): 10,
            ("GET", f"/api/v1/roles/{one}/stats", None): 5,
            ("GET", "/api/v1/organization", None): 2,
            ("GET", f"/careers/{self.slug}", None): 10,
            ("GET", f"/careers/{self.slug}/{job}", None): 10,
            ("PATCH", f"/api/v1/candidates/{candidate}", ("phone", f"+4915112345{chance.randrange(100):02}")): 4,
            ("PATCH", f"/api/v1/roles/{one}", ("location", f"Floor {chance.randrange(100)}")): 2,
            # Added, and deleted later.
            ("POST", f"/api/v1/candidates/{candidate}/notes", ("text", "Spoke on the phone.")): 2,
        }
        [(method, path, change)] = chance.choices(list(mix), list(mix.values()))
        return method, path, dict([change]) if change else None


class Load:
    """Requests at a constant rate. Each thread sends one a second, on a connection that stays open."""

    def __init__(self, tenants, port, rate, seconds):
        self.tenants, self.port, self.rate, self.seconds, self.answers = tenants, port, rate, seconds, []

    def run(self, pids):
        """Returns the memory of the processes over time: (seconds, bytes of each)."""
        started, memory = time.monotonic(), []
        threads = [threading.Thread(target=self.user, args=(started, number), daemon=True) for number in range(self.rate)]
        for thread in threads:
            thread.start()
        while time.monotonic() - started < self.seconds:
            memory.append((time.monotonic() - started, [resident(pid) for pid in pids]))
            time.sleep(min(5, self.seconds / 100))
        for thread in threads:
            thread.join(60)
        return memory

    def user(self, started, number):
        chance, tenant = random.Random(number), self.tenants[number % len(self.tenants)]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for second in itertools.count():
            at_once = self.seconds / 12 <= second < self.seconds / 6
            due = started + second + (0 if at_once else number / self.rate)
            if due - started >= self.seconds:
                return
            # A late request counts from when it was due, so a slow service cannot hide behind a slow generator.
            time.sleep(max(0, due - time.monotonic()))
            method, path, body = tenant.request(chance)
            if tenant.notes and method == "POST":
                method, path, body = "DELETE", tenant.notes.pop(), None
            try:
                status, content = tenant.send(connection, method, path, body)
            except OSError as error:
                status, content = 0, str(error)
                connection.close()
            self.answers.append((due - started, time.monotonic() - due, status, f"{method} {path}", content))
            if method == "POST" and status == 201:
                tenant.notes.append(f"{path}/{content['id']}")


def role(number):
    return {"title": f"Engineer {number}", "description": "Builds and runs our services. " * 10}


def keys():
    """The keys of the local service's credentials."""
    environment = pathlib.Path(__file__).resolve().parents[2] / "infra/local/environment.json"
    return json.loads(environment.read_text())["Parameters"]["CREDENTIAL_KEYS"]


def resident(pid):
    """The resident memory of a process, in bytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


def report(answers, memory, seconds):
    warm = seconds / 6
    failed = [answer for answer in answers if answer[2] >= 400 or answer[2] == 0]
    late = [taken for start, taken, *_ in answers if start >= seconds - warm]
    early = [taken for start, taken, *_ in answers if warm <= start < 2 * warm]
    first, last = percentile(early), percentile(late)
    used = [(moment, service) for moment, (service, _) in memory if moment >= warm]
    begin = statistics.median(size for moment, size in used if moment < 2 * warm)
    end = statistics.median(size for moment, size in used if moment >= seconds - warm)
    most = max(size for _, size in used)
    print("| Minute | requests | median, ms | 99 %, ms | memory of the service, MB | of the database, MB |")
    print("|---|---|---|---|---|---|")
    step = max(60, seconds / 10)
    for start in range(0, int(seconds), int(step)):
        times = [taken for moment, taken, *_ in answers if start <= moment < start + step]
        sizes = [size for moment, size in memory if start <= moment < start + step]
        service, database = (statistics.median(size[which] for size in sizes) / 1e6 for which in (0, 1))
        median, most_of = statistics.median(times) * 1000, percentile(times) * 1000
        print(f"| {start / 60:.0f} | {len(times)} | {median:.1f} | {most_of:.1f} | {service:.1f} | {database:.1f} |")
    print(
        f"{len(answers)} requests, {len(answers) / seconds:.1f} a second, {len(failed)} failed; memory after the warm-up "
        f"{begin / 1e6:.1f} MB, at the end {end / 1e6:.1f} MB ({end / begin:.3f}), at most {most / begin:.3f}; 99th percentile "
        f"{first * 1000:.1f} ms and {last * 1000:.1f} ms ({last / first:.2f})"
    )
    if failed:
        sys.exit("\n".join(f"{request}: {status} {content}" for _, _, status, request, content in failed[:10]))
    if most > MEMORY * begin:
        sys.exit(f"the memory grew to {most / begin:.3f} of that after the warm-up, limit {MEMORY}")
    if last > SLOWDOWN * first:
        sys.exit(f"the 99th percentile grew to {last / first:.2f}, limit {SLOWDOWN}")


def percentile(times):
    return sorted(times)[len(times) * 99 // 100]


if __name__ == "__main__":
    main(*sys.argv[1:])
