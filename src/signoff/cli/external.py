"""Somebody else decides: every call our own rules do not forbid is announced with `requires_policy`, and only a clear yes
lets it happen. Document: docs/protocol.md; this is the child's side of it."""

import asyncio
from collections.abc import Callable

import msgspec

from signoff.agent.event import AgentEvent
from signoff.approvals.case import Rulebook
from signoff.approvals.request import ReviewRequest
from signoff.codecli import Call, Client
from signoff.domain.call import ToolCall, ToolResult
from signoff.domain.errors import Aborted
from signoff.domain.event import CallFinished, CallProgress, CallStarted
from signoff.domain.intent import Intent
from signoff.domain.requirement import NeedsApproval, Requirement, Skip
from signoff.domain.review import (
    Abort,
    Approved,
    ApprovedExecpolicyAmendment,
    Denied,
    ReviewDecision,
    TimedOut,
    ToolRule,
)
from signoff.domain.verdict import Verdict

REASON = "the policy outside decides"


class PutToTheOutside:
    """A rulebook in which nothing is allowed without a question. What was forbidden stays forbidden."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook

    def judge(self, intent: Intent, granted: tuple[str, ...]) -> tuple[Verdict, Requirement]:
        verdict, requirement = self._rulebook.judge(intent, granted)
        return verdict, NeedsApproval(REASON) if isinstance(requirement, Skip) else requirement

    def proposed(self, intent: Intent, verdict: Verdict, granted: tuple[str, ...]) -> tuple[str, ...] | None:
        return None

    def proposed_rules(self, intent: Intent, verdict: Verdict, granted: tuple[str, ...]) -> tuple[ToolRule, ...]:
        return ()

    def may_save(self, prefix: tuple[str, ...]) -> bool:
        return False

    def save(self, amendment: ApprovedExecpolicyAmendment) -> None:
        raise Aborted("rules are kept by the policy outside")


class External:
    """A reviewer that asks the supervisor, and tells it how each call ended. Give `show` to the agent."""

    name = "external"
    is_person = False

    def __init__(self, show: Callable[[AgentEvent], None], client: Client | None = None) -> None:
        self._pass_on = show
        self._client = client or Client()
        self._calls: dict[str, ToolCall] = {}
        self._allowed: dict[str, Call] = {}

    def show(self, event: AgentEvent) -> None:
        match event:
            case CallStarted(call=call):
                self._calls[call.tool_call_id] = call
            case CallProgress(call_id=call_id, text=text, stream=stream) if call_id in self._allowed:
                self._allowed[call_id].progress(stream, text)
            case CallFinished(result=result):
                self._calls.pop(result.tool_call_id, None)
                allowed = self._allowed.pop(result.tool_call_id, None)
                if allowed is not None:
                    _ended(allowed, result)
            case _:
                pass
        self._pass_on(event)

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        call_id = request.event.call_id
        try:
            answered = await asyncio.to_thread(self._ask, request)
        except Aborted:
            return Abort()
        if answered.allowed:
            self._allowed[call_id] = answered
            return Approved()
        return TimedOut() if answered.decision is None else Denied(rejection=answered.reason)

    def _ask(self, request: ReviewRequest) -> Call:
        call = self._calls.get(request.event.call_id)
        args = call.args if call is not None else msgspec.to_builtins(request.event)
        rationale = request.event.reason if request.event.reason != REASON else None
        return self._client.request(
            request.tool, request.action.value, args, rationale=rationale, id=request.event.call_id
        )


def _ended(call: Call, result: ToolResult) -> None:
    if result.ok:
        call.succeed(result.payload)
    else:
        call.fail(result.error.message if result.error is not None else "failed", result.payload)
