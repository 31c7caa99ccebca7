"""From a question to what is relevant in the projects it may see: words, meaning where there is a model, neighbours."""

import sqlite3
from collections.abc import Sequence

from signoff.memory import retrieval
from signoff.memory.embedding import Embedding
from signoff.memory.projects import Project
from signoff.memory.retrieval import Found, Words
from signoff.memory.vectors import Directions, soft_matches


class Finder:
    """Holds the vectors of the projects it has searched; whoever uses it takes care that one thread does at a time."""

    def __init__(self, embedding: Embedding | None) -> None:
        self._embedding = embedding
        self._directions: dict[int, Directions] = {}

    def find(
        self, connection: sqlite3.Connection, projects: Sequence[Project], words: Sequence[str], wanted: int
    ) -> dict[int, Found]:
        """What may be worth showing, by row id; `wanted` items of each project where nothing can move them up."""
        found: dict[int, Found] = {}
        for project in projects:
            found |= self._in_project(connection, project, words, wanted)
        return found

    def _in_project(
        self, connection: sqlite3.Connection, project: Project, words: Sequence[str], wanted: int
    ) -> dict[int, Found]:
        social = project.threaded or project.authored
        pool = retrieval.POOL if social or self._embedding is not None else wanted
        lexical = retrieval.lexical(connection, project, words, pool)
        vectors, soft = self._meant(connection, project, lexical)
        blended = retrieval.blend(lexical, vectors, soft)
        if not blended:
            return {}
        if social:
            blended = retrieval.neighbourly(connection, blended, words)
        nearest = max(vectors.values(), default=0.0)
        certainty = max(
            retrieval.coverage(connection, lexical), max(soft.values(), default=0.0), retrieval.MEANING * nearest
        )
        return retrieval.scaled(blended, certainty)

    def _meant(
        self, connection: sqlite3.Connection, project: Project, lexical: Words
    ) -> tuple[dict[int, float], dict[int, float]]:
        embedding = self._embedding
        clues = retrieval.clues(lexical.weights)
        if embedding is None or not clues:
            return {}, {}
        directions = self._directions.setdefault(project.number, Directions(embedding))
        directions.refresh(connection, project)
        words = embedding.words(list(clues))
        weights = embedding.numpy.array(list(clues.values()), dtype=embedding.numpy.float32)
        direction = embedding.unit(weights @ words)
        vectors = directions.nearest(direction, retrieval.POOL) | directions.cosines(direction, list(lexical.scores))
        return vectors, soft_matches(embedding, connection, clues, words, list(vectors))
