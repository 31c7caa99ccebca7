"""What is still readable of a damaged file, into a new one, and the damaged one moved aside: nothing is thrown away."""

import contextlib
import datetime
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from signoff.domain.unreadable import UNREADABLE
from signoff.files.lock import locked
from signoff.memory.interface import Candidate
from signoff.memory.projects import SEQUENCE_BITS
from signoff.memory.storing import INSERT, index_text

_PROJECT = "number, name, next, threaded, authored"


class Renewed(msgspec.Struct, frozen=True):
    aside: Path | None  # where the damaged file is now; None: another process was faster
    saved: int = 0


def renew(path: Path, inode: int, prepare: Callable[[sqlite3.Connection], object]) -> Renewed:
    """Put a new file in the place of the damaged one. `inode` is the file that was found damaged, `prepare` makes tables.

    The new file is complete before anything is moved: whatever interrupts this, the damaged file is still there.
    """
    with locked(f"{path}.lock"):
        if path.stat().st_ino != inode:
            return Renewed(None)
        new = path.with_name(path.name + ".new")
        new.unlink(missing_ok=True)
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as fresh:
            prepare(fresh)
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as damaged:
                saved = _copy(damaged, fresh)
        aside = _aside(path)
        os.link(path, aside)
        for tail in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{path}{tail}", f"{aside}{tail}")
        os.replace(new, path)
    return Renewed(aside, saved)


def _aside(path: Path) -> Path:
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S%f")
    return path.with_name(f"{path.name}.damaged-{stamp}")


def _copy(damaged: sqlite3.Connection, fresh: sqlite3.Connection) -> int:
    """Items as they are, their words indexed anew; vectors follow when they are next searched."""
    damaged.text_factory = lambda text: text.decode("utf-8", "replace")
    fresh.execute("BEGIN")
    projects = {row[0]: row for row in _readable(damaged, f"SELECT {_PROJECT} FROM project")}  # noqa: S608
    saved: dict[int, tuple[Any, ...]] = {}
    for number in projects or _numbers(damaged):
        inside = f"WHERE id BETWEEN {number << SEQUENCE_BITS} AND {((number + 1) << SEQUENCE_BITS) - 1}"
        for direction in ("ASC", "DESC"):  # up to what is damaged from both sides
            sql = f"SELECT * FROM item {inside} ORDER BY id {direction}"  # noqa: S608
            saved |= {row[0]: row for row in _readable(damaged, sql)}
    for number in sorted({row >> SEQUENCE_BITS for row in saved} | set(projects)):
        last = max((row for row in saved if row >> SEQUENCE_BITS == number), default=number << SEQUENCE_BITS)
        after = (last & ((1 << SEQUENCE_BITS) - 1)) + 1
        _, name, following, threaded, authored = projects.get(number, (number, f"recovered-{number}", 1, 1, 1))
        fresh.execute(
            f"INSERT INTO project ({_PROJECT}) VALUES (?, ?, ?, ?, ?)",  # noqa: S608
            (number, name, max(following, after), threaded, authored),
        )
    kept = sum(_insert(fresh, row) for row in saved.values())
    for table, sql in (
        ("sharing", "INSERT OR IGNORE INTO sharing VALUES (?, ?)"),
        ("history", "INSERT INTO history VALUES (?, ?, ?, ?)"),
    ):
        for row in _readable(damaged, f"SELECT * FROM {table}"):  # noqa: S608
            with contextlib.suppress(sqlite3.IntegrityError):
                fresh.execute(sql, row)
    fresh.execute("COMMIT")
    return kept


def _numbers(damaged: sqlite3.Connection) -> list[int]:
    """The projects that items belong to, where the table of projects is gone."""
    return [int(row[0]) for row in _readable(damaged, f"SELECT DISTINCT id >> {SEQUENCE_BITS} FROM item")]  # noqa: S608


def _readable(damaged: sqlite3.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    """Rows up to the first that cannot be read."""
    try:
        yield from damaged.execute(sql)
    except sqlite3.DatabaseError:
        return


def _insert(fresh: sqlite3.Connection, row: tuple[Any, ...]) -> bool:
    """A row that makes no sense is left behind."""
    try:
        tags = tuple(msgspec.json.decode(row[6], type=list[str]))
        title, body = index_text(Candidate("", row[3], row[4], summary=row[5], tags=tags, occurred_at=row[13]))
        fresh.execute(INSERT, row)
        fresh.execute("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)", (row[0], title, body))
    except (sqlite3.IntegrityError, TypeError, *UNREADABLE):
        return False
    return True
