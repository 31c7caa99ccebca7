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

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._omitted = 0

    def add(self, data: bytes) -> None:
        self._chunks.append(data)
        self._size += len(data)
        while self._size - len(self._chunks[0]) >= self._limit:
            dropped = len(self._chunks.popleft())
            self._size -= dropped
            self._omitted += dropped

    def output(self) -> Output:
        data = b"".join(self._chunks)
        over = max(0, len(data) - self._limit)
        return Output(data[over:], self._omitted + over)


class Feed:
    """Standard input: nothing, bytes, or whatever a descriptor of ours has to give."""

    def __init__(self, stdin: bytes | int | None) -> None:
        self.source = stdin if isinstance(stdin, int) else None
        self.pending = stdin if isinstance(stdin, bytes) else b""
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC) if stdin is not None else (_nothing(), -1)
        if self.writer >= 0:
            os.set_blocking(self.writer, False)

    def sent(self) -> None:
        os.close(self.reader)
        self.reader = -1
        if self.writer >= 0 and self.source is None and not self.pending:
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


def _nothing() -> int:
    return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)


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
        self._stop_wanted = stop or threading.Event()
        self.limits = limits
        self.feed = Feed(stdin)
        self.readers: dict[int, tuple[int, Tail]] = {}
        self.writers: list[int] = []
        for stream in (1, 2):
            reader, writer = os.pipe2(os.O_CLOEXEC)
            self.readers[reader] = (stream, Tail(limits.max_output_bytes))
            self.writers.append(writer)
        if owner is not None:  # else a command could not open /dev/stdout again by its name
            pipes = [*self.writers, self.feed.reader] if stdin is not None else self.writers
            for descriptor in pipes:  # never /dev/null: that is the host's
                os.fchown(descriptor, *owner)
        self.timed_out = False
        self.exhausted: str | None = None
        self.reply: tuple[int, int, int] | None = None
        self._deadline = 0.0
        self._next_look = time.monotonic() + _TICK_MS / 1000

    def converse(self, cwd: str, argv: tuple[str, ...], on_output: OnOutput | None) -> Conversation:
        self.zygote.request(cwd, argv, [self.feed.reader, *self.writers])
        self.feed.sent()
        self._until_answered(on_output)
        # Our own copies of the writing ends were kept so that the end of a command wakes us once, not three times.
        self._close_writers()
        self._drain(on_output)
        tails = {stream: tail.output() for stream, tail in self.readers.values()}
        return Conversation(self.reply, self.timed_out, self.exhausted, tails[1], tails[2])

    def _until_answered(self, on_output: OnOutput | None) -> None:
        control = self.zygote.control.fileno()
        poll = select.poll()
        for descriptor in (control, *self.readers):
            poll.register(descriptor, select.POLLIN)
        self._deadline = time.monotonic() + self.limits.timeout_ms / 1000
        fed: tuple[int, int] | None = None
        while True:
            fed = _register(poll, fed, self.feed.wants())
            wait = min(_TICK_MS, max(0.0, (self._deadline - time.monotonic()) * 1000))
            ready = [descriptor for descriptor, _ in poll.poll(wait)]
            if control in ready:
                self.reply = self.zygote.reply()
                return
            for descriptor in ready:
                if descriptor in self.readers:
                    self._read(descriptor, on_output)
                else:
                    self.feed.go_on()
            if not self._may_go_on(time.monotonic()):
                return  # it does not answer: the caller ends the zygote

    def _may_go_on(self, now: float) -> bool:
        told = self.timed_out or self.exhausted is not None
        if now >= self._deadline or (self._stop_wanted.is_set() and not told):
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
        for descriptor in self.readers:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            while any(event & select.POLLIN for _, event in poll.poll(0)) and self._read(descriptor, on_output):
                pass

    def _close_writers(self) -> None:
        for descriptor in self.writers:
            os.close(descriptor)
        self.writers = []

    def close(self) -> None:
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
