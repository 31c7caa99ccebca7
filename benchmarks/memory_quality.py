"""Does memory find what was said? LoCoMo: every turn of a conversation goes in, every question is asked, and the share of
its evidence among the first answers is counted. Against plain FTS5 over the same turns.

`make bench-memory DATA=FILE` measures another file of the same form; the data is not part of this repository.
"""

import datetime
import json
import os
import pathlib
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator

from benchmarks.figure import Figure, Unavailable, at_least
from signoff.memory.embedded import Embedded
from signoff.memory.embedding import Embedding, load
from signoff.memory.interface import Candidate, Query

DEFAULT = pathlib.Path(__file__).parents[2] / "shared" / "cases" / "memory" / "locomo_1_to_5.json"
DEPTH = 20  # as deep as a search goes

Search = Callable[[str], list[str]]


class Conversation:
    def __init__(self, number: int, data: dict) -> None:
        self.project = f"conversation-{number}"
        self.turns = list(turns(self.project, data["conversation"]))
        known = {turn.metadata["turn"] for turn in self.turns}
        self.questions: list[tuple[str, frozenset[str]]] = []
        for asked in data["qa"]:
            evidence = frozenset(re.findall(r"D\d+:\d+", " ".join(asked.get("evidence", [])))) & known
            if evidence:
                self.questions.append((asked["question"], evidence))


def turns(project: str, conversation: dict) -> Iterator[Candidate]:
    sessions = sorted((key for key in conversation if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
    for session in sessions:
        when = moment(conversation.get(f"{session}_date_time", ""))
        for position, turn in enumerate(conversation[session]):
            yield Candidate(
                project_id=project,
                question=turn["speaker"],
                answer=" ".join(part for part in (turn.get("text"), turn.get("blip_caption")) if part) or "(nothing)",
                author=turn["speaker"],
                thread=session,
                position=position,
                occurred_at=when,
                metadata={"turn": turn["dia_id"]},
            )


def moment(told: str) -> str | None:
    """`1:56 pm on 8 May, 2023`."""
    try:
        return datetime.datetime.strptime(told, "%I:%M %p on %d %B, %Y").replace(tzinfo=datetime.UTC).isoformat()
    except ValueError:
        return None


def plain(conversation: Conversation) -> Search:
    """FTS5 with its own stemmer and ranking, every word of the question, the speaker in the text."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE turns USING fts5(text, tokenize = 'porter unicode61')")
    names = [turn.metadata["turn"] for turn in conversation.turns]
    connection.executemany(
        "INSERT INTO turns (rowid, text) VALUES (?, ?)",
        enumerate(f"{turn.question}: {turn.answer}" for turn in conversation.turns),
    )

    def search(question: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        rows = connection.execute(
            "SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT ?", (words, DEPTH)
        ).fetchall()
        return [names[row[0]] for row in rows]

    return search


def ours(directory: str, embedding: Embedding | None) -> Callable[[Conversation], Search]:
    memory = Embedded(
        pathlib.Path(directory) / ("words.db" if embedding is None else "meaning.db"), embedding=embedding
    )

    def prepare(conversation: Conversation) -> Search:
        memory.add(conversation.turns)
        return lambda question: [
            match.metadata["turn"]
            for match in memory.search(Query(conversation.project, question, limit=DEPTH, min_score=0.0)).value
        ]

    return prepare


def evaluate(prepare: Callable[[Conversation], Search], conversations: list[Conversation]) -> dict[str, float]:
    sums = dict.fromkeys(("R@5", "R@10", "MRR"), 0.0)
    count = 0
    for conversation in conversations:
        search = prepare(conversation)
        for question, evidence in conversation.questions:
            found = search(question)
            first = next((place for place, name in enumerate(found, 1) if name in evidence), None)
            sums["R@5"] += len(evidence.intersection(found[:5])) / len(evidence)
            sums["R@10"] += len(evidence.intersection(found[:10])) / len(evidence)
            sums["MRR"] += 1 / first if first else 0.0
            count += 1
    return {"n": count, **{name: total / count for name, total in sums.items()}}


def measured() -> dict[str, dict[str, float]]:
    path = pathlib.Path(os.environ.get("DATA") or DEFAULT)
    if not path.is_file():
        raise Unavailable(f"there is no {path.name}")
    conversations = [Conversation(number, data) for number, data in enumerate(json.loads(path.read_text("utf-8")))]
    with tempfile.TemporaryDirectory() as directory:
        rows = {"plain FTS5": evaluate(plain, conversations), "words": evaluate(ours(directory, None), conversations)}
        embedding = load()
        if embedding is not None:
            rows["words and meaning"] = evaluate(ours(directory, embedding), conversations)
    return rows


def measure() -> list[Figure]:
    rows = measured()
    words = rows["words"]["R@5"]
    figures = [at_least("memory recall at 5, words", words, 0.62, reference="evidence turns, LoCoMo", unit="")]
    if "words and meaning" in rows:
        both = rows["words and meaning"]["R@5"]
        figures.append(at_least("memory recall at 5, words and meaning", both, 0.64, reference="the same", unit=""))
    return figures


if __name__ == "__main__":
    for name, row in measured().items():
        print(f"{name:18} n {row['n']:.0f}  R@5 {row['R@5']:.3f}  R@10 {row['R@10']:.3f}  MRR {row['MRR']:.3f}")
