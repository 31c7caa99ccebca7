"""Frames as lines over two descriptors: our own standard streams, or the pipes of an agent we started.

Everything a turn of the event loop wrote goes out in one system call. When the other side does not read, who can wait
waits, from a second mark on nothing more is read, and past the last one the connection ends.
"""

import asyncio
import contextlib
import os
import threading

import msgspec

from signoff.acp.peer import Peer
from signoff.acp.transports.lines import Lines
from signoff.wire import jsonrpc

KIB = 1024
CHUNK = 64 * KIB  # what a pipe holds; much more, and the kernel is asked for memory with each read


class PipeLimits(msgspec.Struct, frozen=True):
    frame: int = 64 * KIB * KIB
    congested: int = 1 * KIB * KIB  # bytes waiting to go out: from here on senders wait
    unread: int = 16 * KIB * KIB  # from here on nothing more is read
    lost: int = 256 * KIB * KIB  # the other side will never read this


class Pipes:
    """An outlet, and the reader that feeds a peer. Owns both descriptors."""

    def __init__(self, read_fd: int, write_fd: int, limits: PipeLimits | None = None) -> None:
        self.limits = limits or PipeLimits()
        self._read_fd, self._write_fd = read_fd, write_fd
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(self.limits.frame)
        self._peer: Peer | None = None
        self._out: list[bytes] = []  # without the ends of their lines
        self._size = 0
        self._most = self.limits.congested
        self.congested = False  # senders that can wait, wait
        self._flush_planned = self._writing = self._paused = self._lost = self._closed = False
        self._room = asyncio.Event()
        self._room.set()
        self.ended = asyncio.Event()  # nothing more will come in
        os.set_blocking(write_fd, False)

    # In.

    def start(self, peer: Peer) -> None:
        self._peer = peer
        os.set_blocking(self._read_fd, False)
        try:
            self._loop.add_reader(self._read_fd, self._readable)
        except PermissionError:  # no event loop can watch a file, nor /dev/null
            threading.Thread(target=self._read_file, daemon=True).start()

    def _read_file(self) -> None:
        while chunk := os.read(self._read_fd, CHUNK):
            self._loop.call_soon_threadsafe(self._take, chunk)
        self._loop.call_soon_threadsafe(self._take, b"")

    def _readable(self) -> None:
        try:
            chunk = os.read(self._read_fd, CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        if self._peer is None or self._closed:
            return
        overlong = self._lines.overlong
        self._flush_planned = True  # the answers of one chunk leave together
        for line in self._lines.feed(chunk) if chunk else (self._lines.finish(),):
            if line:
                self._peer.receive(line)
        for _ in range(self._lines.overlong - overlong):
            self.write(jsonrpc.error(None, jsonrpc.INVALID_REQUEST, f"a frame has at most {self.limits.frame} bytes"))
        if self._out or not chunk:
            self._flush()
        else:
            self._loop.call_soon(
                self._flush
            )  # behind the first step of what was begun, so that its words leave at once
        if not chunk:
            self._stop_reading()
            self.ended.set()

    def _stop_reading(self) -> None:
        if not self._paused:
            self._loop.remove_reader(self._read_fd)
            self._paused = True

    # Out.

    def write(self, frame: bytes) -> None:
        if self._closed:
            return
        self._out.append(frame)
        self._size += len(frame) + 1
        if self._size > self._most:
            self._fill()
        if not self._flush_planned and not self._writing:
            self._flush_planned = True
            self._loop.call_soon(self._flush)  # what is said until then leaves with it

    async def drain(self) -> None:
        await self._room.wait()

    def _flush(self) -> None:
        self._flush_planned = False
        if self._closed or self._writing or not self._out:
            return
        data = b"\n".join((*self._out, b""))
        try:
            sent = os.write(self._write_fd, data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._lose("the other side closed its end")
            return
        self._size = len(data) - sent
        self._out = [data[sent:-1]] if self._size else []
        if self._size:
            self._wait_for_room()
        elif self.congested:
            self._make_room()

    def _fill(self) -> None:
        self.congested = True
        self._room.clear()

    def _make_room(self) -> None:
        self.congested = False
        self._room.set()

    def _wait_for_room(self) -> None:
        self._writing = True
        self._loop.add_writer(self._write_fd, self._writable)
        if self._size > self.limits.lost:
            self._lose("the other side does not read")
        elif self._size > self.limits.unread and not self.ended.is_set():
            self._stop_reading()

    def _writable(self) -> None:
        self._loop.remove_writer(self._write_fd)
        self._writing = False
        self._flush()
        if self._paused and not self._writing and not self.ended.is_set() and not self._closed:
            self._paused = False
            self._loop.add_reader(self._read_fd, self._readable)

    async def flushed(self) -> None:
        """Everything written has left, or nobody takes it any more."""
        self._flush()
        while self._out and not self._closed:
            self._fill()
            await self._room.wait()

    def _lose(self, reason: str) -> None:
        self._lost = True
        self.ended.set()
        if self._peer is not None:
            self._peer.end(reason)
        self.close()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._out and not self._lost:
            with contextlib.suppress(OSError):  # what fits goes out still
                os.write(self._write_fd, b"\n".join((*self._out, b"")))
        self._stop_reading()
        if self._writing:
            self._loop.remove_writer(self._write_fd)
        self._make_room()
        self.ended.set()
        os.close(self._read_fd)
        os.close(self._write_fd)
