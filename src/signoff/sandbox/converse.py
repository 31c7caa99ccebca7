"""One command through a zygote: feed it, read it, keep the tail of what it says, stop it when its time or memory is up."""

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable

import msgspec

from signoff.sandbox.inside import serve
from signoff.sandbox.launch import Zygote
from signoff.sandbox.outcome import Output
from signoff.sandbox.profile import Limits

OnOutput = Callable[[int, bytes], object]  # 1 or 2 for the stream, what was written

_CHUNK = 262_144
_TICK_MS = 100
_PATIENCE_MS = 5_000  # for an answer after everything was told to die
_MEMORY_SLACK = 1.25  # pages shared between processes are counted more than once


class Conversation(msgspec.Struct, frozen=True):
    """How the zygote answered: None if it was lost."""

    reply: tuple[int, int, int] | None
    timed_out: bool
    exhausted: str | None
    stdout: Output
    stderr: Output


class Tail:
    """The last bytes of a stream, and how many went before."""

    __slots__ = ("_chunks", "_limit", "_omitted", "_size")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: deque[bytes] | None = None
        self._size = 0
        self._omitted = 0

    def add(self, data: bytes) -> None:
        if self._chunks is None:
            self._chunks = deque()
        self._chunks.append(data)
        self._size += len(data)
        while self._size - len(self._chunks[0]) >= self._limit:
            dropped = len(self._chunks.popleft())
            self._size -= dropped
            self._omitted += dropped

    def output(self) -> Output:
        if self._chunks is None:
            return _SILENCE
        data = b"".join(self._chunks)
        over = max(0, len(data) - self._limit)
        return Output(data[over:], self._omitted + over)


_SILENCE = Output()


class Feed:
    """Standard input that is more than nothing: bytes, or whatever a descriptor of ours has to give."""

    def __init__(self, stdin: bytes | int) -> None:
        self.source = stdin if isinstance(stdin, int) else None
        self.pending = stdin if isinstance(stdin, bytes) else b""
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.writer, False)

    def sent(self) -> None:
        os.close(self.reader)
        self.reader = -1
        if self.source is None and not self.pending:
            self.finish()

    def wants(self) -> tuple[int, int] | None:
        """What to wait for."""
        if self.writer < 0:
            return None
        return (self.writer, select.POLLOUT) if self.pending else (self.source or 0, select.POLLIN)

    def go_on(self) -> None:
        try:
            if not self.pending and self.source is not None:
                self.pending = os.read(self.source, 65_536)
                if not self.pending:
                    self.source = None
            if self.pending:
                self.pending = self.pending[os.write(self.writer, self.pending) :]
        except BlockingIOError:
            return
        except OSError:
            self.finish()  # the command does not want more
            return
        if not self.pending and self.source is None:
            self.finish()

    def finish(self) -> None:
        for descriptor in (self.reader, self.writer):
            if descriptor >= 0:
                os.close(descriptor)
        self.reader = self.writer = -1


