"""Move bytes between a client and a server: one request at a time, or both ways until both have said all."""

import contextlib
import select
import socket
import time

from signoff.sandbox.http_request import HEAD_LIMIT, Forward

_PIECE = 65_536


class Refusal(Exception):
    """Why a client gets no connection, with the HTTP status that tells it."""

    def __init__(self, status: str, reason: str, address: str | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.address = status, reason, address


def read_head(client: socket.socket, seconds: float) -> tuple[bytes, bytes]:
    deadline = time.monotonic() + seconds
    data = b""
    while b"\r\n\r\n" not in data:
        remaining = deadline - time.monotonic()
        if len(data) > HEAD_LIMIT:
            raise Refusal("431 Request Header Fields Too Large", "the request's head is too long")
        if remaining <= 0:
            raise Refusal("408 Request Timeout", "no complete request arrived")
        client.settimeout(remaining)
        try:
            piece = client.recv(_PIECE)
        except TimeoutError:
            continue
        if not piece:
            raise ConnectionError("closed before a request")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def answer(client: socket.socket, status: str, reason: str) -> None:
    body = f"signoff: {reason}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with contextlib.suppress(OSError):
        client.settimeout(5)
        client.sendall(head.encode() + body)


def send_request(client: socket.socket, server: socket.socket, request: Forward, rest: bytes) -> int:
    """The head and exactly one body. What the client says after it goes nowhere: it might be meant for another host."""
    server.sendall(request.head)
    source = _Buffered(client, rest)
    if request.length is not None:
        return len(request.head) + _pass_on(source, server, request.length)
    total = len(request.head)
    while True:
        line = source.line()
        try:
            size = int(line.split(b";")[0].strip(), 16)
        except ValueError as error:
            raise ConnectionError("a malformed chunk") from error
        server.sendall(line)
        total += len(line) + _pass_on(source, server, size + 2 if size else 0)
        if not size:
            server.sendall(b"\r\n")  # trailers are not passed on
            return total


def _pass_on(source: "_Buffered", server: socket.socket, count: int) -> int:
    left = count
    while left:
        piece = source.some(min(left, _PIECE))
        server.sendall(piece)
        left -= len(piece)
    return count


class _Buffered:
    def __init__(self, connection: socket.socket, rest: bytes) -> None:
        self._connection, self._rest = connection, rest

    def some(self, limit: int) -> bytes:
        if not self._rest:
            self._rest = self._connection.recv(_PIECE)
            if not self._rest:
                raise ConnectionError("closed within a body")
        piece, self._rest = self._rest[:limit], self._rest[limit:]
        return piece

    def line(self) -> bytes:
        data = b""
        while not data.endswith(b"\r\n"):
            data += self.some(1)
            if len(data) > 1_024:
                raise ConnectionError("a chunk's head is too long")
        return data


def copy(server: socket.socket, client: socket.socket) -> int:
    total = 0
    while piece := server.recv(_PIECE):
        client.sendall(piece)
        total += len(piece)
    return total


def both_ways(client: socket.socket, server: socket.socket, idle_seconds: float) -> tuple[int, int]:
    """Both directions until both have ended or nothing moves for too long."""
    pairs = {client.fileno(): (client, server), server.fileno(): (server, client)}
    counts = dict.fromkeys(pairs, 0)
    watch = select.poll()
    for source, _ in pairs.values():
        source.settimeout(idle_seconds)
        watch.register(source, select.POLLIN)
    with contextlib.suppress(OSError):
        while pairs and (ready := watch.poll(idle_seconds * 1000)):
            for number, _ in ready:
                source, target = pairs[number]
                piece = source.recv(_PIECE)
                counts[number] += len(piece)
                if piece:
                    target.sendall(piece)
                else:
                    watch.unregister(number)
                    del pairs[number]
                    target.shutdown(socket.SHUT_WR)
    sent, received = counts.values()
    return sent, received
