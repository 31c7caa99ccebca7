"""One remembered answer with its whole story, and how it goes into a row and out of it."""

import datetime
import hashlib
from typing import Any

import msgspec

from signoff.memory.interface import Candidate
from signoff.memory.trust import LIFE, Stats, Status, level, trust

SEQUENCE_BITS = 32
COLUMNS = (
    "id, qa_id, (SELECT name FROM project WHERE number = item.project), question, answer, summary, tags, metadata, source, "
    "author, confidence, thread, position, occurred_at, run_id, calls, status, stats, created_at, validated_at, used_at, "
    "expires_at, shown, used"
)


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
    place = (candidate.project_id, candidate.question, candidate.answer, candidate.thread, candidate.position)
    return "qa-" + hashlib.sha256(msgspec.json.encode(place)).hexdigest()[:20]


def row_of(number: int, project: int, candidate: Candidate, status: Status, now: int) -> tuple[Any, ...]:
    return (
        number,
        identity(candidate),
        project,
        candidate.question,
        candidate.answer,
        candidate.summary,
        _text(candidate.tags),
        _text(candidate.metadata),
        candidate.source,
        candidate.author,
        candidate.confidence,
        candidate.thread,
        candidate.position,
        candidate.occurred_at,
        candidate.run_id,
        _text(candidate.calls),
        status,
        _text(Stats()),
        now,
        None,
        None,
        now + LIFE,
        0,
        0,
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


def moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.datetime.fromtimestamp(milliseconds / 1_000, datetime.UTC).isoformat(timespec="milliseconds")


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
