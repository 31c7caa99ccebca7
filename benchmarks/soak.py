"""make soak [SECONDS=3600]: everything that runs for long, at once, with what it holds looked at all the while.

`wrap` with 100,000 requests, `acp serve` with 100 clients that come, work and go, `memory serve` with 100,000 answers that
are searched, added to and judged. Ends with a table, and with 1 where memory, descriptors or zombies grow, or anything
failed. Not part of `make bench` and of no CI.
"""

import asyncio
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from benchmarks.acp_sockets import free_port
from benchmarks.memory_speed import candidates, questions
from benchmarks.soak_watch import Sample, judged, sample
from signoff.memory.embedded import Embedded
from signoff.memory.embedding import load

REQUESTS, CLIENTS, ANSWERS = 100_000, 100, 100_000
PAUSE_S = 1.0  # between two requests of an ACP client
PROMPTS, SESSIONS = 5, 3  # prompts in a session, sessions of a connection
READY_S, FIRST_S = 60.0, 600.0
SEARCH = {"project_id": "p", "query": "how to begin"}
PROGRAM = str(pathlib.Path(sys.executable).with_name("signoff"))
AGENT = """
import json, sys, time
sys.stdin.readline()
began, allowed, window = time.monotonic(), 0, 100
for first in range(0, {requests}, window):
    sys.stdout.write("".join(
        '{{"v":1,"type":"tool.request","ts":1,"id":"t%d","tool":"shell","action":"exec","args":{{"command":"ls src"}},"requires_policy":true}}\\n' % n
        for n in range(first, first + window)))
    sys.stdout.flush()
    ids = []
    for _ in range(window):
        answer = json.loads(sys.stdin.readline())
        allowed += answer["decision"] == "allow"
        ids.append(answer["id"])
    sys.stdout.write("".join('{{"v":1,"type":"tool.result","ts":1,"id":"%s","ok":true,"output":{{}}}}\\n' % n for n in ids))
    sys.stdout.flush()
    time.sleep(max(0.0, began + (first + window) / {requests} * {seconds} - time.monotonic()))
sys.exit(0 if allowed == {requests} else 9)
"""


class Tally:
    """What was done, and what went wrong."""

    def __init__(self) -> None:
        self.done: dict[str, int] = dict.fromkeys(("wrap", "acp", "memory"), 0)
        self.wrong: dict[str, list[str]] = {name: [] for name in self.done}

    def warm(self) -> None:
        """Until every client has come, worked and gone once: then as many are there as ever will be."""
        say("waiting until every client has come and gone once …")
        deadline = time.monotonic() + FIRST_S
        while self.done["acp"] < CLIENTS * (1 + SESSIONS * (PROMPTS + 2)) and time.monotonic() < deadline:
            time.sleep(0.5)

    def failed(self, name: str, error: BaseException | str) -> None:
        if len(self.wrong[name]) < 5:
            self.wrong[name].append(error if isinstance(error, str) else f"{type(error).__name__}: {error}")


def main() -> int:
    seconds = float(os.environ.get("SECONDS") or 3600)
    tally = Tally()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        environ = {**os.environ, "HOME": home, "SIGNOFF_HOME": f"{home}/config"} | {
            f"XDG_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("STATE", "DATA", "CACHE")
        }
        say(f"putting {ANSWERS:,} answers into the memory …")
        filled = fill(pathlib.Path(f"{home}/data/signoff/memory.db"))
        acp, memory = free_port(), free_port()
        servers = {
            "acp": ["acp", "serve", "-m", "echo/echo", "--transport", "ws", "--listen", f"127.0.0.1:{acp}"],
            "memory": ["memory", "serve", "--listen", f"127.0.0.1:{memory}"],
        }
        agent = {"wrap": ["wrap", "--", sys.executable, "-c", AGENT.format(requests=REQUESTS, seconds=seconds * 0.9)]}
        with started(servers, environ) as serving:
            await_port(acp), await_port(memory)
            say("asking once what is slow the first time …")
            post(http.client.HTTPConnection("127.0.0.1", memory, timeout=FIRST_S), "search", SEARCH)
            with loaded(acp, memory, home, filled, tally), started(agent, environ, after=tally.warm) as supervised:
                samples = watched(serving | supervised, seconds, tally)
                end(supervised, tally, seconds + READY_S)
            end(serving, tally, READY_S)
    return told(samples, tally)


