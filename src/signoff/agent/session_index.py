"""Which sessions there are, newest first, without reading them: an SQLite table over the logs. It can always be made anew,
so it is never worth a sync and never an error: an index that cannot be read is thrown away."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

VERSION = 1
_TABLE = """
CREATE TABLE session (
    id TEXT PRIMARY KEY,
    cwd TEXT NOT NULL,
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    forked_from TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    open INTEGER NOT NULL DEFAULT 0   -- somebody may be appending: what stands here may be behind the log
) STRICT, WITHOUT ROWID;
CREATE INDEX newest ON session (updated_ms DESC, id);
CREATE INDEX newest_in ON session (cwd, updated_ms DESC, id);
CREATE INDEX open ON session (open) WHERE open = 1;
"""
_PUT = """
INSERT OR REPLACE INTO session (id, cwd, title, model, mode, forked_from, created_ms, updated_ms, open)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PAGE = """
SELECT id, cwd, title, model, mode, forked_from, created_ms, updated_ms FROM session
WHERE updated_ms <= ? AND (updated_ms < ? OR id > ?) ORDER BY updated_ms DESC, id LIMIT ?
"""
_PAGE_IN = """
SELECT id, cwd, title, model, mode, forked_from, created_ms, updated_ms FROM session
WHERE cwd = ? AND updated_ms <= ? AND (updated_ms < ? OR id > ?) ORDER BY updated_ms DESC, id LIMIT ?
"""
_FIRST = (2**62, "")  # before every session


class Summary(msgspec.Struct, frozen=True):
    """A session in a list. Times are milliseconds since the epoch."""

    id: str
    cwd: str
    title: str
    model: str
    mode: str
    forked_from: str
    created_ms: int
    updated_ms: int


class Index:
    """`scan` gives every session there is on disk, for an index that has to be made."""

    def __init__(self, path: str, scan: Callable[[], Iterable[Summary]]) -> None:
        self._path = path
        self._scan = scan
        self._database = self._connected()

    def put(self, summary: Summary, *, is_open: bool) -> None:
        values = (*msgspec.structs.astuple(summary), int(is_open))
        self._do(_PUT, values)

    def remove(self, session_id: str) -> None:
        self._do("DELETE FROM session WHERE id = ?", (session_id,))

    def open_ones(self) -> list[str]:
        return [row[0] for row in self._do("SELECT id FROM session WHERE open = 1", ())]

    def page(self, cwd: str | None, after: tuple[int, str] | None, limit: int) -> list[Summary]:
        when, session_id = after or _FIRST
        place = (when, when, session_id, limit)
        rows = self._do(_PAGE, place) if cwd is None else self._do(_PAGE_IN, (cwd, *place))
        return [Summary(*row) for row in rows]

    def starting_with(self, prefix: str) -> list[str]:
        rows = self._do("SELECT id FROM session WHERE id >= ? AND id < ? LIMIT 10", (prefix, prefix + "\U0010ffff"))
        return [row[0] for row in rows]

    def close(self) -> None:
        self._database.close()

    def _do(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.DatabaseError:
            self._database.close()
            self._database = self._anew()
            return self._database.execute(statement, values).fetchall()

    def _connected(self) -> sqlite3.Connection:
        if not os.path.exists(self._path):
            return self._anew()
        database = sqlite3.connect(self._path, timeout=5, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA synchronous = OFF")
            if database.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                return database
        except sqlite3.DatabaseError:
            pass
        database.close()
        return self._anew()

    def _anew(self) -> sqlite3.Connection:
        """Made beside the old one and put in its place whole: whoever dies on the way leaves no half of it."""
        beside = f"{self._path}.{os.getpid()}"
        for name in (beside, f"{self._path}-wal", f"{self._path}-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
        database = _open(beside)
        database.executescript(_TABLE)
        with database:
            database.execute("BEGIN")
            for summary in self._scan():
                database.execute(_PUT, (*msgspec.structs.astuple(summary), 0))
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.close()
        os.replace(beside, self._path)
        return _open(self._path)


def _open(path: str) -> sqlite3.Connection:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    database = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA synchronous = OFF")
    return database
