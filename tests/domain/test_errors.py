"""The error tree: drawn once, true, and every code of its own."""

import pathlib
import re

import pytest

from signoff.domain import errors
from signoff.domain.errors import Exit, SignoffError
from tests.clauses import requirement


def tree(kind: type[SignoffError] = SignoffError, depth: int = 0) -> list[tuple[int, str, str, int]]:
    """The classes of the vocabulary; a room may refine one of them for itself, with the same code."""
    own = (depth, kind.__name__, kind.code, int(kind.exit))
    children = [child for child in kind.__subclasses__() if child.__module__ == errors.__name__]
    return [own, *(row for child in children for row in tree(child, depth + 1))]


def drawn() -> list[tuple[int, str, str, int]]:
    lines = re.findall(r"^    ([│├└─ ]*)(\w+) +([\w.]+) +(\d+)$", errors.__doc__ or "", re.MULTILINE)
    return [(len(branch) // 3, name, code, int(status)) for branch, name, code, status in lines]


@requirement("MEM-122", "ACP-003")
def test_the_drawing_is_the_tree() -> None:
    assert drawn() == tree()


def test_every_error_has_a_code_of_its_own_in_dotted_lower_case() -> None:
    codes = [code for _, _, code, _ in tree()]
    assert len(set(codes)) == len(codes)
    assert [code for code in codes if not re.fullmatch(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)?", code)] == []


@requirement("ACP-013")
@pytest.mark.parametrize(
    ("meaning", "status"),
    [
        ("OK", 0), ("FOUND", 1), ("USAGE", 2), ("CONFIG", 3), ("UPSTREAM", 4), ("INTERNAL", 5), ("CHILD", 20),
        ("DENIED", 40), ("REVIEW_TIMEOUT", 41), ("BUDGET", 42), ("LOOP", 43), ("NOT_ENFORCEABLE", 44),
        ("LEDGER_EDITED", 60), ("LEDGER_MISSING", 61), ("LEDGER_REORDERED", 62), ("LEDGER_TORN", 63),
        ("LEDGER_UNFINISHED", 64), ("TIMEOUT", 124), ("INTERRUPTED", 130), ("PIPE_CLOSED", 141),
    ],
)  # fmt: skip
def test_an_exit_status_never_changes_its_meaning(meaning: str, status: int) -> None:
    assert Exit[meaning] == status


def test_every_exit_status_is_explained_to_people() -> None:
    page = (pathlib.Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [int(row) for row in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [int(status) for status in Exit]


def test_there_is_no_exit_status_beside_the_table() -> None:
    assert len(Exit) == 20


def test_an_error_carries_what_happened_and_what_to_do() -> None:
    error = errors.ConfigError("it is broken", hint="mend it")
    assert (str(error), error.message, error.hint, error.code, error.exit) == (
        "it is broken", "it is broken", "mend it", "config.invalid", 3,
    )  # fmt: skip
