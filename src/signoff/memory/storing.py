"""How candidates become rows: all of a project in a few statements."""

import sqlite3
from collections.abc import Sequence

import msgspec

from signoff.memory.interface import Candidate
from signoff.memory.item import row_of
from signoff.memory.projects import opened
from signoff.memory.trust import Status
from signoff.memory.words import dated, indexed

INSERT = f"INSERT INTO item VALUES ({','.join('?' * 24)})"  # noqa: S608


class Entry(msgspec.Struct, frozen=True):
    """A candidate on its way in; `vector` is its tokens and direction, if there is a model."""

    qa_id: str
    told: Candidate
    vector: tuple[bytes, bytes] | None = None


def store(connection: sqlite3.Connection, entries: Sequence[Entry], status: Status, now: int) -> None:
    """What is known already stays as it is."""
    (known,) = connection.execute(
        "SELECT json_group_array(qa_id) FROM item WHERE qa_id IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode([entry.qa_id for entry in entries]).decode(),),
    ).fetchone()
    seen: set[str] = set(msgspec.json.decode(known))
    new: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.qa_id not in seen:
            seen.add(entry.qa_id)
            new.setdefault(entry.told.project_id, []).append(entry)
    for project, some in new.items():
        _store(connection, project, some, status, now)


def _store(connection: sqlite3.Connection, name: str, entries: Sequence[Entry], status: Status, now: int) -> None:
    project = opened(connection, name)
    start = project.first + project.size + 1
    complete = project.encoded == project.size and all(entry.vector for entry in entries)
    connection.execute(
        "UPDATE project SET next = next + ?, encoded = ?, threaded = threaded OR ?, authored = authored OR ? WHERE number = ?",
        (
            len(entries),
            project.size + len(entries) if complete else project.encoded,
            any(entry.told.thread is not None for entry in entries),
            any(entry.told.author is not None for entry in entries),
            project.number,
        ),
    )
    connection.executemany(
        INSERT,
        [
            row_of(number, project.number, entry.qa_id, entry.told, status, now)
            for number, entry in enumerate(entries, start)
        ],
    )
    connection.executemany(
        "INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)",
        [(number, *index_text(entry.told)) for number, entry in enumerate(entries, start)],
    )
    connection.executemany(
        "INSERT INTO vector (id, tokens, mean) VALUES (?, ?, ?)",
        [(number, *entry.vector) for number, entry in enumerate(entries, start) if entry.vector],
    )


def index_text(told: Candidate) -> tuple[str, str]:
    title = " ".join(part for part in (told.question, told.summary, *told.tags, dated(told.occurred_at)) if part)
    return indexed(title), indexed(told.answer)


def meant(told: Candidate) -> str:
    """The text that carries the meaning."""
    return f"{told.question} {told.summary or ''} {told.answer}"


def remember(connection: sqlite3.Connection, now: int, kind: str, qa_id: str, data: object) -> None:
    connection.execute(
        "INSERT INTO history (moment, kind, qa_id, data) VALUES (?, ?, ?, ?)",
        (now, kind, qa_id, msgspec.json.encode(data).decode()),
    )
