"""How much is found and how little is disturbed, measured on the case files and on installed source code."""

import json
import pathlib
import re
import sysconfig

import pytest

from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor
from tests.clauses import requirement

Row = dict[str, object]
WORDS = re.compile(r"[\w+/=.~-]{8,}")


@pytest.fixture(scope="module")
def vectors(cases: pathlib.Path) -> list[Row]:
    lines = (cases / "secrets" / "vectors.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["label_scope"] == "line"]


def redact(text: object) -> str:
    assert isinstance(text, str)
    return Redactor(Redact.BASIC, reversible=False).text(text)


def strangest(text: str) -> str:
    """The word of a text that is most likely its secret: the longest that has a digit."""
    return max((word for word in WORDS.findall(text) if re.search(r"\d", word)), key=len, default="")


def test_secrets_are_found_and_the_rest_is_left_alone(vectors: list[Row]) -> None:
    secrets = [row for row in vectors if row["is_secret"]]
    harmless = [row for row in vectors if not row["is_secret"]]
    found = [row for row in secrets if redact(row["text"]) != row["text"]]
    disturbed = [row for row in harmless if redact(row["text"]) != row["text"]]
    assert len(found) / len(secrets) >= 0.95
    assert len(disturbed) / len(harmless) <= 0.05


def test_a_line_that_was_touched_has_lost_the_secret_itself(vectors: list[Row]) -> None:
    kept = []
    for row in vectors:
        text = str(row["text"])
        masked = redact(text)
        word = strangest(text)
        if row["is_secret"] and masked != text and word and word in masked and "://" not in text:
            kept.append((word, masked))
    assert kept == []


@requirement("MEM-120")
def test_arguments_of_a_call_lose_their_secrets_and_nothing_else(vectors: list[Row]) -> None:
    redactor = Redactor(Redact.BASIC)
    secrets = [row for row in vectors if row["is_secret"]]
    clean = 0
    for row in secrets:
        arguments = {"command": ["sh", "-c", row["text"]], "cwd": "/work", "timeout_ms": 1000}
        masked = redactor.value(arguments)
        assert (masked["cwd"], masked["timeout_ms"], masked["command"][:2]) == ("/work", 1000, ["sh", "-c"])
        clean += masked["command"][2] != row["text"]
    assert clean / len(secrets) >= 0.95


def test_the_same_vectors_as_lines_of_json_stay_json(vectors: list[Row]) -> None:
    lines = "\n".join(json.dumps({"a": row["text"], "b": [row["text"], 1]}) for row in vectors)
    masked = redact(lines)
    assert masked.count("\n") == lines.count("\n")
    assert [type(json.loads(line)) for line in masked.split("\n")] == [dict] * len(vectors)
    assert redact(masked) == masked


def test_ordinary_commands_are_left_alone(cases: pathlib.Path) -> None:
    commands = (cases / "commands" / "tldr.txt").read_text(encoding="utf-8").split("\n")
    masked = redact("\n".join(commands)).split("\n")
    touched = [before for before, after in zip(commands, masked, strict=True) if before != after]
    assert len(touched) <= 5, touched


def test_ordinary_source_code_is_left_alone() -> None:
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    touched, lines = [], 0
    for path in sorted(library.glob("*.py")) + sorted(library.glob("*/*.py"))[::4]:
        before = path.read_bytes()
        stream = Redactor(Redact.BASIC, reversible=False).stream()
        after = stream.feed(before) + stream.finish()
        pairs = list(zip(before.split(b"\n"), after.split(b"\n"), strict=True))
        lines += len(pairs)
        touched += [line for line, masked in pairs if line != masked]
    assert lines > 100_000
    assert len(touched) * 100_000 <= 5 * lines, touched