class Exchange:
    """The descriptors of one command, and what is known about it so far."""

    def __init__(
        self,
        zygote: Zygote,
        limits: Limits,
        stdin: bytes | int | None,
        owner: tuple[int, int] | None,
        stop: threading.Event | None = None,
    ) -> None:
        self.zygote = zygote
        self._stop_wanted = stop
        self.limits = limits
        self.feed = Feed(stdin) if stdin is not None else None
        out, self._stdout = os.pipe2(os.O_CLOEXEC)
        err, self._stderr = os.pipe2(os.O_CLOEXEC)
        self.readers = {out: (1, Tail(limits.max_output_bytes)), err: (2, Tail(limits.max_output_bytes))}
        if owner is not None:  # else a command could not open /dev/stdout again by its name
            for pipe in (self._stdout, self._stderr, *([self.feed.reader] if self.feed else [])):
                os.fchown(pipe, *owner)
        self.timed_out = False
        self.exhausted: str | None = None
        self.reply: tuple[int, int, int] | None = None
        now = time.monotonic()
        self._deadline = now + limits.timeout_ms / 1000
        self._next_look = now + _TICK_MS / 1000
        self._poll = select.poll()

    def converse(self, cwd: str, argv: tuple[str, ...], on_output: OnOutput | None) -> Conversation:
        stdin = self.feed.reader if self.feed else self.zygote.nothing
        self.zygote.request(cwd, argv, [stdin, self._stdout, self._stderr])
        if self.feed:
            self.feed.sent()
        self._until_answered(on_output)
        # Our own copies of the writing ends were kept so that the end of a command wakes us once, not three times.
        self._close_writers()
        self._drain(on_output)
        (_, out), (_, err) = self.readers.values()
        return Conversation(self.reply, self.timed_out, self.exhausted, out.output(), err.output())

    def _until_answered(self, on_output: OnOutput | None) -> None:
        control = self.zygote.control.fileno()
        poll = self._poll
        poll.register(control, select.POLLIN)
        for descriptor in self.readers:
            poll.register(descriptor, select.POLLIN)
        fed: tuple[int, int] | None = None
        while True:
            if self.feed:
                fed = _register(poll, fed, self.feed.wants())
            wait = min(_TICK_MS, max(0.0, (self._deadline - time.monotonic()) * 1000))
            for descriptor, _ in poll.poll(wait):
                if descriptor == control:
                    self.reply = self.zygote.reply()
                    if self.feed and fed:
                        poll.unregister(fed[0])
                    poll.unregister(control)
                    return
                if descriptor in self.readers:
                    self._read(descriptor, on_output)
                elif self.feed:
                    self.feed.go_on()
            if not self._may_go_on(time.monotonic()):
                return  # it does not answer: the caller ends the zygote

    def _may_go_on(self, now: float) -> bool:
        told = self.timed_out or self.exhausted is not None
        if now >= self._deadline or (self._stop_wanted is not None and self._stop_wanted.is_set() and not told):
            if told:
                return False
            self.timed_out = True
            self._stop(now, self.limits.grace_ms)
        elif not told and now >= self._next_look:
            self._next_look = now + _TICK_MS / 1000
            if resident(self.zygote.process) > self.limits.max_memory_bytes * _MEMORY_SLACK:
                self.exhausted = "memory"
                self._stop(now, 0)
        return True

    def _stop(self, now: float, grace_ms: int) -> None:
        self.zygote.stop(grace_ms)
        self._deadline = now + (grace_ms + _PATIENCE_MS) / 1000

    def _read(self, descriptor: int, on_output: OnOutput | None) -> bool:
        data = os.read(descriptor, _CHUNK)
        if not data:
            return False
        stream, tail = self.readers[descriptor]
        tail.add(data)
        if on_output is not None:
            on_output(stream, data)
        return True

    def _drain(self, on_output: OnOutput | None) -> None:
        """What is still in the pipes. Never waits: without a PID namespace somebody may have kept an end."""
        left = True
        while left:
            left = False
            for descriptor, event in self._poll.poll(0):
                if event & select.POLLIN and descriptor in self.readers:
                    left = self._read(descriptor, on_output) or left

    def _close_writers(self) -> None:
        if self._stdout >= 0:
            os.close(self._stdout)
            os.close(self._stderr)
            self._stdout = self._stderr = -1

    def close(self) -> None:
        if self.feed:
            self.feed.finish()
        self._close_writers()
        for descriptor in self.readers:
            os.close(descriptor)


def _register(poll: select.poll, was: tuple[int, int] | None, wanted: tuple[int, int] | None) -> tuple[int, int] | None:
    if was != wanted:
        if was is not None:
            poll.unregister(was[0])
        if wanted is not None:
            poll.register(*wanted)
    return wanted


def resident(process: int) -> int:
    """Bytes of memory of its own that a process and everything below it hold; files mapped by many do not count."""
    total = 0
    for one in (process, *serve.descendants(process)):
        try:
            with open(f"/proc/{one}/status", "rb") as file:
                fields = dict(line.split(b":", 1) for line in file if line.startswith((b"RssAnon", b"RssShmem")))
        except OSError:
            continue  # it has just ended
        total += sum(int(value.split()[0]) for value in fields.values()) * 1024
    return total
