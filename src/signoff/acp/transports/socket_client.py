"""The client's end of a WebSocket, with a heartbeat, that opens a new connection when the old one is lost.

Whether a send or a receive finds out, the same happens: requests the agent has already got fail at once, for their
answers went with the connection; frames it never got wait; a new connection is tried, each time after twice the pause;
`on_open` says hello on it; then the frames that waited go out. A factory makes the connections, so a script can.
"""

import asyncio
import contextlib
import os
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Protocol, TypeAlias

import msgspec
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from signoff.acp.peer import Peer
from signoff.acp.transports.socket_outlet import SocketLimits
from signoff.domain.errors import PeerError
from signoff.wire import jsonrpc

LONGEST_PAUSE = 3.0
GOODBYE = 2.0  # seconds for the agent to take its leave; a line that is dead must not hold up the next one


class Connection(Protocol):
    """What is used of a connection of the `websockets` library; a script offers the same."""

    async def send(self, message: bytes, *, text: bool | None = None) -> None: ...
    async def close(self, code: int = 1000, reason: str = "") -> None: ...
    def __aiter__(self) -> AsyncIterator[str | bytes]: ...


Hello: TypeAlias = Callable[[], Awaitable[None]]  # initialize, and take up the session again
Factory: TypeAlias = Callable[[], Awaitable[Connection]]
LOST = (OSError, WebSocketException, TimeoutError)


class Reconnecting(msgspec.Struct, frozen=True):
    attempts: int = 2  # for each loss; 0: the first loss is the end
    base_delay: float = 0.2  # seconds before the first attempt, doubled for each further one

    def pause(self, attempt: int) -> float:
        return float(min(self.base_delay * 2 ** (attempt - 1), LONGEST_PAUSE))


def dial(
    endpoint: str, *, token: str | None = None, heartbeat: float = 15.0, limits: SocketLimits | None = None
) -> Factory:
    """Connections to one endpoint. A heartbeat of 0 sends no pings; cookies go back to who set them, as the draft asks."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    cookies: dict[str, str] = {}
    size = (limits or SocketLimits()).frame

    async def open_connection() -> Connection:
        kept = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}
        connection = await connect(
            endpoint,
            compression=None,
            additional_headers=headers | kept,
            max_size=size,
            ping_interval=heartbeat or None,
            ping_timeout=heartbeat or None,
            close_timeout=GOODBYE,
        )
        for line in connection.response.headers.get_all("Set-Cookie") if connection.response else ():
            name, _, value = line.partition(";")[0].partition("=")
            cookies[name.strip()] = value.strip()
        return connection

    return open_connection


class SocketClient:
    """An outlet that outlives connections; `run` carries frames until the end."""

    def __init__(self, factory: Factory, policy: Reconnecting, limits: SocketLimits | None = None) -> None:
        self._factory = factory
        self._policy = policy
        self._limits = limits or SocketLimits()
        self._unsent: deque[bytes] = deque()
        self._size = 0
        self._news = asyncio.Event()  # something to send, or the end
        self._room = asyncio.Event()
        self._room.set()
        self._end = asyncio.Event()
        self._greeted = False
        self.reconnections = 0

    @property
    def congested(self) -> bool:
        return not self._room.is_set()

    def write(self, frame: bytes) -> None:
        self._unsent.append(frame)
        self._size += len(frame)
        if self._size > self._limits.congested:
            self._room.clear()
        self._news.set()

    async def drain(self) -> None:
        await self._room.wait()

    def close(self) -> None:
        self._end.set()
        self._news.set()
        self._room.set()

    async def run(self, peer: Peer, on_open: Hello) -> None:
        """Until `close`, or until no connection can be had any more. Who never said hello once does not try again."""
        losses = 0
        while True:
            self._greeted = False
            try:
                reason = await self._carry(await self._factory(), peer, on_open)
            except LOST as error:
                reason = _why(error)
            except PeerError as error:
                peer.end(error.message)  # the agent was reached and refuses us
            losses = 1 if self._greeted else losses + 1
            if self._end.is_set():
                break
            peer.fail_pending(f"the connection was lost: {reason}", keep=_requests(self._unsent))
            if losses > self._policy.attempts or (losses == 1 and not self._greeted):
                peer.end(f"no connection to the agent: {reason}")
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._policy.pause(losses)):
                    await self._end.wait()
            self.reconnections += 1
        peer.end("the connection was closed")

    async def _carry(self, connection: Connection, peer: Peer, on_open: Hello) -> str:
        """Frames both ways until the connection is lost; why it was."""
        kept, self._unsent, self._size = self._unsent, deque(), 0
        greeter = asyncio.create_task(self._greet(on_open, kept))
        links = {asyncio.create_task(self._send(connection)), asyncio.create_task(_receive(connection, peer))}
        waiting = links | {greeter}
        done: set[asyncio.Task[None]] = set()
        try:
            while not done & links and not (greeter.done() and greeter.exception()):
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*links, greeter, return_exceptions=True)
            await connection.close()
        if not self._greeted:
            self._unsent, self._size = kept, sum(map(len, kept))
        failures = [task.exception() for task in done if not task.cancelled() and task.exception()]
        if failures and failures[0] is not None:
            raise failures[0]
        return "the agent closed it"

    async def _greet(self, on_open: Hello, kept: deque[bytes]) -> None:
        await on_open()
        self._greeted = True
        for frame in kept:
            self.write(frame)

    async def _send(self, connection: Connection) -> None:
        while not self._end.is_set() or self._unsent:
            await self._news.wait()
            self._news.clear()
            while self._unsent:
                await connection.send(self._unsent[0], text=True)
                self._size -= len(self._unsent.popleft())  # only now: what one connection did not take, the next will
                if self._size <= self._limits.congested:
                    self._room.set()


async def _receive(connection: Connection, peer: Peer) -> None:
    async for message in connection:
        if isinstance(message, str):
            peer.receive(message)


def _why(error: Exception) -> str:
    if isinstance(error, socket.gaierror) or not isinstance(error, OSError) or not error.errno:
        return getattr(error, "strerror", None) or str(error) or type(error).__name__
    return os.strerror(error.errno).lower()  # asyncio's own words name the address once more


def _requests(frames: Iterable[bytes]) -> set[jsonrpc.RequestId]:
    """The ids of our requests among these frames."""
    read = (jsonrpc.read(frame) for frame in frames)
    return {frame.id for frame in read if isinstance(frame, jsonrpc.Request)}
