"""Listens to the gate on behalf of the agent, and passes everything on to whoever shows it."""

from collections.abc import Callable

from signoff.agent.event import AgentEvent, Denial, Look
from signoff.domain.call import ToolCall, ToolResult
from signoff.domain.errors import Aborted, Refused, RefusedByPerson, ReviewTimeout
from signoff.domain.event import CallJudged, DeveloperMessage, PlanEntry, PlanUpdated, RunEvent

REFUSALS = frozenset({Refused.code, RefusedByPerson.code, Aborted.code, ReviewTimeout.code})


class Watch:
    """Give it to the gate as its `show`."""

    def __init__(self, show: Callable[[AgentEvent], object]) -> None:
        self.show = show
        self._rules: dict[str, str] = {}
        self._plan: tuple[PlanEntry, ...] | None = None
        self._notes: list[str] = []

    def __call__(self, event: RunEvent) -> None:
        match event:
            case CallJudged(call_id=call_id, verdict=verdict) if verdict.winner is not None:
                self._rules[call_id] = verdict.winner.rule_id
            case PlanUpdated(entries=entries):
                self._plan = entries
            case DeveloperMessage(text=text):
                self._notes.append(text)
            case _:
                pass
        self.show(event)

    def denial(self, call: ToolCall, look: Look, result: ToolResult) -> Denial | None:
        """The refusal a result is, if it is one; asked once for each call."""
        rule = self._rules.pop(call.tool_call_id, None)
        error = result.error
        if error is None or error.code not in REFUSALS:
            return None
        if call.name == "ask_user":
            return None  # a question that nobody answered is no refusal
        return Denial(call.tool_call_id, call.name, look.title, error.code, rule, error.message)

    def take_plan(self) -> tuple[PlanEntry, ...] | None:
        """The plan, if there is a new one since the last time."""
        plan, self._plan = self._plan, None
        return plan

    def take_notes(self) -> tuple[str, ...]:
        """What the model has to be told that is no tool's result."""
        notes, self._notes = tuple(self._notes), []
        return notes
