"""How long a supervised agent waits for an answer, and what supervision adds to its start.

The round trip is measured by a child that asks and reads: once under `signoff wrap`, with policy, ledger and disk, and once
under a bare relay in Python that answers at once, to which one fdatasync is added. Both agents and the disk take turns, a
few requests each, because a disk that others use may be ten times slower a second later.
"""

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

from benchmarks.figure import Figure, Unavailable, at_most, medians
from benchmarks.undisturbed import undisturbed

ROUNDS = 3
TURNS = 40
REQUESTS = 20  # in a turn

CHILD = """
import sys, time
sys.stdin.readline()
number = 0
with open(sys.argv[1]) as turns, open(sys.argv[2], "w") as seconds:
    for _ in turns:
        times = []
        for number in range(number, number + int(sys.argv[3])):
            start = time.perf_counter()
            sys.stdout.write('{"v":1,"type":"tool.request","ts":1,"id":"t%d","tool":"shell","action":"exec","args":{"command":"ls src"},"requires_policy":true}\\n' % number)
            sys.stdout.flush()
            sys.stdin.readline()
            times.append(time.perf_counter() - start)
            sys.stdout.write('{"v":1,"type":"tool.result","ts":1,"id":"t%d","ok":true,"output":{}}\\n' % number)
            sys.stdout.flush()
        number += 1
        print(*times, file=seconds, flush=True)
"""
RELAY = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
out, into = child.stdout.fileno(), child.stdin.fileno()
os.write(into, b"ping\\n")
while data := os.read(out, 65536):
    if b"tool.request" in data:
        os.write(into, b'{"v":1,"type":"policy.decision","decision":"allow"}\\n')
"""


def measure() -> list[Figure]:
    program = pathlib.Path(sys.executable).with_name("signoff")
    if not program.exists():
        raise Unavailable("signoff is not installed beside this interpreter")
    with tempfile.TemporaryDirectory() as directory, undisturbed():
        environ = {**os.environ, "HOME": directory, "XDG_STATE_HOME": f"{directory}/state"}
        arms = {"wrap": [str(program), "wrap", "--"], "relay": [sys.executable, "-c", RELAY]}
        waited = answers(arms, directory, environ)
        start = medians(
            {
                "python": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
                "wrap": lambda: subprocess.run([str(program), "wrap", "--", "true"], check=True, env=environ),
            },
            rounds=25,
        )
    return [
        at_most(
            "request to decision, p50",
            waited["wrap"] / (waited["relay"] + waited["disk"]),
            1.5,
            reference="bare relay + one fdatasync",
        ),
        at_most("wrap adds to a child's start", start["wrap"] / start["python"], 12, reference="python -c pass"),
    ]


def answers(arms: dict[str, list[str]], directory: str, environ: dict[str, str]) -> dict[str, float]:
    """Median seconds that an agent under each arm waits for an answer, and that the disk takes for one sync."""
    times: dict[str, list[float]] = {name: [] for name in [*arms, "disk"]}
    for _ in range(ROUNDS):
        with contextlib.ExitStack() as stack:
            agents = {name: stack.enter_context(agent(arm, directory, environ)) for name, arm in arms.items()}
            file = stack.enter_context(tempfile.TemporaryFile(dir=directory, buffering=0))
            for turn in range(1 + TURNS):
                found = {name: ask() for name, ask in agents.items()}
                found["disk"] = [sync_time(file.fileno()) for _ in range(REQUESTS)]
                for name in times if turn else ():
                    times[name] += found[name]
    return {name: statistics.median(seconds) for name, seconds in times.items()}


@contextlib.contextmanager
def agent(around: list[str], directory: str, environ: dict[str, str]) -> Iterator[Callable[[], list[float]]]:
    """A child that asks when it is told to, through whatever is started around it."""
    folder = tempfile.mkdtemp(dir=directory)
    pipes = [f"{folder}/turns", f"{folder}/seconds"]
    for pipe in pipes:
        os.mkfifo(pipe)
    child = [sys.executable, "-c", CHILD, *pipes, str(REQUESTS)]
    process = subprocess.Popen([*around, *child], env=environ, stdout=subprocess.DEVNULL)
    with open(pipes[0], "w") as turns, open(pipes[1]) as seconds:

        def turn() -> list[float]:
            print(file=turns, flush=True)
            return [float(word) for word in seconds.readline().split()]

        yield turn
    if process.wait(timeout=60):
        raise Unavailable(f"the run ended with {process.returncode}")


def sync_time(file: int) -> float:
    os.write(file, b"x" * 600)
    start = time.perf_counter()
    os.fdatasync(file)
    return time.perf_counter() - start
