"""A ledger as a person reads it: one row a record, in the order of time, and sums over all of them."""

import enum
import json
import shlex
import statistics
from collections import Counter
from collections.abc import Iterable
from typing import Any, assert_never

import msgspec

from signoff.ledger.reading import Damaged
from signoff.ledger.records import (
    Close,
    Decision,
    Event,
    Genesis,
    Line,
    Outcome,
    Record,
    Request,
    Result,
    Review,
)

LONGEST_VALUE = 80


class Tone(enum.StrEnum):
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    PLAIN = "plain"
    FAINT = "faint"


class Row(msgspec.Struct, frozen=True):
    """One record. `mark` says what it is in a word, `title` what it is about, `detail` the rest of the line."""

    seq: int
    seconds: float
    ts: str
    mark: str
    tone: Tone
    title: str
    detail: str
    what: Record | None = None


def row(line: Line | Damaged) -> Row:
    if isinstance(line, Damaged):
        return Row(-1, 0, "", "damaged", Tone.BAD, f"line {line.line}", line.text[:LONGEST_VALUE])
    mark, tone, title, detail = _told(line.what)
    if isinstance(line.what, Genesis):  # the others stand beside the seconds since then
        detail = _joined(f"{line.ts[:19].replace('T', ' ')}Z", detail)
    return Row(line.seq, line.since_ns / 1e9, line.ts, mark, tone, title, detail, line.what)


_Told = tuple[str, Tone, str, str]  # mark, tone, title, detail


def _told(record: Record) -> _Told:
    match record:
        case Genesis():
            approval = f"approval {record.approval}" if record.approval else ""
            facts = _joined(record.workspace, record.project_id, f"redaction {record.redact}", approval)
            return "start", Tone.PLAIN, shlex.join(record.command), facts
        case Request():
            asked = _joined(_brief(record.args), f"it says: {record.rationale}" if record.rationale else "")
            return "request", Tone.PLAIN, _call(record.tool_call_id, record.name), asked
        case Decision():
            return _decided(record)
        case Review():
            by = f"by {record.reviewer}" if record.reviewer else ""
            said = record.decision.replace("_", " "), by, record.question, record.rejection, _ms(record.duration_ms)
            return "review", Tone.WARNING, record.tool_call_id, _joined(*said)
        case Result():
            return _ended(record)
        case Event():
            tone = {"debug": Tone.FAINT, "warning": Tone.WARNING, "error": Tone.BAD}.get(record.level, Tone.PLAIN)
            return "event", tone, record.name, _joined(record.tool_call_id, _brief(record.data))
        case Close():
            tone = Tone.GOOD if record.exit_code == 0 else Tone.WARNING
            return "end", tone, f"exit status {record.exit_code}", _joined(record.reason, f"{record.count + 1} records")
        case _:
            assert_never(record)


def _decided(record: Decision) -> _Told:
    rule = f"rule {record.rule_id}" if record.rule_id else ""
    where = "" if record.sandboxed else "outside the sandbox"
    advice = "" if record.enforced else "advice only"
    detail = _joined(f"by {record.decided_by}", rule, record.reason, where, advice)
    mark, tone = ("allow", Tone.GOOD) if record.decision is Outcome.ALLOW else ("deny", Tone.BAD)
    return mark, tone, _call(record.tool_call_id, record.name), detail


def _ended(record: Result) -> _Told:
    failed = f"{record.error.code}: {record.error.message}" if record.error else ""
    changed = f"changed {', '.join(record.artifacts.files_changed)}" if record.artifacts.files_changed else ""
    status, mark, tone = "", "ok", Tone.GOOD
    if not record.ok:
        mark, tone = "failed", Tone.BAD
    elif record.artifacts.exit_status:  # it ran, and said that it did not succeed
        status, mark, tone = f"exit status {record.artifacts.exit_status}", "ended", Tone.WARNING
    detail = _joined(status, _ms(record.duration_ms), failed, changed)
    return mark, tone, _call(record.tool_call_id, record.name), detail


def _call(tool_call_id: str, name: str) -> str:
    return f"{name} ({tool_call_id})"


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def _ms(duration: int) -> str:
    return f"{duration} ms" if duration < 10_000 else f"{duration / 1000:.1f} s"


def _brief(value: Any, *, inner: bool = False) -> str:
    if isinstance(value, dict):
        parts = " ".join(f"{name}={_brief(part, inner=True)}" for name, part in value.items())
        return f"{{{parts}}}" if inner else parts
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


class Durations(msgspec.Struct, frozen=True):
    """Of the calls of one tool, in milliseconds."""

    calls: int
    failed: int
    median_ms: float
    longest_ms: int


class Stats(msgspec.Struct, frozen=True):
    """Sums over a run. `unknown_outcomes` are calls that were allowed and never told how they ended."""

    records: int
    damaged: int
    seconds: float
    kinds: dict[str, int]
    decisions: dict[str, int]
    decided_by: dict[str, int]
    rules: dict[str, int]
    reviews: dict[str, int]
    errors: dict[str, int]
    tools: dict[str, Durations]
    files_changed: tuple[str, ...]
    unknown_outcomes: tuple[str, ...]


def stats(lines: Iterable[Line | Damaged]) -> Stats:
    everything = list(lines)
    good = [line for line in everything if isinstance(line, Line)]
    records = [line.what for line in good]
    decisions = [record for record in records if isinstance(record, Decision)]
    results = [record for record in records if isinstance(record, Result)]
    return Stats(
        records=len(good),
        damaged=len(everything) - len(good),
        seconds=max((line.since_ns for line in good), default=0) / 1e9,
        kinds=_count(type(record).__name__.lower() for record in records),
        decisions=_count(record.decision.value for record in decisions),
        decided_by=_count(record.decided_by.value for record in decisions),
        rules=_count(record.rule_id for record in decisions if record.rule_id),
        reviews=_count(record.decision for record in records if isinstance(record, Review)),
        errors=_count(record.error.code for record in results if record.error),
        tools={name: _durations([r for r in results if r.name == name]) for name in sorted({r.name for r in results})},
        files_changed=tuple(sorted({path for record in results for path in record.artifacts.files_changed})),
        unknown_outcomes=unknown_outcomes(records),
    )


def unknown_outcomes(records: Iterable[Record]) -> tuple[str, ...]:
    """Calls with an allow and no result. After a crash such a call may or may not have run: it is not run again."""
    open_calls: dict[str, None] = {}
    for record in records:
        if isinstance(record, Decision) and record.decision is Outcome.ALLOW:
            open_calls[record.tool_call_id] = None
        elif isinstance(record, Result):
            open_calls.pop(record.tool_call_id, None)
    return tuple(open_calls)


def _count(words: Iterable[str]) -> dict[str, int]:
    return dict(Counter(words).most_common())


def _durations(results: list[Result]) -> Durations:
    times = [result.duration_ms for result in results]
    return Durations(len(times), sum(not result.ok for result in results), statistics.median(times), max(times))
