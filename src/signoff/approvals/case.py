"""What comes before the door, what judges it, and what the record says of it."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from signoff.approvals.request import ReviewRequest, Subject, Width
from signoff.domain.call import ToolCall
from signoff.domain.intent import Escalation, Intent
from signoff.domain.requirement import Requirement
from signoff.domain.review import ApprovedExecpolicyAmendment, Denied, ReviewDecision, ToolRule
from signoff.domain.verdict import Verdict
from signoff.ledger.records import Request, Review


class Case(msgspec.Struct, frozen=True):
    """What comes before the door. `keys` are JSON texts: what a yes for the session would cover."""

    call: ToolCall
    intent: Intent
    turn_id: str = ""
    subject: Subject | None = None
    newest: Callable[[], Awaitable[Subject | None]] | None = None  # the subject as an editor's unsaved text has it
    keys: tuple[str, ...] = ()
    width: Width = Width.COMMAND  # how much the keys cover
    covers_retry: bool = False
    source: str = "agent"
    enforced: bool = True  # false: whoever asks does not wait for the answer

    @property
    def escalated(self) -> bool:
        return self.intent.escalation is Escalation.REQUIRE_ESCALATED


class Rulebook(Protocol):
    """The rules in force, and where new ones are kept."""

    def judge(self, intent: Intent, granted: tuple[str, ...]) -> tuple[Verdict, Requirement]:
        """`granted` are roots that a person opened for writing in this session."""
        ...

    def proposed(self, intent: Intent, verdict: Verdict, granted: tuple[str, ...]) -> tuple[str, ...] | None:
        """A prefix that could be remembered for a call that needed no question so far."""
        ...

    def proposed_rules(self, intent: Intent, verdict: Verdict, granted: tuple[str, ...]) -> tuple[ToolRule, ...]:
        """Rules that could be remembered for a call that is no command."""
        ...

    def may_save(self, prefix: tuple[str, ...]) -> bool: ...

    def save(self, amendment: ApprovedExecpolicyAmendment) -> None:
        """Keep the rule and put it in force. Raises SignoffError or OSError if it cannot be kept."""
        ...


def request_record(case: Case) -> Request:
    call = case.call
    return Request(
        tool_call_id=call.tool_call_id,
        name=call.name,
        action=case.intent.action,
        args=call.args,
        trace_id=call.trace_id,
        version=call.version,
        source=case.source,
        rationale=case.intent.justification or "",
    )


def review_record(
    case: Case, request: ReviewRequest, decision: ReviewDecision, reviewer: str, elapsed_ns: int
) -> Review:
    return Review(
        tool_call_id=case.call.tool_call_id,
        decision=str(type(decision).__struct_config__.tag),
        reviewer=reviewer,
        question=request.event.reason or "",
        rejection=(decision.rejection or "") if isinstance(decision, Denied) else "",
        amendment=_amendment(decision) if isinstance(decision, ApprovedExecpolicyAmendment) else (),
        duration_ms=elapsed_ns // 1_000_000,
        trace_id=case.call.trace_id,
    )


def _amendment(decision: ApprovedExecpolicyAmendment) -> tuple[str, ...]:
    rule = decision.rule
    return decision.proposed_execpolicy_amendment if rule is None else (rule.tool, *rule.paths, *rule.hosts)
