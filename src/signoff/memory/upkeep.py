"""Looking after a memory by hand: list, change, delete, share, count."""

from collections.abc import Iterable
from typing import Any

import msgspec

from signoff.domain.errors import NotFound
from signoff.memory.admission import admitted
from signoff.memory.embedded import Embedded
from signoff.memory.item import COLUMNS, Item, item_of
from signoff.memory.projects import changed, opened
from signoff.memory.storing import index_text, remember
from signoff.memory.trust import Status


class Summary(msgspec.Struct, frozen=True):
    items: int
    projects: dict[str, int]
    statuses: dict[str, int]
    levels: dict[str, int]
    shown: int
    used: int
    vectors: int
    bytes: int


class Happening(msgspec.Struct, frozen=True):
    kind: str
    data: Any


def listing(
    memory: Embedded, *, project: str | None = None, status: Status | None = None, limit: int = -1
) -> tuple[Item, ...]:
    """Items, the newest first; all of them for a limit below zero."""
    with memory.database.reading() as connection:
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM item WHERE (:project IS NULL OR project = (SELECT number FROM project WHERE name = :project)) "  # noqa: S608
            "AND (:status IS NULL OR status = :status) ORDER BY created_at DESC, id DESC LIMIT :limit",
            {"project": project, "status": status, "limit": limit},
        ).fetchall()
    return tuple(item_of(row) for row in rows)


def find(memory: Embedded, name: str) -> Item:
    """The item with this id or this unique beginning of one."""
    with memory.database.reading() as connection:
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM item WHERE qa_id >= ? AND qa_id < ? LIMIT 2",  # noqa: S608
            (name, name + "\U0010ffff"),
        ).fetchall()
    if len(rows) != 1 or not name:
        what = f"{name} is the beginning of several ids" if rows and name else f"nothing is remembered as {name!r}"
        raise NotFound(what, hint='"signoff memory list" shows what is.')
    return item_of(rows[0])


def edit(memory: Embedded, qa_id: str, changes: dict[str, Any]) -> Item:
    """Change words, tags, confidence or status of an item; its story stays."""
    before = find(memory, qa_id)
    after = msgspec.structs.replace(before, **changes)
    (kept,) = admitted((after,))
    with memory.database.writing() as connection:
        (number,) = connection.execute(
            "UPDATE item SET question = ?, answer = ?, summary = ?, tags = ?, confidence = ?, status = ? WHERE qa_id = ? "
            "RETURNING id",
            (
                kept.question,
                kept.answer,
                kept.summary,
                msgspec.json.encode(kept.tags).decode(),
                kept.confidence,
                after.status,
                before.qa_id,
            ),
        ).fetchone()
        connection.execute("UPDATE words SET title = ?, body = ? WHERE rowid = ?", (*index_text(kept), number))
        connection.execute("DELETE FROM vector WHERE id = ?", (number,))
        changed(connection, number)
        remember(connection, memory.clock(), "edit", before.qa_id, {name: getattr(before, name) for name in changes})
    return find(memory, before.qa_id)


def delete(memory: Embedded, qa_id: str) -> Item:
    """Forget an item for good: its words, its vector and what was noted about it."""
    item = find(memory, qa_id)
    with memory.database.writing() as connection:
        (number,) = connection.execute("SELECT id FROM item WHERE qa_id = ?", (item.qa_id,)).fetchone()
        connection.execute("DELETE FROM vector WHERE id = ?", (number,))
        connection.execute("DELETE FROM words WHERE rowid = ?", (number,))
        connection.execute("DELETE FROM history WHERE qa_id = ?", (item.qa_id,))
        changed(connection, number)
        connection.execute("DELETE FROM item WHERE id = ?", (number,))
    return item


def share(memory: Embedded, owner: str, reader: str, *, shared: bool = True) -> None:
    """Let one project see, or no longer see, what another remembers."""
    with memory.database.writing() as connection:
        pair = (opened(connection, owner).number, opened(connection, reader).number)
        sql = (
            "INSERT OR IGNORE INTO sharing VALUES (?, ?)"
            if shared
            else "DELETE FROM sharing WHERE (owner, reader) = (?, ?)"
        )
        connection.execute(sql, pair)


def history(memory: Embedded, qa_id: str) -> tuple[Happening, ...]:
    with memory.database.reading() as connection:
        rows = connection.execute("SELECT kind, data FROM history WHERE qa_id = ? ORDER BY rowid", (qa_id,)).fetchall()
    return tuple(Happening(kind, msgspec.json.decode(data)) for kind, data in rows)


def summary(memory: Embedded) -> Summary:
    with memory.database.reading() as connection:
        rows = connection.execute(f"SELECT {COLUMNS} FROM item").fetchall()  # noqa: S608
        (vectors,) = connection.execute("SELECT count(*) FROM vector").fetchone()
    items = [item_of(row) for row in rows]
    return Summary(
        items=len(items),
        projects=_counted(item.project_id for item in items),
        statuses=_counted(str(item.status) for item in items),
        levels=_counted(item.level for item in items),
        shown=sum(item.shown for item in items),
        used=sum(item.used for item in items),
        vectors=vectors,
        bytes=memory.database.path.stat().st_size,
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))
