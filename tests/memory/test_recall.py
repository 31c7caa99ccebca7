"""Memory around a run: the spans it opens, the events it leaves, and that its failures stay its own."""

import pathlib
from typing import Any

import pytest

from signoff.domain.errors import MemoryTimeout
from signoff.domain.settings import GatekeeperMode, Inject, MemorySettings, Source
from signoff.ledger.records import Event
from signoff.ledger.spans import Span, SpanEvent
from signoff.ledger.tracing import Live, Tracing
from signoff.memory.embedded import Embedded
from signoff.memory.inject import Prompt, prepend
from signoff.memory.interface import Candidate, Match, NoMemory, Query, Reply, Validation
from signoff.memory.recall import Recall
from signoff.memory.signals import Observed, Step
from signoff.memory.trust import Status
from tests.clauses import requirement

PROMPT = "make the lexer accept nested comments"
ANSWER = "1. Count the depth of comments in scan_comment.\n2. Run the tests.\n" + "Mind the end of the file. " * 8


class Watching:
    """A sender that keeps what it is given."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.events: list[SpanEvent] = []

    def open(self, fields: Any) -> Live[Any]:
        watching = self
        self.spans.append(fields)

        class Kept(Live[Any]):
            def event(self, event: SpanEvent) -> None:
                watching.events.append(event)

        return Kept(fields)

    def trace_id(self) -> str:
        return "0" * 32

    def close(self) -> None:
        pass


def done(exit_code: int = 0, stdout: str = "") -> Observed:
    steps = (
        Step("c-1", "edit", True, files=("src/lexer.py",)),
        Step("c-2", "shell", exit_code == 0, "python -m pytest -q tests/test_lexer.py tests/test_comments.py"),
    )
    told = (
        stdout
        or "Nested comments are counted by depth now; the lexer no longer stops at the first closing mark it sees."
    )
    return Observed(exit_code, told, "noise", steps, run_id="0193")


@pytest.fixture
def memory(tmp_path: pathlib.Path) -> Embedded:
    return Embedded(tmp_path / "memory.db")


@requirement(
    "MEM-081", "MEM-082", "MEM-083", "MEM-084", "MEM-089", "MEM-090", "MEM-091", "MEM-093", "MEM-127", "MEM-128"
)
def test_a_run_that_uses_an_answer_leaves_every_span_in_order(memory: Embedded) -> None:
    (qa_id,) = memory.add((Candidate("p", "How do nested comments work in the lexer?", ANSWER),), Status.ACTIVE)
    watching, events = Watching(), list[Event]()
    chosen = MemorySettings(
        inject_mode=Inject.USER,
        limit=4,
        min_score=0.1,
        session_file="s.md",
        query_sources=(Source.PROMPT, Source.SESSION_FILE),
    )
    recall = Recall(memory, chosen, "p", tracing=Tracing(watching), record=events.append)
    prompt = recall.before(
        PROMPT, {Source.SESSION_FILE: "we talked about scan_comment", Source.REPOSITORY: "not asked for"}
    )
    assert f"[QA_REF {qa_id}]" in prompt.user
    decision = recall.after(done(stdout=f"as [QA_REF {qa_id}] says, done"))
    assert decision is not None
    sent = {
        span.name: {key: value for key, value in _facts(span).items() if value is not None} for span in watching.spans
    }
    assert list(sent) == [
        "mem_codecli.context.build",
        "mem_codecli.memory.search",
        "mem_codecli.prompt.inject",
        "mem_codecli.gatekeeper.evaluate",
        "mem_codecli.memory.hit",
        "mem_codecli.memory.validate",
    ]
    assert sent["mem_codecli.context.build"] == {
        "query_len": len(PROMPT) + len(" we talked about scan_comment"), "session_file": "s.md", "query_sources": ("prompt", "session_file"),
    }  # fmt: skip
    assert sent["mem_codecli.memory.search"] == {"limit": 4, "min_score": 0.1, "http_status": 200}
    assert sent["mem_codecli.prompt.inject"] == {"target": "user", "inject_items": 1, "inject_chars": prompt.characters}
    assert sent["mem_codecli.memory.hit"] == {"refs": 1, "used_count": 1, "shown_count": 1, "http_status": 200}
    assert sent["mem_codecli.memory.validate"] == {
        "strong_signal": True,
        "signal_strength": "strong",
        "http_status": 200,
    }
    assert [event.name for event in watching.events] == ["memory.search.result", "gatekeeper.decision"]
    assert [event.name for event in events] == [
        "memory.search.result", "memory.selected", "memory.injected", "gatekeeper.decision", "memory.hit", "memory.validate",
    ]  # fmt: skip
    kept = memory.get(qa_id)
    assert kept is not None
    assert (kept.shown, kept.used, kept.stats.strong_pass, kept.run_id) == (1, 1, 1, None)


def _facts(span: Span) -> dict[str, Any]:
    return {name: getattr(span, name) for name in span.__struct_fields__}


@requirement("MEM-092")
def test_a_run_that_taught_something_is_remembered_with_where_it_came_from(memory: Embedded) -> None:
    watching = Watching()
    recall = Recall(memory, MemorySettings(gatekeeper=GatekeeperMode.SOFT), "p", tracing=Tracing(watching))
    assert recall.before(PROMPT) == Prompt(system="", user=PROMPT)
    decision = recall.after(done())
    assert decision is not None
    assert decision.write_candidate, decision.reasons
    span = _facts(watching.spans[-1])
    assert span.pop("http_status") == 202
    (candidate,) = decision.candidates
    assert span == {
        "question_len": len(candidate.question), "answer_len": len(candidate.answer), "tags_count": len(candidate.tags),
    }  # fmt: skip
    (found,) = memory.search(Query("p", PROMPT)).value
    item = memory.get(found.qa_id)
    assert item is not None
    assert (item.run_id, item.calls, item.status) == ("0193", ("c-1", "c-2"), Status.CANDIDATE)
    again = Recall(memory, MemorySettings(inject_mode=Inject.SYSTEM), "p")
    assert found.qa_id in prepend(again.before(PROMPT))  # on trial


class Broken(NoMemory):
    def search(self, query: Query) -> Reply[tuple[Match, ...]]:
        raise MemoryTimeout("the memory did not answer")

    def candidate(self, candidate: Candidate) -> Reply[str]:
        raise RuntimeError("a mistake of ours")

    def validate(self, validation: Validation) -> Reply[None]:
        raise AssertionError("nothing was shown")

    def close(self) -> None:
        return None


def test_a_broken_memory_changes_nothing_and_is_mentioned_once() -> None:
    events, said = list[Event](), list[str]()
    recall = Recall(Broken(), MemorySettings(), "p", record=events.append, say=said.append)
    assert recall.before(PROMPT) == Prompt(system="", user=PROMPT)
    recall.after(done())
    assert said == ["memory: the memory did not answer; the run goes on without it"]
    kinds = [event.data["error.kind"] for event in events if event.name == "memory.failed"]
    assert kinds == ["memory.timeout", "memory.failed"]


@pytest.mark.parametrize(
    "chosen", [MemorySettings(enabled=False), MemorySettings(inject_mode=Inject.NONE), MemorySettings(query_sources=())]
)
def test_what_is_switched_off_stays_off(memory: Embedded, chosen: MemorySettings) -> None:
    memory.add((Candidate("p", PROMPT, ANSWER),), Status.ACTIVE)
    assert Recall(memory, chosen, "p").before(PROMPT) == Prompt(system="", user=PROMPT)
    assert Recall(memory, MemorySettings(enabled=False), "p").after(done()) is None
