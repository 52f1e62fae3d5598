"""Drives a local service with the requests of a usual day, and prints requests per second and latencies by route.

Usage: run.py ROLECALL [SECONDS [USERS]]
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# A request that does nothing but reach a function.
FLOOR = "GET /.well-known/oauth-protected-resource"


def main():
    rolecall, seconds, users = sys.argv[1], *[*sys.argv[2:], "60", "16"][:2]
    with subprocess.Popen(
        [rolecall, "--memory", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as service:
        try:
            base, key = (service.stdout.readline().split()[-1] for _ in range(2))
            with tempfile.TemporaryDirectory() as folder:
                drive(base, key, seconds, users, folder)
                report(pathlib.Path(folder, "load_stats.csv"))
        finally:
            service.terminate()


def drive(base, key, seconds, users, folder):
    """Sends requests for some seconds, from several users at the same time."""
    locust = pathlib.Path(sys.executable).with_name("locust")
    options = ["--headless", "--users", users, "--spawn-rate", users, "--run-time", f"{seconds}s", "--host", base]
    options += ["--csv", f"{folder}/load", "--only-summary", "--reset-stats", "--loglevel", "ERROR", "--key", key]
    command = [locust, "--locustfile", HERE / "day.py", *options]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # The generator fails if a response has another status than 2xx.
    if run.returncode:
        sys.exit(run.stdout)


def report(file):
    """Prints a table of the routes. The last column compares medians with that of the floor."""
    with file.open(encoding="utf-8") as lines:
        rows = {row["Name"]: row for row in csv.DictReader(lines)}
    floor = float(rows[FLOOR]["50%"])
    print("| Route | requests/s | median, ms | 99 %, ms | median / floor |")
    print("|---|---|---|---|---|")
    for name, row in sorted(rows.items(), key=lambda item: (item[0] == "Aggregated", item[0])):
        median, rate = float(row["50%"]), float(row["Requests/s"])
        print(f"| `{name}` | {rate:.0f} | {median:.0f} | {float(row['99%']):.0f} | {median / floor:.1f} |")


if __name__ == "__main__":
    main()
