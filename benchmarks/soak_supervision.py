"""Memory of the supervisor over a million requests and ten gigabytes of output.

The child measures its own parent: what it held after the first twentieth, and what it holds at the end. How far it has come
is said on standard error; SOAK_REQUESTS and SOAK_GIGABYTES make it smaller for a look.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from benchmarks.figure import Figure, Unavailable, at_most

REQUESTS = int(os.environ.get("SOAK_REQUESTS", "1000000"))
GIGABYTES = float(os.environ.get("SOAK_GIGABYTES", "10"))
WINDOW = 500  # requests on their way at once

MEASURE = """
import json, os, sys
def held():
    status = open(f"/proc/{os.getppid()}/status").read()
    return int(status.partition("VmRSS:")[2].split()[0])
"""
ASK = """
sys.stdin.readline()
early, allowed = 0, 0
for first in range(0, %(requests)d, %(window)d):
    sys.stdout.write("".join(
        '{"v":1,"type":"tool.request","ts":1,"id":"t%%d","tool":"shell","action":"exec","args":{"command":"ls src"},"requires_policy":true}\\n' %% n
        for n in range(first, first + %(window)d)))
    sys.stdout.flush()
    ids = []
    for _ in range(%(window)d):
        answer = json.loads(sys.stdin.readline())
        allowed += answer["decision"] == "allow"
        ids.append(answer["id"])
    sys.stdout.write("".join('{"v":1,"type":"tool.result","ts":1,"id":"%%s","ok":true,"output":{}}\\n' %% n for n in ids))
    if not early and first >= %(requests)d // 20:
        early = held()
    if first %% (%(requests)d // 20) < %(window)d:
        print(f"{first} requests, {held()} kB", file=sys.stderr, flush=True)
print(json.dumps([early, held(), allowed]))
"""
PRINT = """
block = (b"the quick brown fox jumps over the lazy dog\\n" * 25_000)[:1_000_000]
early = 0
for written in range(%(megabytes)d):
    os.write(1, block)
    if written == %(megabytes)d // 20:
        early = held()
    if written %% (%(megabytes)d // 20) == 0:
        print(f"{written} MB, {held()} kB", file=sys.stderr, flush=True)
os.write(1, b"\\n" + json.dumps([early, held(), 0]).encode() + b"\\n")
"""


def measure() -> list[Figure]:
    asked = run(MEASURE + ASK % {"requests": REQUESTS, "window": WINDOW})
    if asked[2] != REQUESTS:
        raise Unavailable(f"only {asked[2]} of {REQUESTS} requests were allowed")
    printed = run(MEASURE + PRINT % {"megabytes": int(GIGABYTES * 1_000)})
    return [
        at_most(f"memory after {REQUESTS:,} requests", asked[1] / asked[0], 1.1, reference="after the first twentieth"),
        at_most(
            f"memory after {GIGABYTES:g} GB of output",
            printed[1] / printed[0],
            1.1,
            reference="after the first twentieth",
        ),
    ]


def run(child: str) -> list[int]:
    program = pathlib.Path(sys.executable).with_name("signoff")
    if not program.exists():
        raise Unavailable("signoff is not installed beside this interpreter")
    with tempfile.TemporaryDirectory() as directory:
        environ = {**os.environ, "HOME": directory, "XDG_STATE_HOME": f"{directory}/state"}
        command = [str(program), "wrap", "--", sys.executable, "-c", child]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environ)
        assert process.stdout is not None
        last = b""
        while piece := os.read(process.stdout.fileno(), 1 << 20):
            last = (last + piece)[-1_000:]
        if process.wait(timeout=60) != 0:
            raise Unavailable(f"the run ended with {process.returncode}")
    found: list[int] = json.loads(last.splitlines()[-1])
    return found
