"""The SQLite file: opened privately, brought up to date, and every failure of it in our own words.

WAL with full synchronisation: what was acknowledged survives a killed process and a lost power supply.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from signoff.domain.errors import MemoryFailed, MemoryTimeout, MemoryUnavailable, SignoffError
from signoff.memory.salvage import renew

BUSY_SECONDS = 2.0

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE project (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        next INTEGER NOT NULL DEFAULT 1,        -- sequence of the next item
        generation INTEGER NOT NULL DEFAULT 0   -- grows whenever an item changes or goes
    ) STRICT;
    CREATE TABLE sharing (
        owner INTEGER NOT NULL REFERENCES project,
        reader INTEGER NOT NULL REFERENCES project,
        PRIMARY KEY (owner, reader)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE item (
        id INTEGER PRIMARY KEY,                 -- project number << 32 | sequence: a project is a range
        qa_id TEXT NOT NULL UNIQUE,
        project INTEGER NOT NULL REFERENCES project,
        question TEXT NOT NULL,
        answer TEXT NOT NULL,
        summary TEXT,
        tags TEXT NOT NULL,
        metadata TEXT NOT NULL,
        source TEXT,
        author TEXT,
        confidence REAL NOT NULL,
        thread TEXT,
        position INTEGER,
        occurred_at TEXT,
        run_id TEXT,
        calls TEXT NOT NULL,
        status TEXT NOT NULL,
        stats TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        validated_at INTEGER,
        used_at INTEGER,
        expires_at INTEGER,
        shown INTEGER NOT NULL DEFAULT 0,
        used INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX neighbours ON item (project, thread, position) WHERE thread IS NOT NULL;
    CREATE INDEX expiring ON item (expires_at) WHERE expires_at IS NOT NULL;
    CREATE VIRTUAL TABLE words USING fts5(title, body, tokenize = 'porter unicode61');
    CREATE TABLE vector (
        id INTEGER PRIMARY KEY REFERENCES item ON DELETE CASCADE,
        tokens BLOB NOT NULL,                   -- numbers of the first tokens, 16 bits each
        mean BLOB NOT NULL                      -- 16-bit floats
    ) STRICT;
    CREATE TABLE history (
        moment INTEGER NOT NULL,
        kind TEXT NOT NULL,                     -- candidate, hit, validate, expire, edit, delete
        qa_id TEXT NOT NULL,
        data TEXT NOT NULL
    ) STRICT;
    CREATE INDEX history_of ON history (qa_id);
    """,
    """
    ALTER TABLE project ADD COLUMN encoded INTEGER NOT NULL DEFAULT 0;   -- every item up to this one has a vector
    ALTER TABLE project ADD COLUMN threaded INTEGER NOT NULL DEFAULT 1;  -- whether neighbours need to be looked for
    ALTER TABLE project ADD COLUMN authored INTEGER NOT NULL DEFAULT 1;  -- and authors
    """,
)

_KINDS: dict[str, tuple[type[MemoryFailed], str]] = {
    "SQLITE_BUSY": (MemoryTimeout, "is in use by another process"),
    "SQLITE_LOCKED": (MemoryTimeout, "is in use by another process"),
    "SQLITE_FULL": (MemoryUnavailable, "cannot grow: the disk is full"),
    "SQLITE_READONLY": (MemoryUnavailable, "cannot be written"),
    "SQLITE_CANTOPEN": (MemoryUnavailable, "cannot be opened"),
    "SQLITE_PERM": (MemoryUnavailable, "cannot be opened"),
    "SQLITE_IOERR": (MemoryUnavailable, "cannot be read or written"),
}
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


class Database:
    """One connection, one user at a time; several threads may share it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        with self._translated():
            self._open()

    def _open(self) -> None:
        _make_private(self.path)
        self._inode = os.stat(self.path).st_ino
        self._connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self._connection.executescript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                "PRAGMA trusted_schema = OFF; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;"
            )
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if version > len(MIGRATIONS):
                raise MemoryFailed(f"{self.path} was written by a newer signoff", hint="Update signoff.")
            if version < len(MIGRATIONS):
                migrate(self._connection)
        except BaseException:
            self._connection.close()
            raise

    def _follow(self) -> None:
        """Another process may have put a new file in the place of a damaged one; what is written must not go astray."""
        try:
            moved = os.stat(self.path).st_ino != self._inode
        except FileNotFoundError:
            moved = True
        if moved:
            self._connection.close()
            self._open()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view for everything asked inside."""
        with self._lock, self._translated():
            self._follow()
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; durable when this returns."""
        with self._lock, self._translated():
            self._follow()
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "") or ""
            if name.startswith(_DAMAGED):
                raise MemoryFailed(self._renewed(), hint="From now on the new file is used.") from error
            known = next((told for prefix, told in _KINDS.items() if name.startswith(prefix)), None)
            kind, what = known or (MemoryFailed, f"failed: {error}")
            raise kind(f"the memory {self.path} {what}") from error
        except OSError as error:
            raise MemoryUnavailable(f"the memory {self.path} cannot be opened: {error.strerror}") from error

    def _renewed(self) -> str:
        """A new file in the place of the damaged one, which is kept; what to tell a person about it."""
        self._connection.close()
        found = f"the memory {self.path} is damaged"
        try:
            done = renew(self.path, self._inode, migrate)
            self._open()
        except (SignoffError, OSError, sqlite3.Error) as error:
            raise MemoryFailed(
                f"{found} and cannot be replaced: {error}",
                hint="Move it away together with its -wal and -shm files; a new one is made.",
            ) from error
        if done.aside is None:
            return f"{found}; another process has put a new one in its place"
        return f"{found}: it was moved to {done.aside}, and {done.saved} answers were saved into a new one"


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date, all or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()  # somebody may have been faster
        for script in MIGRATIONS[version:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _make_private(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
