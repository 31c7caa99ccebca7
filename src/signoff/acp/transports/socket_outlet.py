"""Frames that wait for one WebSocket. Whoever comes first sends for all, so no task is kept for each connection."""

import asyncio
from collections import deque
from typing import Protocol

import msgspec
from websockets.exceptions import WebSocketException

KIB = 1024


class Socket(Protocol):
    """What is used of a connection of the `websockets` library."""

    async def send(self, message: bytes, *, text: bool | None = None) -> None: ...


class SocketLimits(msgspec.Struct, frozen=True):
    frame: int = 32 * KIB * KIB
    congested: int = 256 * KIB  # bytes waiting: from here on senders wait
    lost: int = 64 * KIB * KIB  # the client will never read this
    stall: float = 60.0  # seconds without a byte taken


class SocketOutlet:
    __slots__ = ("_limits", "_loop", "_room", "_sending", "_size", "_socket", "_waiting", "closing", "since")

    def __init__(self, socket: Socket, limits: SocketLimits) -> None:
        self._socket = socket
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._sending: asyncio.Task[None] | bool = False
        self._room: asyncio.Event | None = None  # only while somebody had to wait
        self.closing: str | None = None  # why the connection must be given up
        self.since: float | None = None  # when the send under way began

    @property
    def congested(self) -> bool:
        return self._size > self._limits.congested

    def write(self, frame: bytes) -> None:
        self._waiting.append(frame)
        self._size += len(frame)
        if self._size > self._limits.lost:
            self.closing = "the client does not read"
        if not self._sending:
            self._sending = self._loop.create_task(self._send_all())

    def hold(self) -> bool:
        """What is written from now on waits for `flush`; False: somebody is sending already."""
        if self._sending:
            return False
        self._sending = True
        return True

    async def flush(self) -> None:
        """Send what waits now; what comes meanwhile is left to a task, so that who reads goes on reading."""
        try:
            for _ in range(len(self._waiting)):
                await self._send_one()
        finally:
            self._sending = False
        if self._waiting:
            self._sending = self._loop.create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                await self._send_one()
        except (OSError, WebSocketException) as error:
            self.closing = str(error)
        finally:
            self._sending = False

    async def _send_one(self) -> None:
        frame = self._waiting.popleft()
        self.since = self._loop.time()
        try:
            await self._socket.send(frame, text=True)
        finally:
            self.since = None
            self._size -= len(frame)
            if self._room is not None and not self.congested:
                self._room.set()
                self._room = None

    async def drain(self) -> None:
        while self.congested:
            if self._room is None:
                self._room = asyncio.Event()
            await self._room.wait()

    def stalled(self, now: float) -> bool:
        return self.since is not None and now - self.since > self._limits.stall

    def close(self) -> None:
        self._waiting.clear()
        self._size = 0
        if isinstance(self._sending, asyncio.Task):
            self._sending.cancel()
        if self._room is not None:
            self._room.set()
            self._room = None
