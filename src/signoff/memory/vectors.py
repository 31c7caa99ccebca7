"""All directions of a project in memory, to compare with a question in one multiplication."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from signoff.memory.embedding import Embedding
from signoff.memory.words import wanted

_AT_ONCE = 5_000  # items that get their vectors in one search, if they have none yet
_REGROW = 1.1  # the centre is taken anew when there is a tenth more to take it from


def encoded(embedding: Embedding, texts: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """Tokens and direction of each text, as the table keeps them."""
    numpy = embedding.numpy
    pruned = [" ".join(wanted_in_order(text)) for text in texts]
    return [
        (
            numpy.array(tokens, dtype=numpy.uint16).tobytes(),
            embedding.mean(tokens).astype(numpy.float16).tobytes(),
        )
        for tokens in embedding.tokens(pruned)
    ]


def wanted_in_order(text: str) -> tuple[str, ...]:
    return wanted(text, most=256)


class Directions:
    """What is cached for one project: ids and their directions, seen from the middle of them all, because what all
    texts have in common distinguishes none of them."""

    def __init__(self, embedding: Embedding, first: int, last: int) -> None:
        self._embedding = embedding
        self._first, self._last = first, last
        self._generation = -1
        self._centred_at = 0
        self.ids: Any = embedding.numpy.zeros(0, embedding.numpy.int64)
        self._raw: Any = None
        self._centre: Any = None
        self._seen: Any = None

    def refresh(self, connection: sqlite3.Connection, generation: int) -> None:
        """Take in what is new; start over if something old was changed."""
        numpy = self._embedding.numpy
        if generation != self._generation:
            self._generation, self._raw, self.ids = generation, None, numpy.zeros(0, numpy.int64)
        after = int(self.ids[-1]) if len(self.ids) else self._first - 1
        rows = connection.execute(
            "SELECT id, mean FROM vector WHERE id > ? AND id <= ? ORDER BY id", (after, self._last)
        ).fetchall()
        if not rows:
            return
        added = numpy.frombuffer(b"".join(row[1] for row in rows), dtype=numpy.float16).reshape(len(rows), -1)
        added = added.astype(numpy.float32)
        self.ids = numpy.concatenate((self.ids, numpy.array([row[0] for row in rows], dtype=numpy.int64)))
        self._raw = added if self._raw is None else numpy.concatenate((self._raw, added))
        if (
            self._seen is None
            or len(self._raw) != len(self._seen) + len(added)
            or len(self.ids) > self._centred_at * _REGROW
        ):
            self._centre, self._centred_at = self._raw.mean(axis=0), len(self.ids)
            self._seen = self._embedding.unit(self._raw - self._centre)
        else:
            self._seen = numpy.concatenate((self._seen, self._embedding.unit(added - self._centre)))

    def nearest(self, direction: Any, limit: int) -> dict[int, float]:
        """The ids nearest to a direction, with the cosine of the angle between them."""
        if self._seen is None or not len(self.ids):
            return {}
        numpy = self._embedding.numpy
        cosines = self._seen @ direction
        best = numpy.argpartition(cosines, -limit)[-limit:] if len(cosines) > limit else range(len(cosines))
        return {int(self.ids[place]): float(cosines[place]) for place in best}

    def cosines(self, direction: Any, ids: Sequence[int]) -> dict[int, float]:
        """Of these ids alone."""
        if self._seen is None or not ids:
            return {}
        numpy = self._embedding.numpy
        wanted_ids = numpy.array(sorted(ids), dtype=numpy.int64)
        places = numpy.searchsorted(self.ids, wanted_ids)
        places = places[places < len(self.ids)]
        found = self.ids[places]
        cosines = self._seen[places] @ direction
        known = set(ids)
        return {int(one): float(cosine) for one, cosine in zip(found, cosines, strict=True) if int(one) in known}


def missing(connection: sqlite3.Connection, first: int, last: int) -> list[tuple[int, str]]:
    """Items of a project that have no vector yet, as id and text."""
    return connection.execute(
        "SELECT id, question || ' ' || coalesce(summary, '') || ' ' || answer FROM item "
        "WHERE id BETWEEN ? AND ? AND id NOT IN (SELECT id FROM vector WHERE id BETWEEN ? AND ?) LIMIT ?",
        (first, last, first, last, _AT_ONCE),
    ).fetchall()


def soft_matches(
    embedding: Embedding, connection: sqlite3.Connection, weights: dict[str, float], ids: Sequence[int]
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
    near = embedding.each(tokens) @ embedding.words(list(weights)).T
    best = numpy.maximum.reduceat(near, starts, axis=0)
    weight = numpy.array(list(weights.values()), dtype=numpy.float32)
    share = numpy.maximum(best - _NEAR, 0) @ weight / ((1 - _NEAR) * weight.sum())
    return {row[0]: float(value) for row, value in zip(rows, share, strict=True)}


_NEAR = 0.3  # below this cosine two words have nothing to do with each other
