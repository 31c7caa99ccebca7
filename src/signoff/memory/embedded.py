"""The memory in a file of the user: the same interface as a service, without one."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from signoff.memory.admission import admitted
from signoff.memory.database import Database
from signoff.memory.embedding import Embedding
from signoff.memory.finding import Finder
from signoff.memory.interface import Candidate, Match, Query, Reference, Reply, Validation
from signoff.memory.item import COLUMNS, Item, identity, item_of, moment, worth
from signoff.memory.projects import Project, sees, visible
from signoff.memory.rank import faded, freshness, ranked, score
from signoff.memory.retrieval import Found
from signoff.memory.storing import Entry, meant, remember, store
from signoff.memory.trust import Standing, Stats, Status, expired, validated
from signoff.memory.vectors import encoded, keep, missing
from signoff.memory.words import wanted

MOST_AT_ONCE = 1_000  # items one sweep expires
SLIGHTEST = 0.02  # relevance of what fits at all; trust and freshness alone make no answer
Clock = Callable[[], int]


def _now() -> int:
    return time.time_ns() // 1_000_000


class Embedded:
    """`embedding` is None where there is none, or none is wanted. `clock` gives milliseconds since 1970."""

    def __init__(self, path: Path, *, embedding: Embedding | None = None, clock: Clock = _now) -> None:
        self.database = Database(path)
        self._embedding = embedding
        self._finder = Finder(embedding)
        self.clock = clock

    def search(self, query: Query) -> Reply[tuple[Match, ...]]:
        words = wanted(query.query)
        wide = query.limit * 2 + 2
        with self.database.reading() as connection:
            projects = [project for project in visible(connection, query.project_id) if project.size]
            behind = [project for project in projects if project.encoded < project.size]
            if not behind or self._embedding is None:
                return self._answer(connection, projects, words, wide, query)
        self._catch_up(behind)
        with self.database.reading() as connection:
            return self._answer(connection, visible(connection, query.project_id), words, wide, query)

    def hit(self, project_id: str, references: tuple[Reference, ...]) -> Reply[None]:
        """What the project does not see is not counted."""
        now = self.clock()
        with self.database.writing() as connection:
            for one in references:
                number = _number(connection, one.qa_id)
                if number is None or not sees(connection, project_id, number):
                    continue
                connection.execute(
                    "UPDATE item SET shown = shown + ?, used = used + ?, used_at = iif(?, ?, used_at) WHERE id = ?",
                    (one.shown, one.used, one.used, now, number),
                )
                remember(connection, now, "hit", one.qa_id, one)
        return Reply(200, None)

    def candidate(self, candidate: Candidate) -> Reply[str]:
        return Reply(202, self.add((candidate,))[0])

    def add(self, candidates: Iterable[Candidate], status: Status = Status.CANDIDATE) -> tuple[str, ...]:
        """Remember all of them or, if one is refused, none. What is known already keeps its story."""
        kept = admitted(tuple(candidates))
        vectors = encoded(self._embedding, [meant(told) for told in kept]) if self._embedding else [None] * len(kept)
        entries = [Entry(identity(told), told, vector) for told, vector in zip(kept, vectors, strict=True)]
        with self.database.writing() as connection:
            store(connection, entries, status, self.clock())
        return tuple(entry.qa_id for entry in entries)

    def validate(self, validation: Validation) -> Reply[None]:
        """404 for what the project does not see."""
        now = self.clock()
        with self.database.writing() as connection:
            number = _number(connection, validation.qa_id)
            if number is None or not sees(connection, validation.project_id, number):
                return Reply(404, None)
            row = connection.execute("SELECT stats, status, expires_at FROM item WHERE id = ?", (number,)).fetchone()
            before = Standing(msgspec.json.decode(row[0], type=Stats), Status(row[1]), row[2])
            after = validated(before, validation.result, validation.signal_strength, now)
            connection.execute(
                "UPDATE item SET stats = ?, status = ?, expires_at = ?, validated_at = ? WHERE id = ?",
                (msgspec.json.encode(after.stats).decode(), after.status, after.expires_at, now, number),
            )
            remember(connection, now, "validate", validation.qa_id, validation)
        return Reply(200, None)

    def expire(self, batch_size: int = 200) -> int:
        """Sweep: what was active becomes stale, what was not is deprecated. Gives how many it touched."""
        now = self.clock()
        with self.database.writing() as connection:
            rows = connection.execute(
                "SELECT id, qa_id, status FROM item WHERE expires_at <= ? AND status <> ? ORDER BY expires_at LIMIT ?",
                (now, Status.FROZEN, min(batch_size, MOST_AT_ONCE)),
            ).fetchall()
            for number, qa_id, status in rows:
                after, expires_at = expired(Status(status), now)
                connection.execute(
                    "UPDATE item SET status = ?, expires_at = ? WHERE id = ?", (after, expires_at, number)
                )
                remember(connection, now, "expire", qa_id, {"status": after})
        return len(rows)

    def get(self, qa_id: str, project_id: str | None = None) -> Item | None:
        """With a project: only if that sees it."""
        with self.database.reading() as connection:
            row = connection.execute(f"SELECT {COLUMNS} FROM item WHERE qa_id = ?", (qa_id,)).fetchone()  # noqa: S608
            if row is None or (project_id is not None and not sees(connection, project_id, row[0])):
                return None
        return item_of(row)

    def close(self) -> None:
        self.database.close()

    def _catch_up(self, projects: Sequence[Project]) -> None:
        """Vectors for what was stored while the extra was not installed."""
        assert self._embedding is not None
        for project in projects:
            with self.database.reading() as connection:
                rows = missing(connection, project)
            vectors = encoded(self._embedding, [text for _, text in rows])
            with self.database.writing() as connection:
                keep(
                    connection, project, [(number, *vector) for (number, _), vector in zip(rows, vectors, strict=True)]
                )

    def _answer(
        self,
        connection: sqlite3.Connection,
        projects: Sequence[Project],
        words: Sequence[str],
        wide: int,
        query: Query,
    ) -> Reply[tuple[Match, ...]]:
        found = self._finder.find(connection, projects, words, wide)
        fitting = [one for one, how in found.items() if how.relevance >= SLIGHTEST]
        best = sorted(fitting, key=lambda one: -found[one].relevance)[:wide]
        now = self.clock()
        seen = [_Seen.of(row, found[row[0]], now) for row in _rows(connection, best)]
        names = {project.number: project.name for project in projects}
        chosen = ranked(seen, query.limit, query.min_score)
        return Reply(200, tuple(one.match(names) for one in chosen))


class _Seen(msgspec.Struct, frozen=True):
    """A row as far as its rank needs it; a search looks at more of these than it gives."""

    row: tuple[Any, ...]
    found: Found
    score: float
    trust: float
    freshness: float
    validation_level: int

    @classmethod
    def of(cls, row: tuple[Any, ...], found: Found, now: int) -> "_Seen":
        fresh = freshness(max(row[13], row[14] or 0, row[15] or 0), now)
        known = worth(row[12])
        how_far = faded(known.trust, row[11])
        return cls(row, found, score(found.relevance, how_far, fresh, known.level), how_far, fresh, known.level)

    @property
    def question(self) -> str:
        return str(self.row[3])

    @property
    def answer(self) -> str:
        return str(self.row[4])

    @property
    def status(self) -> str:
        return str(self.row[11])

    def match(self, projects: dict[int, str]) -> Match:
        _, qa_id, project, question, answer, summary, tags, metadata, source, confidence, expires_at, status = self.row[
            :12
        ]
        return Match(
            qa_id=qa_id,
            project_id=projects[project],
            question=question,
            answer=answer,
            score=self.score,
            relevance=self.found.relevance,
            trust=self.trust,
            freshness=self.freshness,
            validation_level=self.validation_level,
            level=f"L{self.validation_level}",
            status=status,
            summary=summary,
            tags=tuple(msgspec.json.decode(tags)),
            metadata={**msgspec.json.decode(metadata), "stats": worth(self.row[12]).stats},
            expiry_at=moment(expires_at),
            source=source,
            confidence=confidence,
            why={
                "words": self.found.words,
                "vector": self.found.vector,
                "trust": 0.30 * self.trust,
                "freshness": 0.15 * self.freshness,
            },
        )


def _number(connection: sqlite3.Connection, qa_id: str) -> int | None:
    row = connection.execute("SELECT id FROM item WHERE qa_id = ?", (qa_id,)).fetchone()
    return int(row[0]) if row else None


def _rows(connection: sqlite3.Connection, numbers: list[int]) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT id, qa_id, project, question, answer, summary, tags, metadata, source, confidence, expires_at, status, stats, "  # noqa: S608
        f"created_at, validated_at, used_at FROM item WHERE id IN ({','.join('?' * len(numbers))})",
        numbers,
    ).fetchall()