@contextlib.contextmanager
def loaded(acp: int, memory: int, home: str, filled: tuple[str, ...], tally: Tally) -> Iterator[None]:
    """Clients at both servers."""
    stop = threading.Event()
    loads = [
        threading.Thread(target=asyncio.run, args=(clients(acp, home, tally, stop),)),
        threading.Thread(target=questions_to, args=(memory, filled, tally, stop)),
    ]
    for thread in loads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in loads:
            thread.join(READY_S)


def fill(path: pathlib.Path) -> tuple[str, ...]:
    store = Embedded(path, embedding=load())
    ids = store.add(candidates(ANSWERS, seed=1))
    store.close()
    return ids


@contextlib.contextmanager
def started(
    commands: dict[str, list[str]], environ: dict[str, str], *, after: Callable[[], None] = lambda: None
) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    after()
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(
                killed(subprocess.Popen([PROGRAM, *words], env=environ, stdout=subprocess.DEVNULL))
            )
            for name, words in commands.items()
        }


@contextlib.contextmanager
def killed(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def await_port(port: int) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        with contextlib.suppress(OSError), contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as one:
            one.connect()
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing listens at {port}")
        time.sleep(0.1)


def watched(processes: dict[str, subprocess.Popen[bytes]], seconds: float, tally: Tally) -> dict[str, list[Sample]]:
    """Samples of each, until the time is up."""
    samples: dict[str, list[Sample]] = {name: [] for name in processes}
    began, every = time.monotonic(), max(0.5, seconds / 240)
    for number in itertools.count(1):
        due = began + number * every
        time.sleep(max(0.0, due - time.monotonic()))
        for name, process in processes.items():
            if process.poll() is None:
                samples[name].append(
                    msgspec.structs.replace(sample(process.pid), at=time.monotonic(), done=tally.done[name])
                )
            elif name != "wrap":
                tally.failed(name, f"ended with {process.returncode}")
        if number % 20 == 0:
            say(progress(time.monotonic() - began, samples, tally))
        if due >= began + seconds or any(processes[name].poll() is not None for name in ("acp", "memory")):
            return samples
    raise AssertionError("unreachable")


def progress(elapsed: float, samples: dict[str, list[Sample]], tally: Tally) -> str:
    parts = [
        f"{name} {tally.done[name] or '…'}: {taken[-1].kilobytes / 1024:.0f} MB, {taken[-1].descriptors} descriptors"
        for name, taken in samples.items()
        if taken
    ]
    return f"{elapsed:6.0f} s  " + "; ".join(parts)


def end(processes: dict[str, subprocess.Popen[bytes]], tally: Tally, limit: float) -> None:
    """The agent has to finish by itself, with every request allowed; the servers end when they are told."""
    for name, process in processes.items():
        if name != "wrap":
            process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            tally.failed(name, "did not end in time")
            continue
        if status not in (0, -signal.SIGTERM):
            tally.failed(name, f"ended with {status}")
        elif name == "wrap":
            tally.done[name] = REQUESTS


async def clients(port: int, cwd: str, tally: Tally, stop: threading.Event) -> None:
    await asyncio.gather(*(client(number, port, cwd, tally, stop) for number in range(CLIENTS)))


async def client(number: int, port: int, cwd: str, tally: Tally, stop: threading.Event) -> None:
    from websockets.asyncio.client import connect

    await asyncio.sleep(number * PAUSE_S / CLIENTS)
    while not stop.is_set():
        try:
            async with connect(f"ws://127.0.0.1:{port}/acp", open_timeout=READY_S, ping_interval=None) as socket:
                await Caller(socket, tally).work(cwd, stop)
        except Exception as error:
            tally.failed("acp", error)
            await asyncio.sleep(PAUSE_S)


class Caller:
    """One client on its connection."""

    def __init__(self, socket: Any, tally: Tally) -> None:
        self._socket, self._tally = socket, tally
        self._ids = itertools.count(1)

    async def work(self, cwd: str, stop: threading.Event) -> None:
        await self._ask("initialize", protocolVersion=1)
        for _ in range(SESSIONS):
            session = (await self._ask("session/new", cwd=cwd, mcpServers=[]))["sessionId"]
            for turn in range(PROMPTS):
                if not stop.is_set():
                    prompt = [{"type": "text", "text": f"turn {turn}"}]
                    await self._ask("session/prompt", sessionId=session, prompt=prompt)
            await self._ask("session/close", sessionId=session)

    async def _ask(self, method: str, **params: object) -> dict[str, Any]:
        mine = next(self._ids)
        await self._socket.send(json.dumps({"jsonrpc": "2.0", "id": mine, "method": method, "params": params}))
        answer: dict[str, Any] = {}
        while answer.get("id") != mine:
            answer = json.loads(await asyncio.wait_for(self._socket.recv(), READY_S))
        self._tally.done["acp"] += 1
        await asyncio.sleep(PAUSE_S)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return dict(answer["result"] or {})


def questions_to(port: int, ids: tuple[str, ...], tally: Tally, stop: threading.Event) -> None:
    """Twenty a second: mostly searches, some answers shown, judged and added."""
    asked = itertools.cycle(questions())
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_S)
    for number in itertools.count():
        if stop.wait(0.05):
            break
        known = ids[number * 7919 % len(ids)]
        kinds = {
            0: ("candidates", {"project_id": "p", "question": f"new {number}", "answer": "make it so"}),
            5: ("hit", {"project_id": "p", "references": [{"qa_id": known, "shown": True}]}),
            10: ("validate", {"project_id": "p", "qa_id": known, "result": "pass"}),
        }
        path, body = kinds.get(number % 20, ("search", {"project_id": "p", "query": next(asked)}))
        try:
            status, said = post(connection, path, body)
            if status >= 300:
                tally.failed("memory", f"{path}: {status} {said[:200]!r}")
            tally.done["memory"] += 1
        except (OSError, http.client.HTTPException) as error:
            tally.failed("memory", error)
            connection.close()
    connection.close()


