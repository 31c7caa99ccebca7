"""Searching 100,000 items against plain FTS5 on the same words, and against one numpy multiplication more with vectors;
adding 10,000 items against the same rows and words written straight into SQLite."""

import itertools
import pathlib
import random
import sqlite3
import tempfile
from collections.abc import Callable

from benchmarks.figure import Figure, at_least, at_most, medians
from signoff.memory.embedded import Embedded
from signoff.memory.embedding import load
from signoff.memory.interface import Candidate, Query
from signoff.memory.item import identity, row_of
from signoff.memory.storing import index_text
from signoff.memory.trust import Status
from signoff.memory.words import wanted

ITEMS, ADDED = 100_000, 10_000
VOCABULARY = [first + second + third for first, second, third in itertools.product(
    ("ba", "ce", "di", "fo", "gu", "ha", "ki", "lo", "mu", "ne", "pa", "ri", "so", "tu", "ve"),
    ("bal", "cor", "dim", "fen", "gos", "har", "kip", "lun", "mer", "nop", "pid", "ros", "sul", "tem", "vax"),
    ("a", "eth", "ion", "or", "um", "ix", "ard", "ent", "ile", "oc", "yst", "ath", "ule", "ek", "own", "urn"),
)]  # fmt: skip
WEIGHTS = list(itertools.accumulate(1 / rank for rank in range(1, len(VOCABULARY) + 1)))


def candidates(count: int, seed: int) -> list[Candidate]:
    chance = random.Random(seed)

    def words(number: int) -> str:
        return " ".join(chance.choices(VOCABULARY, cum_weights=WEIGHTS, k=number))

    return [Candidate("p", f"{number} {words(4)}", words(8)) for number in range(count)]


def questions() -> list[str]:
    """Three words each, from everyday to rare; the most common hundred are what a list of stop words would hold."""
    chance = random.Random(7)
    weights = [1 / rank for rank in range(101, len(VOCABULARY) + 1)]
    return [" ".join(chance.choices(VOCABULARY[100:], weights, k=3)) for _ in range(40)]


def searching(memory: Embedded, asked: list[str]) -> Callable[[], None]:
    def search() -> None:
        for question in asked:
            memory.search(Query("p", question, 10))

    return search


def plain(connection: sqlite3.Connection, asked: list[str]) -> Callable[[], None]:
    matching = [" OR ".join(f'"{word}"' for word in wanted(question)) for question in asked]

    def search() -> None:
        for words in matching:
            connection.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10", (words,)
            ).fetchall()

    return search


def straight(path: pathlib.Path, told: list[Candidate]) -> None:
    """The same rows and the same words, without asking whether they hold a secret."""
    memory = Embedded(path)
    with memory.database.writing() as connection:
        connection.execute("INSERT INTO project (name) VALUES ('p')")
        rows = [row_of(number, 1, identity(entry), entry, Status.CANDIDATE, 0) for number, entry in enumerate(told)]
        connection.executemany(f"INSERT INTO item VALUES ({','.join('?' * len(rows[0]))})", rows)
        words = ((number, *index_text(entry)) for number, entry in enumerate(told))
        connection.executemany("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)", words)
    memory.close()


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        place = pathlib.Path(directory)
        return [*search_figures(place), *add_figures(place)]


def search_figures(place: pathlib.Path) -> list[Figure]:
    embedding = load()
    memory = Embedded(place / "memory.db", embedding=embedding)
    memory.add(candidates(ITEMS, 1))
    words = Embedded(place / "memory.db")
    asked = questions()
    arms = {"words": searching(words, asked), "plain": plain(sqlite3.connect(place / "memory.db"), asked)}
    if embedding is not None:
        numpy = embedding.numpy
        matrix = numpy.random.default_rng(1).standard_normal((ITEMS, 256), dtype=numpy.float32)
        arms |= {
            "meaning": searching(memory, asked),
            "product": lambda: [matrix @ matrix[number] for number in range(len(asked))],
        }
    seconds = medians(arms, rounds=3)
    ratio = seconds["words"] / seconds["plain"]
    figures = [at_most("memory search, 100,000 items", ratio, 1.5, reference="plain FTS5, same words")]
    if embedding is not None:
        more = (seconds["meaning"] - seconds["words"]) / seconds["product"]
        figures.append(
            at_most("memory search, more for meaning", more, 2, reference="numpy dot product, 100,000 × 256")
        )
    return figures


def add_figures(place: pathlib.Path) -> list[Figure]:
    told = candidates(ADDED, 2)
    number = itertools.count()

    def ours() -> None:
        memory = Embedded(place / f"ours-{next(number)}.db")
        memory.add(told)
        memory.close()

    seconds = medians(
        {"ours": ours, "straight": lambda: straight(place / f"straight-{next(number)}.db", told)}, rounds=3
    )
    ratio = seconds["straight"] / seconds["ours"]
    return [at_least("memory, adding 10,000 items", ratio, 0.2, reference="the same rows straight into SQLite")]
