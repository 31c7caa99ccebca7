"""What supervision costs a child that prints: text, floods of events, and a prompt without a newline.

Each arm is the middle of a real pipeline of processes: producer | arm | consumer.
"""

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.figure import Figure, at_least, at_most, medians
from benchmarks.undisturbed import undisturbed
from signoff.wire.tool_events import ToolProgress, encode

TEXT_MB = 200
EVENTS = 500_000
TIMES = 8  # the file is sent so often, so that starting Python does not count as passing text through
TURNS = 150
PROMPTS = 100  # in a turn

PUMP = """
from signoff.supervisor.pump import Pump
from signoff.wire.jsonl import Modes, Scanner, Trust
import os
Pump(0, os.dup(1), Scanner(Modes(), Trust(nonce="n")), lambda events: None, lambda failures: None).run()
"""
JSON_LOOP = """
import json, sys
for line in sys.stdin.buffer:
    try:
        event = json.loads(line)
    except ValueError:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
"""
RELAY = """
import os
while data := os.read(0, 65536):
    os.write(1, data)
"""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        text = pathlib.Path(directory) / "text"
        line = b"the quick brown fox jumps over the lazy dog and then some more of the same\n"
        text.write_bytes(line * (TEXT_MB * 1_000_000 // len(line)))
        events = pathlib.Path(directory) / "events"
        events.write_bytes(
            encode(ToolProgress(1, "2026-01-01T00:00:00+00:00", "t-1", "copy", percent=12.5), prefix=False) * EVENTS
        )
        flow = medians(
            {
                "cat": lambda: pipeline(text, ["cat"]),
                "pump": lambda: pipeline(text, python(PUMP)),
                "json events": lambda: pipeline(events, python(JSON_LOOP)),
                "pump events": lambda: pipeline(events, python(PUMP)),
            },
            rounds=5,
        )
    pump, relay = prompt_latency(python(PUMP), python(RELAY))
    return [
        at_least("text passed through", flow["cat"] / flow["pump"], 0.6, reference="three cats in a pipe"),
        at_least(
            "dense progress events",
            flow["json events"] / flow["pump events"],
            5,
            reference="a json.loads per line loop",
        ),
        at_most("a prompt without newline, p99", pump / relay, 2, reference="a bare read/write relay in Python"),
    ]


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def pipeline(source: pathlib.Path, middle: list[str]) -> None:
    first = subprocess.Popen(["cat", *[str(source)] * TIMES], stdout=subprocess.PIPE)
    second = subprocess.Popen(middle, stdin=first.stdout, stdout=subprocess.PIPE)
    third = subprocess.Popen(["cat"], stdin=second.stdout, stdout=subprocess.DEVNULL)
    for process in (first, second):
        assert process.stdout is not None
        process.stdout.close()
    assert [process.wait(timeout=300) for process in (first, second, third)] == [0, 0, 0]


def prompt_latency(*arms: list[str]) -> list[float]:
    """For each arm the 99th percentile of the time from writing a partial line to reading it behind the arm.

    The arms take turns: a hundredth of the time the machine does something else, and it must be the same for all of them.
    """
    times: list[list[float]] = [[] for _ in arms]
    with contextlib.ExitStack() as stack, undisturbed():
        ends = [stack.enter_context(relayed(arm)) for arm in arms]
        for turn in range(1 + TURNS):
            for (into, out), found in zip(ends, times, strict=True):
                seconds = [passed_on(into, out) for _ in range(PROMPTS)]
                found += seconds if turn else []
    return [statistics.quantiles(found, n=100)[98] for found in times]


@contextlib.contextmanager
def relayed(middle: list[str]) -> Iterator[tuple[int, int]]:
    process = subprocess.Popen(middle, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        yield process.stdin.fileno(), process.stdout.fileno()
    process.wait(timeout=60)


def passed_on(into: int, out: int) -> float:
    start = time.perf_counter()
    os.write(into, b"continue? ")
    os.read(out, 100)
    return time.perf_counter() - start