def post(connection: http.client.HTTPConnection, path: str, body: object) -> tuple[int, bytes]:
    connection.request("POST", f"/v1/qa/{path}", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def told(samples: dict[str, list[Sample]], tally: Tally) -> int:
    good = True
    print(
        f"\n{'':8}{'requests':>10}{'a second':>16}{'MB first':>10}{'MB last':>10}{'growth':>8}{'descriptors':>14}"
        f"{'zombies':>9}  flat"
    )
    for name, taken in samples.items():
        verdict = judged(taken)
        first, last = (number / 1024 for number in verdict.kilobytes)
        rates = f"{verdict.rates[0]:.1f} → {verdict.rates[1]:.1f}" if any(verdict.rates) else ""
        descriptors = f"{verdict.descriptors[0]:.0f} → {verdict.descriptors[1]:.0f}"
        flat = verdict.flat and len(taken) >= 10
        print(
            f"{name:8}{tally.done[name]:>10,}{rates:>16}{first:>10.1f}{last:>10.1f}{verdict.growth:>7.2f}×"
            f"{descriptors:>14}{verdict.zombies:>9}  {'yes' if flat else 'NO'}"
        )
        good = good and flat and not tally.wrong[name]
        for wrong in tally.wrong[name]:
            print(f"        {name}: {wrong}")
    return 0 if good else 1


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
