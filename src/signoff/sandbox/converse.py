"""One command through a zygote: feed it, read it, keep the tail of what it says, stop it when its time or memory is up."""

import os
import select
import threading
import time
from collections import deque

import msgspec

from signoff.sandbox.inside import serve
from signoff.sandbox.launch import Pipes, Zygote
from signoff.sandbox.outcome import OnOutput, Output
from signoff.sandbox.profile import Limits

_CHUNK = 262_144
_TICK_MS = 100
_ROUNDS = 8  # of a chunk each: a pipe holds a mebibyte at most
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


_SILENCE = Output()


class Feed:
    """Standard input that is more than nothing: bytes, or whatever a descriptor of ours has to give."""

    def __init__(self, stdin: bytes | int, owner: tuple[int, int] | None) -> None:
        self.source = stdin if isinstance(stdin, int) else None
        self.pending = stdin if isinstance(stdin, bytes) else b""
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        if owner is not None:
            os.fchown(self.reader, *owner)
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
    """One command and what is known about it so far."""

    __slots__ = ("_deadline", "_next_look", "_stop_wanted", "_tails", "exhausted", "limits", "timed_out", "zygote")

    def __init__(self, zygote: Zygote, limits: Limits, stop: threading.Event | None = None) -> None:
        self.zygote = zygote
        self._stop_wanted = stop
        self.limits = limits
        self._tails: dict[int, Tail] = {}
        self.timed_out = False
        self.exhausted: str | None = None
        now = time.monotonic()
        self._deadline = now + limits.timeout_ms / 1000
        self._next_look = now + _TICK_MS / 1000

    def converse(
        self,
        cwd: str,
        argv: tuple[str, ...],
        stdin: bytes | int | None,
        on_output: OnOutput | None,
    ) -> Conversation:
        zygote = self.zygote
        pipes = zygote.open_pipes()
        feed = Feed(stdin, zygote.owner) if stdin is not None else None
        try:
            zygote.request(cwd, argv, feed.reader if feed else None, pipes.writers)
            if pipes.writers:
                pipes.handed_over()
            if feed:
                feed.sent()
            reply = self._until_answered(pipes, feed, on_output)
        finally:
            if feed:
                feed.finish()
        return Conversation(reply, self.timed_out, self.exhausted, self._kept(pipes.output), self._kept(pipes.error))

    def _kept(self, descriptor: int) -> Output:
        tail = self._tails.get(descriptor)
        return tail.output() if tail is not None else _SILENCE

    def _until_answered(
        self, pipes: Pipes, feed: Feed | None, on_output: OnOutput | None
    ) -> tuple[int, int, int] | None:
        control, poll, notices = self.zygote.control.fileno(), pipes.poll, self.zygote.notices
        fed: tuple[int, int] | None = None
        try:
            while True:
                if feed:
                    fed = _register(poll, fed, feed.wants())
                answered = False
                for descriptor, _ in poll.poll(self._patience_ms()):
                    if descriptor == control:
                        answered = True
                    elif descriptor == pipes.output or descriptor == pipes.error:
                        self._read(pipes, descriptor, on_output)
                    elif notices is not None and descriptor == notices.descriptor:
                        notices.answer()
                    elif feed:
                        feed.go_on()
                if answered:
                    return self._answer(pipes, on_output)
                if not self._may_go_on(time.monotonic()):
                    return None  # it does not answer: the caller ends the zygote
        finally:
            if fed:
                poll.unregister(fed[0])

    def _patience_ms(self) -> float:
        return min(_TICK_MS, max(0.0, (self._deadline - time.monotonic()) * 1000))

    def _answer(self, pipes: Pipes, on_output: OnOutput | None) -> tuple[int, int, int] | None:
        """The answer, and what is still in the pipes. Without a PID namespace somebody may have kept an end of them and
        go on writing: then we take a little more than a pipe can hold, and leave."""
        reply = self.zygote.reply()
        for _ in range(_ROUNDS if self._tails else 0):
            ready = {one for one, event in pipes.poll.poll(0) if event & select.POLLIN}
            left = [self._read(pipes, one, on_output) for one in (pipes.output, pipes.error) if one in ready]
            if not any(left):
                break
        return reply

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

    def _read(self, pipes: Pipes, descriptor: int, on_output: OnOutput | None) -> bool:
        data = os.read(descriptor, _CHUNK)
        if not data:
            return False
        tail = self._tails.get(descriptor)
        if tail is None:
            tail = self._tails[descriptor] = Tail(self.limits.max_output_bytes)
        tail.add(data)
        if on_output is not None:
            on_output(1 if descriptor == pipes.output else 2, data)
        return True


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
