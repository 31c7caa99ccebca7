"""update_memory on the embedded memory: notes are candidates, corrections take trust away, nothing happens unasked."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from signoff.domain.event import ReviewAsked
from signoff.domain.review import Approved
from signoff.memory.embedded import Embedded
from signoff.tools.update_memory import UpdateMemory
from tests.clauses import requirement
from tests.tools.workbench import Workbench


@pytest.fixture
def memory(tmp_path: pathlib.Path) -> Iterator[Embedded]:
    store = Embedded(tmp_path / "memory.db")
    yield store
    store.close()


@requirement("CLU-050")
def test_knowledge_is_noted_corrected_and_marked_wrong(tmp_path: pathlib.Path, memory: Embedded) -> None:
    bench = Workbench(tmp_path, answers=[Approved()] * 3, tools=[UpdateMemory(lambda: memory, "p", "run-1")])

    def change(**args: Any) -> str:
        result = bench.call("update_memory", **args)
        assert result.error is None
        return str((result.payload or {})["knowledge_id"])

    first = change(title="How are the tests run?", knowledge_to_store="make test, never pytest by hand")
    item = memory.get(first)
    assert item is not None
    assert item.answer == "make test, never pytest by hand"
    second = change(
        action="update",
        title="How are the tests run?",
        knowledge_to_store="make check, then make test in this repository",
        existing_knowledge_id=first,
    )
    assert second not in ("", first)
    assert change(action="delete", existing_knowledge_id=second) == second
    assert len([event for event in bench.events if isinstance(event, ReviewAsked)]) == 3


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({}, "create needs `title`, `knowledge_to_store`"),
        ({"action": "update", "title": "t", "knowledge_to_store": "k"}, "update needs `existing_knowledge_id`"),
        ({"action": "delete"}, "delete needs `existing_knowledge_id`"),
        ({"action": "forget"}, "$.action"),
    ],
)
def test_what_an_action_needs_is_said(tmp_path: pathlib.Path, args: dict[str, str], says: str) -> None:
    result = Workbench(tmp_path).call("update_memory", **args)
    assert result.error is not None
    assert says in result.error.message
