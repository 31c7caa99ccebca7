"""Find ledgers and read them back. A damaged line is shown as what it is; it never hides the ones after it."""

import enum
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from signoff.domain.errors import NotFound, UsageError
from signoff.domain.unreadable import UNREADABLE
from signoff.ledger.place import SUFFIX
from signoff.ledger.records import Close, Event, Genesis, Line
from signoff.ledger.verify import LARGEST_LINE

LAST = "last"
OPENED = "session.opened"  # the event with which a session of our agent begins its run
PIECE = 1024 * 1024


class State(enum.StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    UNFINISHED = "unfinished"  # the writer is gone and left no closing record
    DAMAGED = "damaged"  # its beginning cannot be read


class Damaged(msgspec.Struct, frozen=True):
    """A line that is no record."""

    line: int
    text: str


class Run(msgspec.Struct, frozen=True):
    """A ledger at a glance, from its first two lines and its last."""

    run_id: str
    path: str
    state: State
    started: str = ""
    ended: str = ""
    records: int = 0
    exit_code: int | None = None
    command: tuple[str, ...] = ()
    workspace: str = ""
    project_id: str = ""
    head: str = ""
    session_id: str = ""  # of an agent of ours


_decode = msgspec.json.Decoder(Line).decode


def find(runs: Path, name: str) -> Path:
    """The ledger meant by a run id, the unique beginning of one, `last`, or a path."""
    if os.sep in name or name.endswith(SUFFIX):
        path = Path(name)
        if not path.is_file():
            raise NotFound(f"there is no ledger {name}")
        return path
    known = names(runs)
    if name == LAST and not known:
        raise NotFound("no run has been recorded yet")
    if name == LAST:
        return runs / (known[-1] + SUFFIX)
    meant = [run for run in known if run.startswith(name.lower())] if name else []
    if len(meant) > 1:
        raise UsageError(f"{name} is the beginning of {len(meant)} run ids", hint="Give more of it.")
    if not meant:
        raise NotFound(f"there is no run {name}", hint='"signoff audit list" shows those that are there.')
    return runs / (meant[0] + SUFFIX)


def names(runs: Path) -> list[str]:
    """The ids of all runs, the oldest first: they sort by time. A pipe or a device of such a name is no run."""
    try:
        with os.scandir(runs) as entries:
            return sorted(
                entry.name.removesuffix(SUFFIX) for entry in entries if entry.name.endswith(SUFFIX) and entry.is_file()
            )
    except FileNotFoundError:
        return []


def read(source: BinaryIO, number: int = 0) -> Iterator[Line | Damaged]:
    """Every whole line from here on. What has no end of line yet, room for one included, is left for the next call."""
    while raw := source.readline(LARGEST_LINE):
        if not raw.endswith(b"\n") and len(raw) < LARGEST_LINE:
            start = source.tell() - len(raw)
            source.seek(0, os.SEEK_END)  # so that nothing of it stays in the buffer: it is written over
            source.seek(start)
            return
        number += 1
        yield _line(raw, number)


def whole(source: BinaryIO, *, finished: bool) -> Iterator[bytes]:
    """The file in pieces, without the room for records to come; behind the closing record there is none, only damage."""
    blanks = 0
    while piece := source.read(PIECE):
        kept = piece.rstrip(b" ")
        if kept:
            yield b" " * blanks + kept
            blanks = 0
        blanks += len(piece) - len(kept)
    if finished and blanks:
        yield b" " * blanks


def _line(raw: bytes, number: int) -> Line | Damaged:
    try:
        return _decode(raw)
    except UNREADABLE:
        return Damaged(number, raw.decode("utf-8", "replace").rstrip("\n"))


def glance(path: Path) -> Run:
    """What the first two and the last whole line tell."""
    with path.open("rb") as file:
        first, second = (_line(file.readline(LARGEST_LINE), number) for number in (1, 2))
        last = _line(_last_line(file), 0)
        writing = _is_being_written(file)
    if isinstance(first, Damaged) or not isinstance(first.what, Genesis):
        return Run(run_id=path.stem, path=str(path), state=State.DAMAGED)
    closing = last.what if isinstance(last, Line) and isinstance(last.what, Close) else None
    return Run(
        run_id=first.run_id,
        path=str(path),
        state=State.FINISHED if closing else State.RUNNING if writing else State.UNFINISHED,
        started=first.ts,
        ended=last.ts if isinstance(last, Line) else "",
        records=last.seq + 1 if isinstance(last, Line) else 0,
        exit_code=closing.exit_code if closing else None,
        command=first.what.command,
        workspace=first.what.workspace,
        project_id=first.what.project_id,
        head=last.hash if isinstance(last, Line) else "",
        session_id=_session(second),
    )


def _session(second: Line | Damaged) -> str:
    event = second.what if isinstance(second, Line) else None
    return str(event.data.get("session_id", "")) if isinstance(event, Event) and event.name == OPENED else ""


def _last_line(file: BinaryIO) -> bytes:
    """The last line that has an end, looked for from the end of the file."""
    end = file.seek(0, os.SEEK_END)
    window = 4096
    while True:
        start = file.seek(max(0, end - window))
        lines = file.read(end - start).split(b"\n")[:-1]  # what follows the last end of line is not whole
        if len(lines) > 1 or start == 0 or window > 2 * LARGEST_LINE:
            return lines[-1] if lines else b""
        window *= 8


def _is_being_written(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False
