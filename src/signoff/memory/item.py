"""One remembered answer with its whole story, and how it goes into a row and out of it."""

import datetime
import hashlib
from functools import lru_cache
from typing import Any

import msgspec

from signoff.memory.interface import Candidate
from signoff.memory.trust import LIFE, Stats, Status, level, trust

COLUMNS = (
    "id, qa_id, (SELECT name FROM project WHERE number = item.project), question, answer, summary, tags, metadata, source, "
    "author, confidence, thread, position, occurred_at, run_id, calls, status, stats, created_at, validated_at, used_at, "
    "expires_at, shown, used"
)
_NEW = msgspec.json.encode(Stats()).decode()


class Item(Candidate, frozen=True, kw_only=True):
    """As it is shown and exported. Moments are RFC 3339."""

    qa_id: str
    status: Status = Status.CANDIDATE
    level: str = "L0"
    trust: float = 0.4
    stats: Stats = Stats()
    created_at: str = ""
    validated_at: str | None = None
    used_at: str | None = None
    expires_at: str | None = None
    shown: int = 0
    used: int = 0


def identity(candidate: Candidate) -> str:
    """The same words in the same place have the same id, so that telling a memory twice changes nothing."""
    if isinstance(candidate, Item):
        return candidate.qa_id
    place = (candidate.project_id, candidate.question, candidate.answer, candidate.thread, candidate.position)
    return "qa-" + hashlib.sha256(msgspec.json.encode(place)).hexdigest()[:20]


def row_of(number: int, project: int, qa_id: str, told: Candidate, status: Status, now: int) -> tuple[Any, ...]:
    """A candidate begins its life now, with this status; an item that was exported goes on with its own."""
    return (
        number,
        qa_id,
        project,
        told.question,
        told.answer,
        told.summary,
        _list(told.tags),
        msgspec.json.encode(told.metadata).decode() if told.metadata else "{}",
        told.source,
        told.author,
        told.confidence,
        told.thread,
        told.position,
        told.occurred_at,
        told.run_id,
        _list(told.calls),
        *(_life(told, now) if isinstance(told, Item) else (status, _NEW, now, None, None, now + LIFE, 0, 0)),
    )


def _life(item: Item, now: int) -> tuple[Any, ...]:
    return (
        item.status,
        msgspec.json.encode(item.stats).decode(),
        milliseconds(item.created_at or None) or now,
        milliseconds(item.validated_at),
        milliseconds(item.used_at),
        milliseconds(item.expires_at),
        item.shown,
        item.used,
    )


def item_of(row: tuple[Any, ...]) -> Item:
    stats = msgspec.json.decode(row[17], type=Stats)
    return Item(
        qa_id=row[1],
        project_id=row[2],
        question=row[3],
        answer=row[4],
        summary=row[5],
        tags=tuple(msgspec.json.decode(row[6])),
        metadata=msgspec.json.decode(row[7]),
        source=row[8],
        author=row[9],
        confidence=row[10],
        thread=row[11],
        position=row[12],
        occurred_at=row[13],
        run_id=row[14],
        calls=tuple(msgspec.json.decode(row[15])),
        status=Status(row[16]),
        level=f"L{level(stats)}",
        trust=trust(stats),
        stats=stats,
        created_at=moment(row[18]) or "",
        validated_at=moment(row[19]),
        used_at=moment(row[20]),
        expires_at=moment(row[21]),
        shown=row[22],
        used=row[23],
    )


class Worth(msgspec.Struct, frozen=True):
    """What the validations of an item come to."""

    trust: float
    level: int
    stats: dict[str, Any]


@lru_cache(maxsize=1_000)
def worth(stats: str) -> Worth:
    """Of the column `stats`; most items have never been validated, so few texts are ever read."""
    read = msgspec.json.decode(stats, type=Stats)
    return Worth(trust(read), level(read), msgspec.to_builtins(read))


def moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.datetime.fromtimestamp(milliseconds / 1_000, datetime.UTC).isoformat(timespec="milliseconds")


def milliseconds(moment: str | None) -> int | None:
    """Raises ValueError for what is no moment."""
    if moment is None:
        return None
    when = datetime.datetime.fromisoformat(moment)
    if when.tzinfo is None:
        when = when.replace(tzinfo=datetime.UTC)
    return round(when.timestamp() * 1_000)


def _list(values: tuple[str, ...]) -> str:
    return msgspec.json.encode(values).decode() if values else "[]"
