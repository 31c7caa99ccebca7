"""An index of a workspace's text, in pieces of some lines, kept beside the caches and brought up to date before each search.

Words are split where people join them (`readFile`, `read_file`, `HTTPServer`), so that a question in plain words finds names
in code. A file is read again only if its size or times changed, and indexed again only if its content did.
"""

import contextlib
import hashlib
import itertools
import os
import re
import sqlite3
from collections.abc import Callable, Iterable
from typing import NamedTuple

from signoff.files.ignore import walk
from signoff.memory.words import MOST_WORDS, STOP

LINES_A_PIECE = 40
LARGEST_FILE = 1 << 20
MOST_FILES = 50_000
_WORD = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, size INTEGER, modified INTEGER, changed INTEGER, sha TEXT);
CREATE TABLE IF NOT EXISTS piece (id INTEGER PRIMARY KEY, path TEXT, first INTEGER, text TEXT);
CREATE INDEX IF NOT EXISTS piece_path ON piece (path);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (name, body, tokenize='porter unicode61');
"""


class Found(NamedTuple):
    path: str
    first: int
    text: str
    score: float


def words(text: str) -> str:
    """The words of a text, and the parts of those that are joined."""
    found: list[str] = []
    for word in _WORD.findall(text):
        parts = _HUMPS.findall(word) if word.isascii() else [word]
        found += parts if len(parts) < 2 else [*parts, word]
    return " ".join(found)


def query_of(question: str) -> str:
    """What FTS5 is asked: any of the words that say something, each once."""
    found = dict.fromkeys(word.lower() for word in words(question).split())
    telling = [word for word in found if word not in STOP and len(word) > 1] or list(found)
    return " OR ".join(f'"{word}"' for word in telling[:MOST_WORDS])


class SearchIndex:
    def __init__(self, place: str, workspace: str) -> None:
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        self._workspace = workspace
        self._connection = sqlite3.connect(place, isolation_level=None, timeout=10.0)
        os.chmod(place, 0o600)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")  # can be made again at any time
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def refresh(self, may_index: Callable[[str], bool]) -> int:
        """Bring it up to date; gives the number of files that were indexed anew."""
        known = {
            row[0]: row[1:] for row in self._connection.execute("SELECT path, size, modified, changed, sha FROM file")
        }
        seen: set[str] = set()
        anew = 0
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for path, entry in walk(self._workspace):
                if len(seen) >= MOST_FILES:
                    break
                if not entry.is_file(follow_symlinks=False) or not may_index(path):
                    continue
                with contextlib.suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    seen.add(path)
                    stamp = (found.st_size, found.st_mtime_ns, found.st_ctime_ns)
                    if path not in known or known[path][:3] != stamp:
                        anew += self._index(path, stamp, known.get(path, (0, 0, 0, ""))[3])
            for path in known.keys() - seen:
                self._forget(path)
                self._connection.execute("DELETE FROM file WHERE path = ?", (path,))
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        return anew

    def search(self, query: str, below: Iterable[str], limit: int) -> list[Found]:
        """The pieces that fit best; `below` are directories relative to the workspace, none: everywhere."""
        match = query_of(query)
        if not match:
            return []
        directories = tuple(below)
        rows = self._connection.execute(
            "SELECT rowid, bm25(words, 4.0, 1.0) AS rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?",
            (match, -1 if directories else limit),  # what lies in a directory is only known row by row
        )
        found = (Found(*self._piece(number), round(-rank, 4)) for number, rank in rows)
        fitting = (one for one in found if not directories or _lies_in(one.path, directories))
        return list(itertools.islice(fitting, limit))

    def _piece(self, number: int) -> tuple[str, int, str]:
        path, first, text = self._connection.execute(
            "SELECT path, first, text FROM piece WHERE id = ?", (number,)
        ).fetchone()
        return path, first, text

    def _index(self, path: str, stamp: tuple[int, int, int], sha: str) -> int:
        data = self._read(path) if stamp[0] <= LARGEST_FILE else b""
        now = hashlib.sha256(data).hexdigest()
        self._connection.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)", (path, *stamp, now))
        if now == sha:
            return 0
        self._forget(path)
        if not data or b"\0" in data:
            return 0
        lines = data.decode("utf-8", "replace").split("\n")
        for first in range(0, len(lines), LINES_A_PIECE):
            text = "\n".join(lines[first : first + LINES_A_PIECE])
            cursor = self._connection.execute(
                "INSERT INTO piece (path, first, text) VALUES (?, ?, ?)", (path, first + 1, text)
            )
            self._connection.execute(
                "INSERT INTO words (rowid, name, body) VALUES (?, ?, ?)", (cursor.lastrowid, words(path), words(text))
            )
        return 1

    def _forget(self, path: str) -> None:
        self._connection.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM piece WHERE path = ?)", (path,))
        self._connection.execute("DELETE FROM piece WHERE path = ?", (path,))

    def _read(self, path: str) -> bytes:
        descriptor = os.open(os.path.join(self._workspace, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            return file.read(LARGEST_FILE + 1)


def _lies_in(path: str, directories: tuple[str, ...]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in directories)
