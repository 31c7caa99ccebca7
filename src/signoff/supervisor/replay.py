"""Judge a recorded run again, under other rules, and see what would have been different.

The record holds redacted arguments, so a call whose secret mattered to the verdict may be judged differently; what was
left out is marked as such. Nothing is run.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from signoff.domain.intent import Intent
from signoff.domain.requirement import Requirement
from signoff.domain.verdict import Verdict
from signoff.ledger.records import Decision, Record, Request
from signoff.supervisor.foreign import foreign_intent

Judge = Callable[[Intent], tuple[Verdict, Requirement]]


class Replayed(msgspec.Struct, frozen=True):
    """One call: what the policy said then, and what it says now."""

    tool_call_id: str
    tool: str
    action: str
    args: object
    before: str
    before_rule: str
    after: str
    after_rule: str
    decided: str  # what came of it then, with a person's answer: allow or deny

    @property
    def changed(self) -> bool:
        return self.before != self.after


def replay(records: Iterable[Record], judge: Judge, *, cwd: str, home: str) -> Iterator[Replayed]:
    """Every call that was judged, in order. A retry outside the sandbox repeats a call's decision; the first one counts."""
    requests: dict[str, Request] = {}
    for record in records:
        match record:
            case Request():
                requests[record.tool_call_id] = record
            case Decision() if (request := requests.pop(record.tool_call_id, None)) is not None:
                yield _judged(request, record, judge, cwd, home)
            case _:
                pass


def _judged(request: Request, decision: Decision, judge: Judge, cwd: str, home: str) -> Replayed:
    verdict, _ = judge(foreign_intent(request.name, request.action, request.args, cwd=cwd, home=home))
    return Replayed(
        tool_call_id=request.tool_call_id,
        tool=request.name,
        action=request.action,
        args=request.args,
        before=decision.verdict or decision.decision,
        before_rule=decision.rule_id,
        after=verdict.decision.word,
        after_rule=verdict.winner.rule_id if verdict.winner else "",
        decided=decision.decision,
    )
