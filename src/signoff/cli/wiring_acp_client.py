"""What our ACP client has behind it: a gate for what the agent asks of it, and a way to answer its questions."""

import contextlib
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signoff.acp.answering import ALLOW, DENY, Decide, always, outcome, pick
from signoff.acp.desk import Desk
from signoff.acp.desk_tools import desk_tools
from signoff.acp.requested import requested
from signoff.approvals.case import Case
from signoff.approvals.request import CallSubject
from signoff.approvals.review import Reviewer
from signoff.approvals.silence import Silence
from signoff.approvals.unattended import Unattended
from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.cli.wiring_door import controlling_terminal
from signoff.cli.wiring_gate import opened
from signoff.config import locations
from signoff.domain.call import ToolCall, ToolResult
from signoff.domain.errors import Exit
from signoff.domain.event import RunEvent, Warned
from signoff.domain.intent import Action
from signoff.domain.review import Approved
from signoff.domain.settings import Audit, PolicySettings
from signoff.gate import Gate
from signoff.supervisor.foreign import Kind, foreign_intent
from signoff.wire import acp_schema as schema

if TYPE_CHECKING:
    from signoff.cli.terminal_forms import TerminalForms

_ACTIONS: Mapping[str, Action] = {
    "read": Action.READ,
    "search": Action.READ,
    "think": Action.READ,
    "edit": Action.WRITE,
    "delete": Action.WRITE,
    "move": Action.WRITE,
    "fetch": Action.NET,
}
_KINDS: Mapping[str, Kind] = {
    "read": Kind.READ,
    "search": Kind.READ,
    "edit": Kind.WRITE,
    "move": Kind.WRITE,
    "delete": Kind.DELETE,
    "execute": Kind.COMMAND,
    "fetch": Kind.HOST,
}


class DeskRun:
    """A run with a desk. `status` is recorded as its exit status."""

    def __init__(self, gate: Gate, desk: Desk, run_id: str, reviewer: Reviewer, person: "TerminalForms | None") -> None:
        self.gate = gate
        self.desk = desk
        self.run_id = run_id
        self.reviewer = reviewer
        self.person = person  # at the terminal, if somebody is
        self.status: int = Exit.INTERRUPTED


@contextlib.contextmanager
def desk_of(output: Output, workspace: Path, silence: Silence) -> Iterator[DeskRun]:
    loaded = wiring.configuration(output, workspace=workspace)
    policy = loaded.settings.policy
    person = _person(output, policy, silence)
    reviewer = person or Unattended(policy.default_action, policy.on_ask)

    def show(event: RunEvent) -> None:
        if isinstance(event, Warned):
            output.warn(event.message)

    command = ("signoff", "acp", "connect")
    with opened(output, loaded, command, tools=desk_tools(), reviewer=reviewer, show=show, workspace=workspace) as run:

        async def perform(tool: str, args: dict[str, Any]) -> ToolResult:
            return await run.gate.call(run.call(tool, args), source="acp")

        assert run.jobs is not None
        served = DeskRun(run.gate, Desk(perform, run.jobs), run.run_id, reviewer, person)
        try:
            yield served
        finally:
            run.status = served.status


def _person(output: Output, policy: PolicySettings, silence: Silence) -> "TerminalForms | None":
    terminal = controlling_terminal() if policy.audit is Audit.PROMPT else None
    if terminal is None:
        return None
    from signoff.cli.terminal_forms import TerminalForms

    return TerminalForms.on(terminal, colour=output.colourful(err=True), silence=silence)


def decided_by(run: DeskRun, decision: str | None, workspace: Path) -> Decide:
    """How questions are answered. Unless told: by the person where there is one, else by the policy."""
    match decision or ("ask" if run.person is not None else "policy"):
        case "allow":
            return always(ALLOW)
        case "deny":
            return always(DENY)
        case "ask":
            return _asked(run)
        case _:
            return _judged(run, workspace)


def _asked(run: DeskRun) -> Decide:
    async def decide(request: schema.RequestPermissionRequest) -> schema.RequestPermissionOutcome:
        call = _call(request, "")
        asked = requested(request, call.tool_call_id, call.name, _action(request), call.args)
        if run.person is not None:
            return outcome(await run.person.choose(asked, request.options))
        return pick(request, ALLOW if isinstance(await run.reviewer.review(asked), Approved) else DENY)

    return decide


def _judged(run: DeskRun, workspace: Path) -> Decide:
    async def decide(request: schema.RequestPermissionRequest) -> schema.RequestPermissionOutcome:
        call, kind = _call(request, run.run_id), str(request.toolCall.kind or "other")
        home = str(locations.home(os.environ))
        mapping = {call.name: _KINDS[kind]} if kind in _KINDS else {}
        intent = foreign_intent(call.name, _action(request), call.args, cwd=str(workspace), home=home, mapping=mapping)
        case = Case(call=call, intent=intent, turn_id=request.sessionId, subject=CallSubject(call.args), source="acp")
        return pick(request, ALLOW if (await run.gate.clear(case)).allowed else DENY)

    return decide


def _action(request: schema.RequestPermissionRequest) -> Action:
    return _ACTIONS.get(str(request.toolCall.kind), Action.EXEC)


def _call(request: schema.RequestPermissionRequest, run_id: str) -> ToolCall:
    shown = request.toolCall
    args: dict[str, Any] = {"input": str(shown.rawInput)} if shown.rawInput else {}
    if isinstance(shown.rawInput, dict):
        args = shown.rawInput
    if isinstance(shown.locations, list) and shown.locations:
        args = {**args, "paths": [each.path for each in shown.locations]}
    name = str(shown.name or shown.kind or "tool")
    return ToolCall(f"{shown.toolCallId}-{uuid.uuid4().hex[:6]}", name, "", args, run_id, time.time_ns() // 1_000_000)
