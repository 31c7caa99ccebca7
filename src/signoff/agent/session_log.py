"""One session: an append-only file of events, a line each. What was appended is there after a kill -9.

A line that cannot be read is one that was torn by a death; it was never acknowledged and is left out.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Self

import msgspec

from signoff.agent.event import Look, Spent
from signoff.domain.call import ToolCall
from signoff.domain.errors import NotFound, ToolConflict
from signoff.domain.event import PlanEntry
from signoff.domain.unreadable import UNREADABLE
from signoff.files import regular
from signoff.files.lock import try_acquire
from signoff.providers.provider import Message


class Opened(msgspec.Struct, frozen=True, tag="opened"):
    session_id: str
    cwd: str
    model: str
    mode: str
    title: str = ""
    forked_from: str = ""


class Renamed(msgspec.Struct, frozen=True, tag="renamed"):
    title: str


class Configured(msgspec.Struct, frozen=True, tag="configured"):
    """The person chose something else: `mode`, `model`, `approval` …"""

    option: str
    value: str


class RunOpened(msgspec.Struct, frozen=True, tag="run"):
    """From here on the session's calls are in the ledger of this run."""

    run_id: str


class Said(msgspec.Struct, frozen=True, tag="said"):
    message: Message


class CallBegan(msgspec.Struct, frozen=True, tag="call"):
    """A request of the model became this call; its result is the `tool` message with the same `request_id`."""

    request_id: str
    call: ToolCall
    look: Look


class Planned(msgspec.Struct, frozen=True, tag="plan"):
    entries: tuple[PlanEntry, ...]


class Condensed(msgspec.Struct, frozen=True, tag="condensed"):
    """The model is shown these messages instead of everything before."""

    messages: tuple[Message, ...]


class Cleared(msgspec.Struct, frozen=True, tag="cleared"):
    """The model is shown nothing of what was before."""


class TurnClosed(msgspec.Struct, frozen=True, tag="turn"):
    reason: str
    spent: Spent = Spent()


SessionEvent = Opened | Renamed | Configured | RunOpened | Said | CallBegan | Planned | Condensed | Cleared | TurnClosed


class Entry(msgspec.Struct, frozen=True):
    ts: int  # milliseconds since the epoch
    what: SessionEvent


LINGER_S = 0.1  # what is wanted meanwhile is synced together
LONGEST_SYNC_S = 10.0
_decoder = msgspec.json.Decoder(Entry)
_encoder = msgspec.json.Encoder()


class Syncing:
    """Gets a file onto the disk a moment after it was wanted, without anybody waiting for it: no effect hangs on it, the
    ledger has its own order."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.wanted = False  # since the last sync began
        self._wake = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def want(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="session-log", daemon=True)
            self._thread.start()
        self.wanted = True
        self._wake.set()

    def close(self) -> None:
        if self._thread is not None:
            self._over.set()
            self._wake.set()
            self._thread.join(LONGEST_SYNC_S)

    def _work(self) -> None:
        while not self._over.is_set():
            self._wake.wait()
            self._over.wait(LINGER_S)
            self._wake.clear()
            self.wanted = False  # last: whoever saw it true has written before what follows
            with contextlib.suppress(OSError):  # the next write will say what is wrong with the disk
                os.fdatasync(self._descriptor)


class SessionLog:
    """Open for appending; one process at a time. `on_append` is told of everything that was written."""

    def __init__(
        self,
        path: str,
        descriptor: int,
        opened: Opened,
        clock: Callable[[], float],
        on_append: Callable[[Sequence[Entry]], object] = lambda entries: None,
        on_close: Callable[[], object] = lambda: None,
    ) -> None:
        self.path = path
        self.opened = opened
        self._descriptor = descriptor
        self._clock = clock
        self._on_append = on_append
        self._syncing = Syncing(descriptor)
        self._held: list[Entry] = []  # not written yet
        self._on_close = on_close

    @property
    def id(self) -> str:
        return self.opened.session_id

    def append(self, event: SessionEvent, *, sync: bool = False) -> None:
        """On return the event outlives this process, and all before it; with `sync` soon the loss of power too."""
        self.hold(event)
        self._write()
        if sync and not self._syncing.wanted:
            self._syncing.want()

    def hold(self, event: SessionEvent) -> None:
        """Goes out with the next one, in one write: for who appends that before anybody else has a turn."""
        self._held.append(Entry(int(self._clock() * 1_000), event))

    def _write(self) -> None:
        entries, self._held = self._held, []
        lines = _encoder.encode_lines(entries)  # a list: of a tuple, msgspec 0.22 never frees the iterator
        if (written := os.write(self._descriptor, lines)) < len(lines):
            write_whole(self._descriptor, lines[written:])
        self._on_append(entries)

    def events(self) -> list[Entry]:
        if self._held:
            self._write()
        return list(read(self.path))

    def close(self) -> None:
        if self._descriptor >= 0:
            if self._held:
                self._write()
            self._syncing.close()
            os.close(self._descriptor)
            self._descriptor = -1
            self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_file(path: str, *, new: bool = False) -> int:
    """The log, for appending and ours alone. A torn last line is closed off, so that the next one stands by itself."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT | os.O_EXCL if new else 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError as error:
        raise NotFound("there is no such session", hint='See "signoff sessions list".') from error
    if not try_acquire(descriptor):
        os.close(descriptor)
        raise ToolConflict("the session is open in another process", hint="Fork it, or end the other one first.")
    close_off(descriptor)
    return descriptor


def close_off(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        write_whole(descriptor, b"\n")


def write_whole(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def read(path: str) -> Iterator[Entry]:
    try:
        with open(path, "rb", opener=regular.opener) as file:
            for line in file:
                try:
                    yield _decoder.decode(line)
                except UNREADABLE:
                    continue
    except FileNotFoundError as error:
        raise NotFound("there is no such session", hint='See "signoff sessions list".') from error
