"""What may come out of the memory and what may go in. Pure: the same run and settings give the same decision, with reasons."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from signoff.domain.settings import GatekeeperMode
from signoff.memory.interface import Candidate, Match, Reference, Validation
from signoff.memory.signals import Observed, Signals, signals, strength
from signoff.memory.trust import DEPRECATED_AFTER, Status
from signoff.memory.words import alike, signature

_LOG_LINE = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b|at \w|\d+%)"
)
_HEDGE = re.compile(r"\b(?:maybe|perhaps|might work|not sure|probably|i think|i guess)\b", re.IGNORECASE)
_STEP = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+\S", re.MULTILINE)
_ONCE = re.compile(r"\b(?:today|yesterday|tomorrow|this morning|just now|my password|my account)\b", re.IGNORECASE)
SHORTEST_ANSWER = 200
SAME_QUESTION = 0.8
LOG_SHARE = 0.6


class Selection(msgspec.Struct, frozen=True):
    """What may be shown to a model."""

    max_inject: int = 3
    min_level: int = 2
    min_level_fallback: int = 1
    min_trust: float = 0.40
    min_relevance: float = 0.25
    trial_relevance: float = 0.5  # one unproved answer this relevant may be tried, else nothing would ever be proved
    block_after_failures: int = DEPRECATED_AFTER
    exclude_stale: bool = True
    skip_candidate_above: float = 0.85
    statuses: tuple[str, ...] = (Status.ACTIVE, "verified")


class Chosen(msgspec.Struct, frozen=True):
    inject: tuple[Match, ...]
    reasons: tuple[str, ...]


class Decision(msgspec.Struct, frozen=True):
    """Everything that follows from a run."""

    candidates: tuple[Candidate, ...]
    references: tuple[Reference, ...]
    validations: tuple[Validation, ...]
    reasons: tuple[str, ...]
    signals: Signals

    @property
    def write_candidate(self) -> bool:
        return bool(self.candidates)


def select(matches: Sequence[Match], now: str, rules: Selection | None = None) -> Chosen:
    """Which answers go into the prompt: the proved ones, else a fairly proved one, else one on trial. `now` is RFC 3339."""
    rules = rules or Selection()
    reasons = {match.qa_id: _unusable(match, now, rules) for match in matches}
    usable = sorted(
        (match for match in matches if not reasons[match.qa_id]),
        key=lambda match: (match.validation_level, match.trust, match.score, match.freshness),
        reverse=True,
    )
    ready = [match for match in usable if match.status in rules.statuses]
    proved = [match for match in ready if match.validation_level >= rules.min_level][: rules.max_inject]
    fairly = [match for match in ready if match.validation_level >= rules.min_level_fallback][:1]
    relevant = [match for match in usable if match.relevance >= rules.trial_relevance]
    trial = sorted(relevant, key=lambda match: match.score, reverse=True)[:1]
    told = tuple(f"{qa_id}: {reason}" for qa_id, reason in reasons.items() if reason)
    for inject, reason in ((proved, "proved"), (fairly, "fairly proved"), (trial, "on trial")):
        if inject:
            return Chosen(tuple(inject), (*told, *(f"{match.qa_id}: shown, {reason}" for match in inject)))
    return Chosen((), (*told, "nothing to show"))


def _unusable(match: Match, now: str, rules: Selection) -> str:
    if match.status not in (*rules.statuses, Status.CANDIDATE):
        return f"status is {match.status}"
    if match.expiry_at is not None and match.expiry_at < now:
        return "expired"
    if rules.exclude_stale and match.freshness < 0.001:
        return "not fresh"
    if failures(match) >= rules.block_after_failures:
        return f"failed {failures(match)} times in a row"
    if match.trust < rules.min_trust:
        return f"trust {match.trust:.2f} is below {rules.min_trust:.2f}"
    return "" if match.relevance >= rules.min_relevance else f"relevance {match.relevance:.2f} is too low"


def failures(match: Match) -> int:
    """Failures in a row; a service keeps them in `metadata` or in `metadata.stats`."""
    stats = match.metadata.get("stats")
    nested = stats.get("consecutive_fail") if isinstance(stats, dict) else None
    found = match.metadata.get("consecutive_fail", nested)
    return found if isinstance(found, int) else 0


def decide(
    mode: GatekeeperMode,
    run: Observed,
    project_id: str,
    matches: Sequence[Match],
    shown: Sequence[str],
    used: Sequence[str],
    draft: Candidate | None,
    holds_secret: Callable[[str], bool],
    rules: Selection | None = None,
) -> Decision:
    """What to record about a run: which answers it saw and used, what that says about them, and whether it taught anything."""
    seen = signals(run)
    refusals = objections(mode, run, matches, used, draft, holds_secret, rules or Selection(), seen)
    return Decision(
        candidates=(draft,) if draft is not None and not refusals else (),
        references=references(run, shown, used),
        validations=validations(run, project_id, shown, used, seen),
        reasons=refusals or ("every rule is met",),
        signals=seen,
    )


def references(run: Observed, shown: Sequence[str], used: Sequence[str]) -> tuple[Reference, ...]:
    """Every answer that was shown or used, once, with both facts."""
    return tuple(
        Reference(qa_id, shown=qa_id in shown, used=qa_id in used, message_id=run.run_id or None)
        for qa_id in dict.fromkeys((*shown, *used))
    )


def validations(
    run: Observed, project_id: str, shown: Sequence[str], used: Sequence[str], seen: Signals
) -> tuple[Validation, ...]:
    """A verdict on what was used, else on the first answer that was shown."""
    payload: dict[str, Any] = {**msgspec.to_builtins(seen), "duration_ms": run.duration_ms, "run_id": run.run_id}
    return tuple(
        Validation(
            project_id=project_id,
            qa_id=qa_id,
            result="pass" if run.exit_code == 0 else "fail",
            signal_strength=strength(seen, used),
            source="gatekeeper",
            context={"used": qa_id in used},
            payload=payload,
        )
        for qa_id in tuple(used) or tuple(shown)[:1]
    )


def objections(
    mode: GatekeeperMode,
    run: Observed,
    matches: Sequence[Match],
    used: Sequence[str],
    draft: Candidate | None,
    holds_secret: Callable[[str], bool],
    rules: Selection,
    seen: Signals,
) -> tuple[str, ...]:
    """Every reason not to remember the draft. `soft` also wants a strong signal that it worked."""
    if mode is GatekeeperMode.OFF:
        return ("the gatekeeper is off",)
    if draft is None:
        return ("the run did nothing that could be told as steps",)
    known = [match for match in matches if match.status in rules.statuses and match.validation_level >= rules.min_level]
    nearest = max((alike(signature(draft.question), signature(match.question)) for match in matches), default=0.0)
    checks = (
        (seen.exit_code != 0, f"the run ended with {seen.exit_code}"),
        (bool(used), "it went by an answer that is known already"),
        (bool(known), "a proved answer is known already"),
        (any(match.score >= rules.skip_candidate_above for match in matches), "a very good match is known already"),
        (nearest >= SAME_QUESTION, "the same question was asked before"),
        (mode is GatekeeperMode.SOFT and not seen.last_proof, "no test, build or check passed at the end"),
        (bool(seen.unrecovered), f"still failing: {', '.join(seen.unrecovered)}"),
        *_form(draft),
        (holds_secret(f"{draft.question}\n{draft.answer}"), "it holds a secret"),
    )
    return tuple(reason for wrong, reason in checks if wrong)


def _form(draft: Candidate) -> tuple[tuple[bool, str], ...]:
    lines = [line for line in draft.answer.splitlines() if line.strip()]
    logs = sum(bool(_LOG_LINE.match(line)) for line in lines)
    steps = _STEP.search(draft.answer) is not None
    return (
        (len(draft.answer) < SHORTEST_ANSWER, f"the answer is shorter than {SHORTEST_ANSWER} characters"),
        (bool(lines) and logs / len(lines) > LOG_SHARE, "most of it looks like a log"),
        (not steps, "it has no steps"),
        (_HEDGE.search(draft.answer) is not None and not steps, "it hedges and gives no steps"),
        (_ONCE.search(draft.question) is not None, "it is about one moment or one person"),
    )
