"""How long a supervised agent waits for an answer, and what supervision adds to its start.

The round trip is measured by a child that asks and reads: once under `signoff wrap`, with policy, ledger and disk, and once
under a bare relay in Python that answers at once, to which one fdatasync is added.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.figure import Figure, Unavailable, at_most, medians

REQUESTS = 1_500
ROUNDS = 5

CHILD = """
import json, statistics, sys, time
sys.stdin.readline()
times = []
for number in range(%d):
    start = time.perf_counter()
    sys.stdout.write('{"v":1,"type":"tool.request","ts":1,"id":"t%%d","tool":"shell","action":"exec","args":{"command":"ls src"},"requires_policy":true}\\n' %% number)
    sys.stdout.flush()
    sys.stdin.readline()
    times.append(time.perf_counter() - start)
    sys.stdout.write('{"v":1,"type":"tool.result","ts":1,"id":"t%%d","ok":true,"output":{}}\\n' %% number)
    sys.stdout.flush()
print(json.dumps(statistics.median(times)))
"""
RELAY = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
child.stdin.write(b"ping\\n")
import os
out, into = child.stdout.fileno(), child.stdin.fileno()
while data := os.read(out, 65536):
    if b"tool.request" in data:
        os.write(into, b'{"v":1,"type":"policy.decision","decision":"allow"}\\n')
    if not data.endswith(b"}\\n"):  # the child's own last line, perhaps read together with an event
        os.write(1, data)
"""


def measure() -> list[Figure]:
    program = pathlib.Path(sys.executable).with_name("signoff")
    if not program.exists():
        raise Unavailable("signoff is not installed beside this interpreter")
    child = CHILD % REQUESTS
    with tempfile.TemporaryDirectory() as directory:
        environ = {**os.environ, "HOME": directory, "XDG_STATE_HOME": f"{directory}/state"}
        ours, relay, disk = [], [], []
        for _ in range(ROUNDS):
            ours.append(answer_time([str(program), "wrap", "--", sys.executable, "-c", child], environ))
            relay.append(answer_time([sys.executable, "-c", RELAY, child], environ))
            disk.append(sync_time(directory))
        reference = statistics.median(relay) + statistics.median(disk)
        start = medians(
            {
                "python": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
                "wrap": lambda: subprocess.run([str(program), "wrap", "--", "true"], check=True, env=environ),
            },
            rounds=15,
        )
    return [
        at_most(
            "request to decision, p50", statistics.median(ours) / reference, 1.5, reference="bare relay + one fdatasync"
        ),
        at_most("wrap adds to a child's start", start["wrap"] / start["python"], 12, reference="python -c pass"),
    ]


def answer_time(command: list[str], environ: dict[str, str]) -> float:
    done = subprocess.run(command, capture_output=True, env=environ, timeout=300, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def sync_time(directory: str) -> float:
    times = []
    with open(f"{directory}/sync", "ab", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 600)
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)
