"""THE DOOR. Every call goes through here, whoever makes it: intent, verdict, review if needed, effect, record.

`clear` decides and returns only when the decision is on disk. `call` clears, runs the tool, and leaves exactly one
result record, which says "interrupted" until something better is known. Refusal is a value, never an exception.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, assert_never

import msgspec

from signoff.approvals.asking import Asking
from signoff.approvals.case import Case, Rulebook, request_record
from signoff.approvals.compose import RETRY_REASON, refusal
from signoff.approvals.hosts import host_case
from signoff.approvals.review import Reviewer
from signoff.approvals.store import key_text
from signoff.domain.call import Failure, ToolCall, ToolResult
from signoff.domain.clearance import Clearance
from signoff.domain.errors import Interrupted, LedgerUnwritable, Refused, SignoffError
from signoff.domain.event import (
    CallFinished,
    CallJudged,
    CallProgress,
    CallStarted,
    RunEvent,
    Warned,
)
from signoff.domain.intent import FileRead, Host, Intent
from signoff.domain.late import late
from signoff.domain.requirement import Forbidden, NeedsApproval, Skip
from signoff.domain.settings import ApprovalPolicy
from signoff.domain.verdict import Decision, Verdict
from signoff.files.links import followed
from signoff.ledger.durable import LONGEST_SYNC_S, durable
from signoff.ledger.log import Ledger, Ticket
from signoff.ledger.records import DecidedBy, Outcome, decision_of, result_of
from signoff.ledger.records import Decision as DecisionRecord
from signoff.sandbox.jobs import Job
from signoff.sandbox.outcome import Allowance, OnOutput
from signoff.sandbox.outcome import Outcome as ProcessOutcome
from signoff.sandbox.outcome import Request as ProcessRequest
from signoff.tools.allowance import allowance
from signoff.tools.registry import Registry
from signoff.tools.tool import Attempt, Done, FileAccess, Place, Tool, decode
from signoff.undo.reach import reach

if TYPE_CHECKING:
    import asyncio
    from concurrent import futures

    from signoff.undo.snapshot import Pending, Undo
else:
    asyncio = late("asyncio")
    futures = late("concurrent.futures")


class Sandboxes(Protocol):
    @property
    def confined(self) -> bool:
        """Does the profile of this session hold anything back?"""
        ...

    async def start(
        self, request: ProcessRequest, allowance: Allowance, on_output: OnOutput | None = None
    ) -> ProcessOutcome: ...

    async def begin(self, request: ProcessRequest, allowance: Allowance) -> Job: ...


class Gate:
    """One per session."""

    def __init__(
        self,
        *,
        registry: Registry,
        rulebook: Rulebook,
        reviewer: Reviewer,
        ledger: Ledger,
        sandboxes: Sandboxes,
        place: Place,
        approval: ApprovalPolicy,
        limit_s: float = 300.0,
        undo: "Undo | None" = None,
        files: FileAccess | None = None,
        show: Callable[[RunEvent], None] = lambda event: None,
    ) -> None:
        self._registry = registry
        self._rulebook = rulebook
        self._asking = Asking(reviewer, rulebook, ledger, limit_s=limit_s, show=show)
        self._ledger = ledger
        self._sandboxes = sandboxes
        self._place = place
        self._approval = approval
        self._limit_s = limit_s
        self._show = show
        self._undo = undo
        self._files = files
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, call: ToolCall, *, turn_id: str = "", source: str = "agent") -> ToolResult:
        """Carry a call through the door. Whatever happens, one result record is left behind."""
        started = time.monotonic_ns()
        self._loop = asyncio.get_running_loop()
        self._show(CallStarted(call))
        journey = _Journey(self._sandboxes.confined)
        done = Done(failure=Failure(Interrupted.code, "the call was interrupted; whether it took effect is unknown"))
        try:
            done = await self._perform(call, turn_id or call.trace_id, source, journey)
        except SignoffError as error:
            done = Done(failure=Failure(error.code, error.message))
        except Exception as error:  # a mistake in a tool is that call's failure, not the session's end
            done = Done(failure=Failure(SignoffError.code, f"{call.name} broke: {type(error).__name__}: {error}"))
        finally:
            result = ToolResult(
                tool_call_id=call.tool_call_id,
                ok=done.failure is None,
                payload=done.payload,
                error=done.failure,
                duration_ms=(time.monotonic_ns() - started) // 1_000_000,
                artifacts=done.artifacts,
                display=done.display,
            )
            self._ledger.submit(result_of(call, result, sandboxed=journey.sandboxed))
            self._show(CallFinished(result))
        return result

    async def clear(self, case: Case) -> Clearance:
        """Judge, ask if needed, and make the answer durable. Without a durable answer nothing is allowed."""
        return await self._clear(_followed(case))

    async def _clear(self, case: Case) -> Clearance:
        verdict, requirement = self._rulebook.judge(case.intent, self._asking.granted)
        self._ledger.submit(request_record(case))
        self._show(CallJudged(case.call.tool_call_id, verdict))
        if not isinstance(requirement, NeedsApproval):
            return await self._recorded(case, _unasked(case, verdict, requirement), DecidedBy.POLICY)
        reason, amendment = requirement.reason, requirement.proposed_execpolicy_amendment
        decision, by = await self._asking.review(case, verdict, reason, amendment)
        failure = refusal(decision, by_person=by in (DecidedBy.PERSON, DecidedBy.SESSION))
        if failure is None and followed(case.intent) is not case.intent:
            failure = Failure(Refused.code, "what it would touch has changed since the question; ask again")
        clearance = Clearance(verdict, requirement, decision, failure, outside=case.escalated)
        return await self._recorded(case, clearance, by)

    def may_connect(self, host: str, port: int) -> bool:
        """For the proxy's threads, while a call runs: may its command reach this host? Whatever goes wrong is a no."""
        if self._loop is None or self._loop.is_closed():
            return False
        case = host_case(host, port, self._ledger.run_id)
        asking = asyncio.run_coroutine_threadsafe(self.clear(case), self._loop)
        try:
            failure = asking.result(self._limit_s + LONGEST_SYNC_S).failure
        except (TimeoutError, futures.CancelledError, SignoffError) as error:
            failure = Failure(Interrupted.code, str(error))
        result = ToolResult(case.call.tool_call_id, failure is None, None, failure, 0)
        self._ledger.submit(result_of(case.call, result, sandboxed=False))
        return failure is None

    def clear_at_once(
        self, case: Case, *, meanwhile: Callable[[Clearance], None] | None = None
    ) -> tuple[Clearance, Ticket] | Verdict:
        """For a caller that cannot wait here: the answer, and the ticket that says when it is on disk and counts.
        `meanwhile`: it can wait a moment, and this is what it has to do in that time.

        Only the verdict if a person has to be asked; then nothing was recorded and `clear` is the way. Nobody is asked on
        behalf of a caller that does not wait for the answer.
        """
        case = _followed(case)
        verdict, requirement = self._rulebook.judge(case.intent, self._asking.granted)
        if not isinstance(requirement, NeedsApproval):
            clearance, by = _unasked(case, verdict, requirement), DecidedBy.POLICY
        elif case.enforced:
            return verdict
        else:
            failure = Failure(Refused.code, requirement.reason or "this needs approval")
            clearance, by = Clearance(verdict, requirement, failure=failure), DecidedBy.UNATTENDED
        self._show(CallJudged(case.call.tool_call_id, verdict))
        records = self._decision(case, clearance, by), request_record(case)
        if meanwhile is None:
            return clearance, self._ledger.submit(*records)
        return clearance, self._ledger.commit(*records, meanwhile=lambda: meanwhile(clearance))

    async def _perform(self, call: ToolCall, turn_id: str, source: str, journey: "_Journey") -> Done:
        tool = self._registry.find(call.name, call.version)
        arguments, files = decode(tool, call), self._files
        case = _followed(
            Case(
                call=call,
                intent=tool.intent(arguments, self._place),
                turn_id=turn_id,
                subject=tool.subject(arguments, self._place),
                newest=None if files is None else lambda: tool.newest_subject(arguments, self._place, files),
                keys=tuple(map(key_text, tool.approval_keys(arguments, self._place))),
                width=tool.remembered,
                covers_retry=self._may_retry(tool),
                source=source,
            )
        )
        clearance = await self._clear(case)
        if clearance.failure is not None:
            return Done(failure=clearance.failure)
        done = await self._attempt(tool, arguments, case, clearance, journey, outside=clearance.outside)
        if not done.sandbox_denied or clearance.outside or not self._may_retry(tool):
            return done
        clearance = await self._clear_retry(case, clearance)
        if clearance.failure is not None:
            return Done(failure=clearance.failure, artifacts=done.artifacts)
        return await self._attempt(tool, arguments, case, clearance, journey, outside=True)

    def _may_retry(self, tool: Tool[Any]) -> bool:
        return self._sandboxes.confined and tool.escalate_on_failure and tool.wants_no_sandbox_approval(self._approval)

    async def _clear_retry(self, case: Case, first: Clearance) -> Clearance:
        """The sandbox stopped it. A yes given before covers this; otherwise the person is asked once more."""
        decision, by = first.decision, DecidedBy.SESSION
        if decision is None:
            amendment = self._rulebook.proposed(case.intent, first.verdict, self._asking.granted)
            decision, by = await self._asking.review(case, first.verdict, RETRY_REASON, amendment, retry=True)
        failure = refusal(decision, by_person=by in (DecidedBy.PERSON, DecidedBy.SESSION))
        clearance = Clearance(first.verdict, first.requirement, decision, failure, outside=True)
        return await self._recorded(case, clearance, by, reason=RETRY_REASON)

    async def _attempt(
        self,
        tool: Tool[Any],
        arguments: msgspec.Struct,
        case: Case,
        clearance: Clearance,
        journey: "_Journey",
        *,
        outside: bool,
    ) -> Done:
        journey.sandboxed = journey.confined and not outside
        allowed = allowance(case.intent, clearance.verdict, outside, self._asking.granted)
        call_id, loop = case.call.tool_call_id, asyncio.get_running_loop()
        attempt = Attempt(
            call_id=call_id,
            place=self._place,
            outside=outside,
            start=lambda request, on_output=None: self._sandboxes.start(request, allowed, on_output),
            begin=lambda request: self._sandboxes.begin(request, allowed),
            progress=lambda stream, text: loop.call_soon_threadsafe(self._show, CallProgress(call_id, text, stream)),
            show=self._show,
            readable=lambda path: self._permits(case, FileRead(path)),
            reachable=lambda host: self._permits(case, host),
            files=self._files,
        )
        saved = await self._saved(case, clearance.verdict)
        changed: tuple[str, ...] = ()
        try:
            done = await tool.run(arguments, attempt)
        finally:
            if saved is not None:
                changed = self._left(saved)
        if not changed or done.artifacts.files_changed:
            return done
        artifacts = msgspec.structs.replace(done.artifacts, files_changed=changed)
        return msgspec.structs.replace(done, artifacts=artifacts)

    def _permits(self, case: Case, aspect: FileRead | Host) -> bool:
        intent = followed(Intent(case.intent.tool, case.intent.action, (aspect,)))
        return self._rulebook.judge(intent, self._asking.granted)[0].decision is Decision.ALLOW

    async def _saved(self, case: Case, verdict: Verdict) -> "Pending | None":
        """What the call may change, kept so that it can be put back; a call whose effects cannot be undone does not run."""
        paths = reach(case.intent, verdict)
        if self._undo is None or paths == ():
            return None
        return await asyncio.to_thread(self._undo.before, case.call.tool_call_id, case.call.name, paths)

    def _left(self, saved: "Pending") -> tuple[str, ...]:
        try:
            return saved.after()
        except (SignoffError, OSError) as error:
            self._show(Warned(f"what the call changed could not be noted, so undoing it needs --force: {error}"))
            return ()

    async def _recorded(self, case: Case, clearance: Clearance, by: DecidedBy, *, reason: str = "") -> Clearance:
        """The clearance, once its decision is on disk; a refusal if it cannot be."""
        try:
            await durable(self._ledger.submit(self._decision(case, clearance, by, reason=reason)))
        except LedgerUnwritable as error:
            failure = clearance.failure or Failure(error.code, error.message)
            return msgspec.structs.replace(clearance, failure=failure)
        return clearance

    def _decision(self, case: Case, clearance: Clearance, by: DecidedBy, *, reason: str = "") -> DecisionRecord:
        outcome = Outcome.ALLOW if clearance.allowed else Outcome.DENY
        why = reason if clearance.failure is None else clearance.failure.message
        sandboxed = self._sandboxes.confined and not clearance.outside
        return decision_of(
            case.call,
            case.intent.action,
            clearance.verdict,
            outcome,
            by,
            reason=why,
            sandboxed=sandboxed,
            enforced=case.enforced,
        )


def _followed(case: Case) -> Case:
    """What is judged and shown is what would really be touched; and a yes for the session is for where links lead now."""
    intent = followed(case.intent)
    if intent is case.intent:
        return case
    known = frozenset(case.intent.aspects)
    led = [getattr(aspect, "path", "") for aspect in intent.aspects if aspect not in known]
    keys = (*case.keys, *(key_text({"leads_to": path}) for path in led)) if case.keys else ()
    return msgspec.structs.replace(case, intent=intent, keys=keys)


def _unasked(case: Case, verdict: Verdict, requirement: Skip | Forbidden) -> Clearance:
    match requirement:
        case Forbidden(reason=reason):
            return Clearance(verdict, requirement, failure=Failure(Refused.code, reason))
        case Skip(bypass_sandbox=bypass):
            return Clearance(verdict, requirement, outside=bypass or case.escalated)
        case _:
            assert_never(requirement)


class _Journey:
    """What has to be known of a call even if it is cut short."""

    def __init__(self, confined: bool) -> None:
        self.confined = confined
        self.sandboxed = confined
