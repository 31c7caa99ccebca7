"""All directions of a project in memory, to compare with a question in one multiplication.

Directions are seen from the middle of them all, because what all texts have in common distinguishes none of them. They are
kept as 16-bit floats; the first numbers of each, which say most (the model was made so that they do), are kept ready for
one multiplication over all items, and only the best of those are compared in full.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from signoff.memory.embedding import Embedding
from signoff.memory.projects import SEQUENCE_BITS, Project
from signoff.memory.words import wanted

_AT_ONCE = 5_000  # items that get their vectors in one search, if they have none yet
_REGROW = 1.1  # the centre is taken anew when there is a tenth more to take it from
_FIRST = 64  # numbers of a direction that are compared with every question
_SECOND = 8  # times as many as wanted are compared in full where not all are
_NEAR = 0.3  # below this cosine two words have nothing to do with each other


def encoded(embedding: Embedding, texts: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """Tokens and direction of each text, as the table keeps them."""
    numpy = embedding.numpy
    tokens = embedding.tokens([" ".join(wanted(text, most=256)) for text in texts])
    means = embedding.means(tokens).astype(numpy.float16)
    return [
        (numpy.array(numbers, dtype=numpy.uint16).tobytes(), mean.tobytes())
        for numbers, mean in zip(tokens, means, strict=True)
    ]


class Directions:
    """What is held of one project. Arrays are longer than what is in them, so that adding does not copy them."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._generation = -1
        self._centred_at = 0
        self._size = 0
        self._ids: Any = None
        self._raw: Any = None
        self._centre: Any = None
        self._short: Any = None  # one by the distance of each from the centre
        self._seen: Any = None  # the first numbers of each, seen from the centre

    def refresh(self, connection: sqlite3.Connection, project: Project) -> None:
        """Take in what is new; start over if something old was changed."""
        if project.generation != self._generation:
            self._generation, self._size, self._centred_at = project.generation, 0, 0
        after = int(self._ids[self._size - 1]) if self._size else project.first - 1
        rows = connection.execute(
            "SELECT id, mean FROM vector WHERE id > ? AND id <= ? ORDER BY id", (after, project.last)
        ).fetchall()
        if not rows:
            return
        numpy, start = self._embedding.numpy, self._size
        added = numpy.frombuffer(b"".join(row[1] for row in rows), dtype=numpy.float16).reshape(len(rows), -1)
        self._size += len(rows)
        if self._ids is None or self._size > len(self._ids):
            self._grow(max(1_024, self._size * 5 // 4), added.shape[1])
        self._ids[start : self._size] = [row[0] for row in rows]
        self._raw[start : self._size] = added
        if self._size > self._centred_at * _REGROW:
            self._centre = self._raw[: self._size].mean(axis=0, dtype=numpy.float32)
            self._centred_at, start = self._size, 0
        self._see(start)

    def nearest(self, direction: Any, limit: int) -> dict[int, float]:
        """The ids nearest to a direction, with the cosine of the angle between them."""
        if not self._size:
            return {}
        numpy = self._embedding.numpy
        if self._size <= limit * _SECOND:
            places = numpy.arange(self._size)
        else:
            near = self._seen[: self._size] @ direction[:_FIRST]
            places = numpy.argpartition(near, -limit * _SECOND)[-limit * _SECOND :]
        cosines = self._cosines(direction, places)
        if len(places) > limit:
            best = numpy.argpartition(cosines, -limit)[-limit:]
            places, cosines = places[best], cosines[best]
        return dict(zip(self._ids[places].tolist(), cosines.tolist(), strict=True))

    def cosines(self, direction: Any, ids: Sequence[int]) -> dict[int, float]:
        """Of these ids alone."""
        if not self._size or not ids:
            return {}
        numpy = self._embedding.numpy
        asked = numpy.array(ids, dtype=numpy.int64)
        places = numpy.minimum(numpy.searchsorted(self._ids[: self._size], asked), self._size - 1)
        known = self._ids[places] == asked
        return dict(zip(asked[known].tolist(), self._cosines(direction, places[known]).tolist(), strict=True))

    def _cosines(self, direction: Any, places: Any) -> Any:
        from_centre = self._raw[places].astype(self._embedding.numpy.float32) - self._centre
        return (from_centre @ direction) * self._short[places]

    def _grow(self, room: int, width: int) -> None:
        numpy = self._embedding.numpy
        for name, shape, kind in (
            ("_ids", (room,), numpy.int64),
            ("_raw", (room, width), numpy.float16),
            ("_short", (room,), numpy.float32),
            ("_seen", (room, min(_FIRST, width)), numpy.float32),
        ):
            before, after = getattr(self, name), numpy.zeros(shape, kind)
            if before is not None:
                after[: len(before)] = before
            setattr(self, name, after)

    def _see(self, start: int) -> None:
        numpy = self._embedding.numpy
        for first in range(start, self._size, _AT_ONCE):
            part = slice(first, min(first + _AT_ONCE, self._size))
            from_centre = self._raw[part].astype(numpy.float32) - self._centre
            self._short[part] = 1 / (numpy.linalg.norm(from_centre, axis=1) + 1e-9)
            self._seen[part] = from_centre[:, :_FIRST] * self._short[part, None]


def missing(connection: sqlite3.Connection, project: Project) -> list[tuple[int, str]]:
    """The first items of a project that have no vector yet, as id and text."""
    return connection.execute(
        "SELECT id, question || ' ' || coalesce(summary, '') || ' ' || answer FROM item "
        "WHERE id > ? AND id <= ? AND NOT EXISTS (SELECT 1 FROM vector WHERE vector.id = item.id) ORDER BY id LIMIT ?",
        (project.first + project.encoded, project.last, _AT_ONCE),
    ).fetchall()


def keep(connection: sqlite3.Connection, project: Project, rows: Sequence[tuple[int, bytes, bytes]]) -> None:
    """Store vectors that were missing. With fewer than were asked for there is none missing any more."""
    connection.executemany(
        "INSERT OR IGNORE INTO vector (id, tokens, mean) SELECT id, ?, ? FROM item WHERE id = ?",
        [(tokens, mean, number) for number, tokens, mean in rows],
    )
    done = rows[-1][0] if len(rows) == _AT_ONCE else project.first + project.size
    connection.execute(
        "UPDATE project SET encoded = max(encoded, ?) WHERE number = ? AND generation = ?",
        (done & ((1 << SEQUENCE_BITS) - 1), project.number, project.generation),
    )


def soft_matches(
    embedding: Embedding, connection: sqlite3.Connection, weights: dict[str, float], words: Any, ids: Sequence[int]
) -> dict[int, float]:
    """How well each text has, for each word of the question, some word near to it; from 0 to 1."""
    rows = connection.execute(
        f"SELECT id, tokens FROM vector WHERE id IN ({','.join('?' * len(ids))}) AND length(tokens) > 0",  # noqa: S608
        list(ids),
    ).fetchall()
    if not rows or not weights:
        return {}
    numpy = embedding.numpy
    starts = numpy.cumsum([0, *(len(row[1]) // 2 for row in rows)])[:-1]
    tokens = numpy.frombuffer(b"".join(row[1] for row in rows), dtype=numpy.uint16)
    different, places = numpy.unique(tokens, return_inverse=True)
    near = words @ embedding.each(different).T
    best = numpy.maximum.reduceat(near[:, places], starts, axis=1)
    weight = numpy.array(list(weights.values()), dtype=numpy.float32)
    share = weight @ numpy.maximum(best - _NEAR, 0) / ((1 - _NEAR) * weight.sum())
    return dict(zip((row[0] for row in rows), share.tolist(), strict=True))
