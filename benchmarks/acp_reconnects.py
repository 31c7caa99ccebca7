"""Five hundred clients that lost their connection come back at once: handshake, initialize, and each has its session again;
against a bare echo server of the same library with as many messages each way. A raw client drives both from the same core."""

import json
import select
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable

from benchmarks.acp_sockets import CLIENTS, HANDSHAKE, arrive, ask, frame, one_core, server
from benchmarks.acp_wire import ours
from benchmarks.figure import Figure, at_most, medians

ROUNDS = 5
ECHO = "bare websockets echo"
INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, one_core():
        command, environment = ours(folder)
        command = [*command, "--transport", "ws", "--listen", "127.0.0.1:0"]
        reference = [sys.executable, "-m", "benchmarks.acp_socket_reference"]
        with server(command, environment) as (_, port), server(reference, None) as (_, echo_port):
            says = [[INITIALIZE, _resume(port, folder)] for _ in range(CLIENTS)]
            arms = {"ours": _storm(port, says), ECHO: _storm(echo_port, says)}
            seconds = medians(arms, rounds=ROUNDS)
    ratio = seconds["ours"] / seconds[ECHO]
    return [at_most(f"{CLIENTS} ACP clients that reconnect at once, until all are served", ratio, 2, reference=ECHO)]


def _resume(port: int, cwd: str) -> bytes:
    """A session is made and left; this takes it up."""
    with arrive(port) as client:
        session = ask(client, "session/new", {"cwd": cwd, "mcpServers": []})["sessionId"]
    call = {"jsonrpc": "2.0", "id": 2, "method": "session/resume", "params": {"sessionId": session, "cwd": cwd}}
    return json.dumps(call).encode()


class Comer:
    """One client on its way: what it says next, each time it has heard a whole message."""

    def __init__(self, port: int, says: Iterable[bytes]) -> None:
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(("127.0.0.1", port))
        self._next = [HANDSHAKE, *(frame(text) for text in says)]
        self._heard = b""

    def speak(self) -> None:
        self.socket.send(self._next.pop(0))

    def hear(self) -> bool:
        """True: everything was answered."""
        self._heard += self.socket.recv(1 << 16)
        if self._heard.startswith(b"HTTP"):
            end = self._heard.find(b"\r\n\r\n") + 4
            whole = end > 3
        else:
            wide = 4 if self._heard[1:2] == b"\x7e" else 2
            end = wide + (int.from_bytes(self._heard[2:4], "big") if wide == 4 else self._heard[1])
            whole = len(self._heard) >= max(end, 4)
        if not whole:
            return False
        self._heard = self._heard[end:]
        if self._next:
            self.speak()
            return False
        return True


def _storm(port: int, says: list[list[bytes]]) -> Callable[[], None]:
    def storm() -> None:
        poll, comers = select.epoll(), {}
        for texts in says:
            comer = Comer(port, texts)
            comers[comer.socket.fileno()] = comer
            poll.register(comer.socket.fileno(), select.EPOLLOUT)
        left = len(comers)
        while left:
            ready = poll.poll(60)
            assert ready, f"{left} clients were not served"
            for number, event in ready:
                if event & select.EPOLLOUT:
                    poll.modify(number, select.EPOLLIN)
                    comers[number].speak()
                elif comers[number].hear():
                    left -= 1
                    poll.unregister(number)
        poll.close()
        for comer in comers.values():
            comer.socket.close()

    return storm
