"""What the users of the service do on a usual day: recruiters' tools through the API, and visitors of a career page."""

import itertools
import json
import random
import urllib.request

from locust import FastHttpUser, constant, events, task

ROLES, CANDIDATES = 20, 300
numbers = itertools.count(1)
roles, candidates, jobs = [], [], []


@events.init_command_line_parser.add_listener
def options(parser):
    parser.add_argument("--key", help="the API key")


def quick_post():
    """The body of a quick post."""
    return {"role": {"title": f"Engineer {next(numbers)}", "description": "Builds and runs our services. " * 10}}


def candidate():
    """The body of a new candidate."""
    number = next(numbers)
    name, email = f"Ada Lovelace {number}", f"ada.{number}@example.com"
    return {"name": name, "email": email, "role_id": random.choice(roles)}


@events.test_start.add_listener
def create(environment, **_):
    """Creates what the users find."""
    headers = {"Authorization": f"Bearer {environment.parsed_options.key}", "Content-Type": "application/json"}

    def post(path, body):
        url = f"{environment.host}/api/v1/{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    created = [post("quick_post", quick_post()) for _ in range(ROLES)]
    roles.extend(one["role"]["id"] for one in created)
    jobs.extend(one["job_posting"]["slug"] for one in created)
    candidates.extend(post("candidates", candidate())["id"] for _ in range(CANDIDATES))


class User(FastHttpUser):
    """Sends one request after another. Requests to the same route have one name."""

    abstract = True
    wait_time = constant(0)
    network_timeout = connection_timeout = 30.0

    def api(self, method, path, route=None, body=None):
        headers = {"Authorization": f"Bearer {self.environment.parsed_options.key}"}
        name = f"{method} /{route or path}"
        with self.rest(method, f"/api/v1/{path}", name=name, headers=headers, json=body) as response:
            return response.js


class Recruiter(User):
    weight = 4

    @task(1)
    def quick_post(self):
        self.api("POST", "quick_post", body=quick_post())

    @task(6)
    def add(self):
        candidates.append(self.api("POST", "candidates", body=candidate())["id"])

    @task(20)
    def list_candidates(self):
        self.api("GET", "candidates")

    @task(20)
    def read_candidate(self):
        self.api("GET", f"candidates/{random.choice(candidates)}", "candidates/:id")

    @task(8)
    def search(self):
        self.api("GET", f"candidates?q=lovelace+{random.randrange(CANDIDATES)}", "candidates?q=")

    @task(10)
    def list_roles(self):
        self.api("GET", "roles")

    @task(10)
    def list_applications(self):
        self.api("GET", f"applications?role_id={random.choice(roles)}", "applications?role_id=")

    @task(5)
    def read_stats(self):
        self.api("GET", f"roles/{random.choice(roles)}/stats", "roles/:id/stats")

    @task(4)
    def write_note(self):
        self.api("POST", f"candidates/{random.choice(candidates)}/notes", "candidates/:id/notes", {"text": "Spoke on the phone."})

    @task(2)
    def list_screens(self):
        self.api("GET", "voice_screens")

    @task(2)
    def read_organization(self):
        self.api("GET", "organization")

    @task(10)
    def reach_a_function(self):
        self.client.get("/.well-known/oauth-protected-resource", name="GET /.well-known/oauth-protected-resource")


class Visitor(User):
    weight = 1

    @task(3)
    def list_openings(self):
        self.client.get("/careers/acme", name="GET /careers/:org")

    @task(2)
    def read_opening(self):
        self.client.get(f"/careers/acme/{random.choice(jobs)}", name="GET /careers/:org/:slug")
