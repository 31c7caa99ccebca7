"""Does memory find code by what it is for? Functions of the standard library go in without their docstrings; the first
sentence of each docstring is the question. Against plain FTS5 over the same text."""

import ast
import pathlib
import re
import sqlite3
import tempfile

from benchmarks.figure import Figure, at_least
from signoff.memory.embedded import Embedded
from signoff.memory.embedding import load
from signoff.memory.interface import Candidate, Query

DEPTH = 20
ASKED = 300
MODULES = (
    "argparse",
    "ast",
    "base64",
    "calendar",
    "configparser",
    "csv",
    "difflib",
    "inspect",
    "os",
    "pathlib",
    "shutil",
    "tarfile",
    "zipfile",
)


def functions() -> list[tuple[str, str, str]]:
    """Question, name and text of every documented function."""
    found: list[tuple[str, str, str]] = []
    for module in MODULES:
        source = pathlib.Path(ast.__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            told = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if isinstance(node, ast.FunctionDef) and told and len(node.body) > 1:
                question = re.split(r"(?<=\.)\s|\n\n", told)[0]
                node.body = node.body[1:]
                found.append((" ".join(question.split()), f"{module}.{node.name}", ast.unparse(node)[:4_000]))
    return found


def reciprocal(found: list[str], right: str) -> float:
    return 1 / (found.index(right) + 1) if right in found else 0.0


def measure() -> list[Figure]:
    known = functions()
    asked = known[:: max(1, len(known) // ASKED)]
    plain = sqlite3.connect(":memory:")
    plain.execute("CREATE VIRTUAL TABLE code USING fts5(text)")
    plain.executemany(
        "INSERT INTO code (rowid, text) VALUES (?, ?)", ((n, f"{k[1]} {k[2]}") for n, k in enumerate(known))
    )
    reference = 0.0
    for question, name, _ in asked:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question)) or '""'
        rows = plain.execute("SELECT rowid FROM code WHERE code MATCH ? ORDER BY rank LIMIT ?", (words, DEPTH))
        reference += reciprocal([known[row[0]][1] for row in rows], name)
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        for label, embedding in (("words", None), ("words and meaning", load())):
            memory = Embedded(pathlib.Path(directory) / f"{label}.db", embedding=embedding)
            for _, name, text in known:
                memory.add((Candidate("p", name, text),))
            total = sum(
                reciprocal([match.question for match in memory.search(Query("p", question, DEPTH, 0.0)).value], name)
                for question, name, _ in asked
            )
            figures.append(at_least(f"memory of code, MRR, {label}", total / reference, 1.0, reference="plain FTS5"))
            memory.close()
    return figures
