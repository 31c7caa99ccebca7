"""Find what fits a question: words first, meaning where the extra is installed, neighbours in a story, the author named.

No question ranks more than `BOUND` items a project, however common its words are: words are taken rarest first as long
as their items fit, and if the rarest alone does not, only its newest items are looked at.
"""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from signoff.memory.projects import Project
from signoff.memory.words import STOP, wanted

BOUND = 5_000
POOL = 64  # the best of those go on
NEAR = (0.5, 0.25)  # what one and two places away in the same thread lends
REPLY = 0.15  # what it lends more to what follows, if it asks something: an answer often names nothing itself
AUTHOR = 0.25  # what it is worth to be by whom the question names
MEANING, SOFT = 0.5, 1.0  # what the vector and the near words are worth beside the exact words
TITLE = 2.0  # a word in the question counts as two in the answer
COMMON = 1.5  # words with less information than this (natural logarithm) are no clue to the meaning


class Found(msgspec.Struct):
    """Shares of the relevance of one item; `words` and `vector` say why."""

    relevance: float
    words: float = 0.0
    vector: float = 0.0


class Words(msgspec.Struct, frozen=True):
    """What the words of a question are worth, and what they found."""

    weights: dict[str, float]
    scores: dict[int, float]  # the best first


def lexical(connection: sqlite3.Connection, project: Project, words: Sequence[str], pool: int = POOL) -> Words:
    """BM25 of the best items of a project."""
    if not words:
        return Words({}, {})
    counts = dict(zip(words, _counts(connection, project, words), strict=True))
    known = sorted((word for word in words if counts[word]), key=lambda word: counts[word])
    weights = {word: math.log(1 + (project.size + 10) / (count + 1)) for word, count in counts.items()}
    chosen: list[str] = []
    total = 0
    for word in known:
        total += counts[word]
        if chosen and total > BOUND:
            break
        chosen.append(word)
    if not chosen:
        return Words(weights, {})
    first = _newest(connection, project, chosen[0]) if counts[chosen[0]] > BOUND else project.first
    rows = connection.execute(
        f"SELECT rowid, bm25(words, {TITLE}, 1.0) AS worth FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? "  # noqa: S608
        "ORDER BY worth LIMIT ?",
        (_matching(chosen), first, project.last, pool),
    )
    return Words(weights, {number: max(-worth, 1e-6) for number, worth in rows})


def _counts(connection: sqlite3.Connection, project: Project, words: Sequence[str]) -> tuple[int, ...]:
    """How many items have each word; counting stops beyond the bound."""
    one = "(SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?))"
    asked = [value for word in words for value in (_matching((word,)), project.first, project.last, BOUND + 1)]
    return tuple(connection.execute(f"SELECT {','.join([one] * len(words))}", asked).fetchone())


def _newest(connection: sqlite3.Connection, project: Project, word: str) -> int:
    """Where the newest `BOUND` items with the word begin."""
    row = connection.execute(
        "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
        (_matching((word,)), project.first, project.last, BOUND - 1),
    ).fetchone()
    return int(row[0]) if row else project.first


def _matching(words: Sequence[str]) -> str:
    return '"' + '" OR "'.join(words) + '"'


def coverage(connection: sqlite3.Connection, found: Words) -> float:
    """How much of what the question asks the best item has, from 0 to 1; BM25 alone says little in a small memory."""
    if not found.scores:
        return 0.0
    best = next(iter(found.scores))
    one = "EXISTS (SELECT 1 FROM words WHERE words MATCH ? AND rowid = ?)"
    asked = [value for word in found.weights for value in (_matching((word,)), best)]
    has = connection.execute(f"SELECT {','.join([one] * len(found.weights))}", asked).fetchone()
    total = sum(found.weights.values())
    return sum(weight for weight, there in zip(found.weights.values(), has, strict=True) if there) / total


def blend(found: Words, vectors: Mapping[int, float], soft: Mapping[int, float]) -> dict[int, Found]:
    """Words, meaning and near words in one number; the best words alone are worth 1."""
    scale = next(iter(found.scores.values()), 1.0)
    if not vectors and not soft:
        return {number: Found(score / scale, score / scale) for number, score in found.scores.items()}
    blended: dict[int, Found] = {}
    for number in {*found.scores, *vectors, *soft}:
        words = found.scores.get(number, 0.0) / scale
        vector = MEANING * max(0.0, vectors.get(number, 0.0)) + SOFT * soft.get(number, 0.0)
        blended[number] = Found(words + vector, words, vector)
    return blended


def neighbourly(connection: sqlite3.Connection, blended: dict[int, Found], question: Sequence[str]) -> dict[int, Found]:
    """Lend to what stands beside a find in its thread, and prefer what the person named in the question said."""
    authors, threaded = {}, []
    for number, author, thread in connection.execute(
        f"SELECT id, author, thread IS NOT NULL FROM item WHERE id IN ({','.join('?' * len(blended))})",  # noqa: S608
        list(blended),
    ):
        authors[number] = author
        if thread:
            threaded.append(number)
    result = {number: msgspec.structs.replace(found) for number, found in blended.items()}
    for near, author, here, distance, asks in _neighbours(connection, threaded):
        authors[near] = author
        lent = result.setdefault(near, Found(0.0))
        share = NEAR[abs(distance) - 1] + (REPLY if asks and distance == 1 else 0.0)
        lent.relevance += share * blended[here].relevance
        lent.words += share * blended[here].words
        lent.vector += share * blended[here].vector
    named = {author for author in set(authors.values()) if author and set(wanted(author)).intersection(question)}
    for number, found in result.items():
        if authors.get(number) in named:
            found.relevance += AUTHOR
            found.words += AUTHOR
    return result


def _neighbours(connection: sqlite3.Connection, numbers: list[int]) -> list[Any]:
    """What is up to two places away from these in the same thread: its id and author, of which, how far, whether that asks."""
    if not numbers:
        return []
    return connection.execute(
        "SELECT near.id, near.author, here.id, near.position - here.position AS distance, instr(here.answer, '?') "  # noqa: S608
        "FROM item here CROSS JOIN item near ON near.project = here.project AND near.thread = here.thread "
        "AND near.position BETWEEN here.position - 2 AND here.position + 2 AND near.thread IS NOT NULL "
        f"WHERE here.id IN ({','.join('?' * len(numbers))}) AND distance <> 0",
        numbers,
    ).fetchall()


def clues(weights: Mapping[str, float]) -> dict[str, float]:
    """The words that say what a question is about: those that not every item has."""
    return {word: weight for word, weight in weights.items() if weight >= COMMON and word not in STOP}


def scaled(found: dict[int, Found], certainty: float) -> dict[int, Found]:
    """The best gets `certainty`, from 0 to 1, and the others their share of it."""
    top = max((one.relevance for one in found.values()), default=0.0)
    if top <= 0:
        return {}
    factor = certainty / top
    return {
        number: Found(one.relevance * factor, one.words * factor, one.vector * factor) for number, one in found.items()
    }
