"""Commands that go on in the background: recorded with their pid and how they were started, listed, read, and stopped.

A job lives no longer than its `Jobs`: leaving stops every one of them. Output is kept like a command's, the last bytes of
it, and addressed by how many bytes were ever written, so that a reader notices what it missed.
"""

import enum
import itertools
import threading
import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from signoff.domain.errors import InvalidArguments, ResourceExhausted
from signoff.sandbox.outcome import OnOutput, Request

MOST_JOBS = 64
OUTPUT_BYTES = 1_048_576

OnEnd = Callable[[int], object]  # the exit status as a shell would say it


class State(enum.StrEnum):
    RUNNING = "running"
    ENDED = "ended"
    STOPPED = "stopped"  # because we said so


class Running(Protocol):
    """A command somebody started for us."""

    @property
    def pid(self) -> int: ...

    def stop(self) -> None:
        """End it and everything it started; returns when that is done and the end was reported."""


Starter = Callable[[Request, OnOutput, OnEnd], Running]


class Job(msgspec.Struct, frozen=True):
    """The record of a job, as it was when asked for."""

    id: str
    pid: int
    argv: tuple[str, ...]
    cwd: str | None  # None: the workspace
    started_at: float  # seconds since the epoch
    state: State
    status: int | None = None
    written: int = 0  # bytes of output, kept or not


class Piece(msgspec.Struct, frozen=True):
    """Output from byte `start` on. `start` above the offset asked for: what lies between is gone."""

    data: bytes
    start: int

    @property
    def next(self) -> int:
        return self.start + len(self.data)


def never(request: Request, on_output: OnOutput, on_end: OnEnd) -> Running:
    raise InvalidArguments("nothing is started here")


class _Entry:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.output = bytearray()
        self.running: Running | None = None
        self.waiting: list[Callable[[Job], object]] = []


class Jobs:
    """Leave it, as a context manager, and nothing it started is alive."""

    def __init__(
        self, start: Starter = never, *, output_bytes: int = OUTPUT_BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        self._start, self._limit, self._clock = start, output_bytes, clock
        self._entries: dict[str, _Entry] = {}
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()

    def __enter__(self) -> "Jobs":
        return self

    def __exit__(self, *_: object) -> None:
        for job in self.list():
            self.stop(job.id)

    def start(self, request: Request, *, by: Starter | None = None) -> Job:
        """Begin a job. `by` starts this one, where it needs more than the others."""
        with self._changed:
            alive = sum(entry.job.state is State.RUNNING for entry in self._entries.values())
            if alive >= MOST_JOBS:
                raise ResourceExhausted(f"{alive} jobs run already", hint="stop one first")
            name = f"job-{next(self._numbers)}"
            entry = _Entry(Job(name, 0, request.argv, request.cwd, self._clock(), State.RUNNING))
            self._entries[name] = entry
        try:
            running = (by or self._start)(
                request, lambda _, data: self._said(entry, data), lambda status: self._ended(entry, status)
            )
        except BaseException:
            with self._changed:
                del self._entries[name]
            raise
        with self._changed:
            entry.running = running
            entry.job = msgspec.structs.replace(entry.job, pid=running.pid)
            told_to_stop = entry.job.state is State.STOPPED
        if told_to_stop:  # while it was being started
            running.stop()
        return entry.job

    def list(self) -> list[Job]:
        with self._changed:
            return [entry.job for entry in self._entries.values()]

    def read(self, name: str, *, offset: int = 0, wait: float = 0) -> Piece:
        """What was written from `offset` on; waits so many seconds at most for there to be something, or for the end."""
        entry = self._entry(name)
        with self._changed:
            self._changed.wait_for(lambda: entry.job.written > offset or entry.job.state is not State.RUNNING, wait)
            kept_from = entry.job.written - len(entry.output)
            start = min(max(offset, kept_from), entry.job.written)
            return Piece(bytes(entry.output[start - kept_from :]), start)

    def when_over(self, name: str, tell: Callable[[Job], object]) -> None:
        """Call `tell`, from whatever thread notices it, when the job has ended; at once if it has already."""
        entry = self._entry(name)
        with self._changed:
            if entry.job.status is None:
                entry.waiting.append(tell)
                return
        tell(entry.job)

    def stop(self, name: str) -> Job:
        """End a job and everything it started. One that has ended stays as it is."""
        entry = self._entry(name)
        with self._changed:
            if entry.job.state is State.RUNNING:
                entry.job = msgspec.structs.replace(entry.job, state=State.STOPPED)
            running = entry.running
        if running is not None:
            running.stop()
        return entry.job

    def _entry(self, name: str) -> _Entry:
        with self._changed:
            if name not in self._entries:
                raise InvalidArguments(f"there is no job {name}", hint="list the jobs to see their names")
            return self._entries[name]

    def _said(self, entry: _Entry, data: bytes) -> None:
        with self._changed:
            entry.output += data
            del entry.output[: -self._limit]
            entry.job = msgspec.structs.replace(entry.job, written=entry.job.written + len(data))
            self._changed.notify_all()

    def _ended(self, entry: _Entry, status: int) -> None:
        with self._changed:
            state = State.ENDED if entry.job.state is State.RUNNING else entry.job.state
            entry.job = msgspec.structs.replace(entry.job, state=state, status=status)
            self._changed.notify_all()
            waiting, entry.waiting = entry.waiting, []
        for tell in waiting:
            tell(entry.job)
