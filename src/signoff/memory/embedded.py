"""The memory in a file of the user: the same interface as a service, without one."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from signoff.domain.errors import MemoryBadRequest
from signoff.memory import retrieval
from signoff.memory.admission import admitted
from signoff.memory.database import Database
from signoff.memory.embedding import Embedding
from signoff.memory.interface import Candidate, Match, Query, Reference, Reply, Validation
from signoff.memory.item import COLUMNS, SEQUENCE_BITS, Item, identity, item_of, moment, row_of
from signoff.memory.rank import faded, freshness, ranked, score
from signoff.memory.retrieval import Found, Span
from signoff.memory.trust import Standing, Stats, Status, expired, level, trust, validated
from signoff.memory.vectors import Directions, encoded, missing, soft_matches
from signoff.memory.words import dated, indexed, wanted

GLOBAL = "global"  # the project everybody sees
MOST_AT_ONCE = 1_000  # items one sweep expires
Clock = Callable[[], int]


def _now() -> int:
    return time.time_ns() // 1_000_000


class Embedded:
    """`embedding` is None where there is none, or none is wanted. `clock` gives milliseconds since 1970."""

    def __init__(self, path: Path, *, embedding: Embedding | None = None, clock: Clock = _now) -> None:
        self.database = Database(path)
        self._embedding = embedding
        self.clock = clock
        self._directions: dict[int, Directions] = {}

    def search(self, query: Query) -> Reply[tuple[Match, ...]]:
        words = wanted(query.query)
        with self.database.reading() as connection:
            spans = visible(connection, query.project_id)
        if self._embedding is not None:
            self._catch_up(spans)
        with self.database.reading() as connection:
            found: dict[int, Found] = {}
            for number, span in spans.items():
                found |= self._found(connection, number, span, words)
            best = sorted(found, key=lambda one: -found[one].relevance)[: query.limit * 2 + 2]
            rows = _rows(connection, best)
        now = self.clock()
        matches = (_match(row, found[row[0]], now) for row in rows)
        return Reply(200, ranked(matches, query.limit, query.min_score))

    def hit(self, project_id: str, references: tuple[Reference, ...]) -> Reply[None]:
        now = self.clock()
        with self.database.writing() as connection:
            for one in references:
                connection.execute(
                    "UPDATE item SET shown = shown + ?, used = used + ?, used_at = iif(?, ?, used_at) WHERE qa_id = ?",
                    (one.shown, one.used, one.used, now, one.qa_id),
                )
                remember(connection, now, "hit", one.qa_id, one)
        return Reply(200, None)

    def candidate(self, candidate: Candidate) -> Reply[str]:
        return Reply(202, self.add((candidate,))[0])

    def add(self, candidates: Iterable[Candidate], status: Status = Status.CANDIDATE) -> tuple[str, ...]:
        """Remember all of them or, if one is refused, none. What is known already keeps its story."""
        entries = [admitted(candidate) for candidate in candidates]
        now = self.clock()
        vectors = encoded(self._embedding, [meant(entry) for entry in entries]) if self._embedding else []
        with self.database.writing() as connection:
            projects = {name: project_number(connection, name) for name in {entry.project_id for entry in entries}}
            numbers = [_insert(connection, projects[entry.project_id], entry, status, now) for entry in entries]
            if vectors:
                connection.executemany(
                    "INSERT INTO vector (id, tokens, mean) VALUES (?, ?, ?)",
                    ((number, *vector) for number, vector in zip(numbers, vectors, strict=True) if number is not None),
                )
        return tuple(identity(entry) for entry in entries)

    def validate(self, validation: Validation) -> Reply[None]:
        now = self.clock()
        with self.database.writing() as connection:
            row = connection.execute(
                "SELECT stats, status, expires_at FROM item WHERE qa_id = ?", (validation.qa_id,)
            ).fetchone()
            if row is None:
                return Reply(404, None)
            before = Standing(msgspec.json.decode(row[0], type=Stats), Status(row[1]), row[2])
            after = validated(before, validation.result, validation.signal_strength, now)
            connection.execute(
                "UPDATE item SET stats = ?, status = ?, expires_at = ?, validated_at = ? WHERE qa_id = ?",
                (msgspec.json.encode(after.stats).decode(), after.status, after.expires_at, now, validation.qa_id),
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

    def get(self, qa_id: str) -> Item | None:
        with self.database.reading() as connection:
            row = connection.execute(f"SELECT {COLUMNS} FROM item WHERE qa_id = ?", (qa_id,)).fetchone()  # noqa: S608
        return item_of(row) if row else None

    def close(self) -> None:
        self.database.close()

    def _catch_up(self, spans: dict[int, Span]) -> None:
        """Vectors for what was stored while the extra was not installed."""
        assert self._embedding is not None
        for span in spans.values():
            with self.database.reading() as connection:
                (known,) = (
                    connection.execute(
                        "SELECT count(*) FROM vector WHERE id BETWEEN ? AND ?", (span.first, span.last)
                    ).fetchone()
                    if span.size <= 1_000
                    else (span.size,)
                )
                rows = missing(connection, span.first, span.last) if known < span.size else []
            if rows:
                vectors = encoded(self._embedding, [text for _, text in rows])
                with self.database.writing() as connection:
                    connection.executemany(
                        "INSERT OR IGNORE INTO vector (id, tokens, mean) SELECT id, ?, ? FROM item WHERE id = ?",
                        ((*vector, number) for (number, _), vector in zip(rows, vectors, strict=True)),
                    )

    def _found(
        self, connection: sqlite3.Connection, project: int, span: Span, words: Sequence[str]
    ) -> dict[int, Found]:
        lexical = retrieval.lexical(connection, span, words)
        clues = retrieval.clues(lexical.weights)
        vectors: dict[int, float] = {}
        soft: dict[int, float] = {}
        if self._embedding is not None and clues:
            vectors, soft = self._meant(connection, project, span, clues, list(lexical.scores))
        best = max(lexical.scores.values(), default=0.0)
        blended = retrieval.blend(lexical, vectors, soft, best)
        if not blended:
            return {}
        certainty = max(retrieval.coverage(connection, lexical), max(soft.values(), default=0.0))
        return retrieval.scaled(retrieval.neighbourly(connection, blended, words), certainty)

    def _meant(
        self, connection: sqlite3.Connection, project: int, span: Span, clues: dict[str, float], found: list[int]
    ) -> tuple[dict[int, float], dict[int, float]]:
        embedding = self._embedding
        assert embedding is not None
        directions = self._directions.setdefault(project, Directions(embedding, span.first, span.last))
        (generation,) = connection.execute("SELECT generation FROM project WHERE number = ?", (project,)).fetchone()
        directions.refresh(connection, generation)
        weights = embedding.numpy.array(list(clues.values()), dtype=embedding.numpy.float32)
        direction = embedding.unit(weights @ embedding.words(list(clues)))
        vectors = directions.nearest(direction, retrieval.POOL) | directions.cosines(direction, found)
        return vectors, soft_matches(embedding, connection, clues, list(vectors))


def _insert(connection: sqlite3.Connection, project: int, entry: Candidate, status: Status, now: int) -> int | None:
    """The id of the new item; None if it was known."""
    (number,) = connection.execute(
        "UPDATE project SET next = next + 1 WHERE number = ? RETURNING (number << ?) | (next - 1)",
        (project, SEQUENCE_BITS),
    ).fetchone()
    row = row_of(number, project, entry, status, now)
    done = connection.execute(
        f"INSERT INTO item VALUES ({','.join('?' * len(row))}) ON CONFLICT (qa_id) DO NOTHING",  # noqa: S608
        row,
    )
    if done.rowcount == 0:
        return None
    connection.execute("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)", (number, *index_text(entry)))
    return int(number)


def visible(connection: sqlite3.Connection, project_id: str) -> dict[int, Span]:
    """The projects whose items a project sees: its own, the global one, and those shared with it."""
    rows = connection.execute(
        "SELECT number, next - 1 FROM project WHERE name IN (?, ?) OR number IN "
        "(SELECT owner FROM sharing JOIN project ON reader = number WHERE name = ?)",
        (project_id, GLOBAL, project_id),
    )
    return {
        number: Span(number << SEQUENCE_BITS, ((number + 1) << SEQUENCE_BITS) - 1, size)
        for number, size in rows
        if size
    }


def project_number(connection: sqlite3.Connection, name: str) -> int:
    if not name or len(name) > 200:
        raise MemoryBadRequest("a project id has 1 to 200 characters")
    connection.execute("INSERT INTO project (name) VALUES (?) ON CONFLICT DO NOTHING", (name,))
    (number,) = connection.execute("SELECT number FROM project WHERE name = ?", (name,)).fetchone()
    return int(number)


def index_text(entry: Candidate) -> tuple[str, str]:
    title = " ".join(part for part in (entry.question, entry.summary, *entry.tags, dated(entry.occurred_at)) if part)
    return indexed(title), indexed(entry.answer)


def meant(entry: Candidate) -> str:
    """The text that carries the meaning."""
    return f"{entry.question} {entry.summary or ''} {entry.answer}"


def remember(connection: sqlite3.Connection, now: int, kind: str, qa_id: str, data: object) -> None:
    connection.execute(
        "INSERT INTO history (moment, kind, qa_id, data) VALUES (?, ?, ?, ?)",
        (now, kind, qa_id, msgspec.json.encode(data).decode()),
    )


def _rows(connection: sqlite3.Connection, numbers: list[int]) -> list[tuple[Any, ...]]:
    marks = ",".join("?" * len(numbers))
    return connection.execute(f"SELECT {COLUMNS} FROM item WHERE id IN ({marks})", numbers).fetchall()  # noqa: S608


def _match(row: tuple[Any, ...], found: Found, now: int) -> Match:
    """Straight from the row: a search makes more of these than it gives."""
    stats = msgspec.json.decode(row[17], type=Stats)
    fresh = freshness(max(touched for touched in row[18:21] if touched is not None), now)
    how_far, how_well = faded(trust(stats), row[16]), level(stats)
    return Match(
        qa_id=row[1],
        project_id=row[2],
        question=row[3],
        answer=row[4],
        score=score(found.relevance, how_far, fresh, how_well),
        relevance=found.relevance,
        trust=how_far,
        freshness=fresh,
        validation_level=how_well,
        level=f"L{how_well}",
        status=row[16],
        summary=row[5],
        tags=tuple(msgspec.json.decode(row[6])),
        metadata={**msgspec.json.decode(row[7]), "stats": msgspec.to_builtins(stats)},
        expiry_at=moment(row[21]),
        source=row[8],
        confidence=row[10],
        why={"words": found.words, "vector": found.vector, "trust": 0.30 * how_far, "freshness": 0.15 * fresh},
    )
