"""Five hundred WebSocket clients at once, counted in frames the server sends, against a bare echo server of the same
library; and what a connection costs that says nothing. A raw client drives both from the same core."""

import json
import os
import pathlib
import re
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.acp_wire import ours, own_core
from benchmarks.figure import Figure, at_least, at_most, medians

CLIENTS = 500
ROUNDS = 5
ECHO = "bare websockets echo"
HANDSHAKE = (
    b"GET /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, one_core():
        command, environment = ours(folder)
        command = [*command, "--transport", "ws", "--listen", "127.0.0.1:0"]
        reference = [sys.executable, "-m", "benchmarks.acp_socket_reference"]
        with server(command, environment) as (ours_pid, ours_port), server(reference, None) as (_, echo_port):
            before = resident(ours_pid)
            clients = [arrive(ours_port) for _ in range(CLIENTS)]
            idle = (resident(ours_pid) - before) / CLIENTS
            talkers = {"ours": [Talker(c, payloads, 2) for c, payloads in prepared(clients, folder)]}
            text = frame(talkers["ours"][0].payloads[0])
            talkers[ECHO] = [Talker(shake(echo_port), [text], 1, framed=True) for _ in range(CLIENTS)]
            seconds = medians({name: all_of(group) for name, group in talkers.items()}, rounds=ROUNDS)
    rate = {name: group[0].answers / seconds[name] for name, group in talkers.items()}
    return [
        at_least(f"ACP over WebSocket, {CLIENTS} clients, frames/s", rate["ours"] / rate[ECHO], 0.4, reference=ECHO),
        at_most("idle ACP connection", idle, 40, reference="resident memory before", unit="KB"),
    ]


@contextmanager
def one_core() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {own_core()})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def server(command: list[str], environment: dict[str, str] | None) -> Iterator[tuple[int, int]]:
    """Its process and its port, which is the last number of the first line that has one."""
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if numbers := re.findall(r"\d{4,5}\b", line):
                    yield process.pid, int(numbers[-1])
                    break
        finally:
            process.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def resident(pid: int) -> float:
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def frame(text: bytes) -> bytes:
    """A client's text frame; a mask of zeros masks nothing."""
    length = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + len(text).to_bytes(2, "big")
    return b"\x81" + length + b"\0\0\0\0" + text


def shake(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(HANDSHAKE)
    seen = b""
    while not seen.endswith(b"\r\n\r\n"):
        seen += client.recv(1)
    return client


def ask(client: socket.socket, method: str, params: object) -> dict[str, object]:
    client.sendall(frame(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()))
    while True:
        head = client.recv(2, socket.MSG_WAITALL)
        size = (
            head[1]
            if head[1] < 126
            else int.from_bytes(client.recv(2 if head[1] == 126 else 8, socket.MSG_WAITALL), "big")
        )
        answer = json.loads(client.recv(size, socket.MSG_WAITALL)) if head[0] == 0x81 else {}
        if answer.get("id") == 1:
            return dict(answer["result"])


def arrive(port: int) -> socket.socket:
    client = shake(port)
    ask(client, "initialize", {"protocolVersion": 1})
    return client


def prepared(clients: list[socket.socket], cwd: str) -> Iterator[tuple[socket.socket, list[bytes]]]:
    """Opening so many sessions takes a while, in which the others must answer pings."""
    for number, client in enumerate(clients):
        yield client, changes(client, cwd)
        if number % 25 == 0:
            for other in clients:
                answer_pings(other)


def answer_pings(client: socket.socket) -> None:
    limit = client.gettimeout()
    client.setblocking(False)
    try:
        heard = client.recv(1 << 16, socket.MSG_PEEK)
    except BlockingIOError:
        return
    finally:
        client.settimeout(limit)
    while heard[:1] == b"\x89":
        size = 2 + heard[1]
        client.recv(size)
        client.send(bytes([0x8A, 0x80 | size - 2]) + b"\0\0\0\0" + heard[2:size])
        heard = heard[size:]


def changes(client: socket.socket, cwd: str) -> list[bytes]:
    """Requests that set one option to its two values in turn; not the mode, which is told of twice."""
    new = ask(client, "session/new", {"cwd": cwd, "mcpServers": []})
    options = new["configOptions"]
    assert isinstance(options, list)
    option = next(one for one in options if len(one.get("options", ())) > 1 and one.get("category") != "mode")
    choices = [option["options"][0]["value"], option["options"][-1]["value"]]
    base = {"sessionId": new["sessionId"], "configId": option["id"]}
    call = {"jsonrpc": "2.0", "id": 7, "method": "session/set_config_option"}
    return [json.dumps(call | {"params": base | {"value": choice}}).encode() for choice in choices]


class Talker:
    """One client that sends as soon as it has its answers."""

    def __init__(self, client: socket.socket, payloads: list[bytes], answers: int, *, framed: bool = False) -> None:
        client.setblocking(False)
        self.client, self.payloads, self.answers = client, payloads, answers
        self._frames = payloads if framed else [frame(payload) for payload in payloads]
        self._turn = self._waiting = 0
        self._buffer = b""

    def speak(self) -> None:
        self._turn += 1
        self._waiting = self.answers
        self.client.send(self._frames[self._turn % len(self._frames)])

    def hear(self) -> bool:
        """True: the answers are complete."""
        heard = self.client.recv(1 << 16)
        if not heard:
            raise EOFError("the server closed a connection")
        self._buffer += heard
        while (end := self._end_of_frame()) and end <= len(self._buffer):
            if self._buffer[0] == 0x81:
                self._waiting -= 1
            elif self._buffer[0] == 0x89:  # a ping wants its words back
                self.client.send(bytes([0x8A, 0x80 | end - 2]) + b"\0\0\0\0" + self._buffer[2:end])
            self._buffer = self._buffer[end:]
        return self._waiting <= 0

    def _end_of_frame(self) -> int:
        buffer = self._buffer
        if len(buffer) < 4:
            return 0
        if buffer[1] < 126:
            return 2 + buffer[1]
        wide = 2 if buffer[1] == 126 else 8
        return 2 + wide + int.from_bytes(buffer[2 : 2 + wide], "big")


def all_of(group: list[Talker]) -> Callable[[], None]:
    """Every client has one exchange; a median of such rounds is the time of one sweep."""

    def sweep() -> None:
        poll = select.epoll()
        by_number = {talker.client.fileno(): talker for talker in group}
        for number, talker in by_number.items():
            poll.register(number, select.EPOLLIN)
            talker.speak()
        left = len(group) * SWEEPS
        open_sweeps = dict.fromkeys(by_number, SWEEPS)
        while left > 0:
            for number, _ in poll.poll(60):
                if by_number[number].hear():
                    left -= 1
                    open_sweeps[number] -= 1
                    if open_sweeps[number]:
                        by_number[number].speak()
        poll.close()

    return sweep


SWEEPS = 4
