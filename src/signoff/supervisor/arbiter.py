"""Judge what the child wants to do, and answer.

Called from the threads that read the child. What needs no person is judged right there and handed to the ledger; its
answer leaves when the ledger says that it is on disk. What needs a person goes to another thread. The child hears of each
call at most once.
"""

import enum
import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from signoff.approvals.case import Case
from signoff.approvals.request import CallSubject
from signoff.approvals.store import key_text
from signoff.domain.call import Failure, ToolCall
from signoff.domain.clearance import Clearance
from signoff.domain.errors import Aborted, ControlLost, LedgerUnwritable, Refused, ReviewTimeout
from signoff.domain.settings import Audit
from signoff.domain.verdict import Verdict
from signoff.ledger.log import Ticket
from signoff.ledger.records import DecidedBy, Decision, Event, Outcome, Record, Request, Result
from signoff.ledger.spans import DecideSpan, Status
from signoff.ledger.tracing import Tracing
from signoff.supervisor.foreign import Kind, foreign_intent, session_key
from signoff.supervisor.pending import Pending, Step, Table, Tally, answers_first
from signoff.supervisor.reviews import Reviews
from signoff.supervisor.session import Heard, Lost, ParsedEvent, ParseFailed, now
from signoff.wire import control
from signoff.wire.control import ControlMessage, PolicyDecision
from signoff.wire.tool_events import PolicyAck, ToolEvent, ToolProgress, ToolRequest, ToolResult

POLICY_OFF = "policy.off"
MOST_NOTED = 100  # parse errors that get a record of their own; the rest is counted
Meanwhile = Callable[[Clearance], None]
Settled = tuple[Clearance, Ticket] | Verdict


class Door(Protocol):
    """What the arbiter needs of the gate."""

    def clear_at_once(self, case: Case, *, meanwhile: Meanwhile | None) -> Settled: ...
    async def clear(self, case: Case) -> Clearance: ...


class Log(Protocol):
    def submit(self, record: Record) -> Ticket: ...


class Channel(Protocol):
    def send(self, message: ControlMessage) -> bool: ...
    def send_line(self, line: bytes) -> bool: ...


class OnUnenforcedDeny(enum.StrEnum):
    WARN = "warn"
    ABORT = "abort"


class Terms(msgspec.Struct, frozen=True):
    """Under what conditions the child is supervised."""

    run_id: str
    cwd: str
    home: str
    audit: Audit = Audit.PROMPT
    on_unenforced_deny: OnUnenforcedDeny = OnUnenforcedDeny.WARN
    max_parse_errors: int | None = None
    decision_timeout_s: float = 300.0
    mapping: Mapping[str, Kind] = {}


class Stop(msgspec.Struct, frozen=True):
    """Why the run must end."""

    reason: str
    code: str  # of policy.abort
    error: str  # of the error vocabulary


class Arbiter:
    def __init__(
        self,
        door: Door,
        log: Log,
        terms: Terms,
        *,
        warn: Callable[[str], None],
        stop: Callable[[Stop], None],
        tracing: Tracing | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._door = door
        self._log = log
        self._terms = terms
        self._warn = warn
        self._stop = stop
        self._tracing = tracing or Tracing()
        self._clock = clock
        self._lock = threading.Lock()
        self._reviews = Reviews()
        self.table = Table()
        self.tally = Tally()
        self.left: list[Pending] = []  # after the end: calls without a result
        self.last_event = clock()
        self._deaf: str | None = None  # why it hears nothing, while it has said nothing either

    def hear(self, channel: Channel, event: ParsedEvent) -> None:
        match event:
            case Heard():
                self.last_event = self._clock()
                first, later = answers_first(event.events)
                for number, each in enumerate(first, 1):
                    self._event(channel, each, alone=number == len(first))
                for each in later:
                    self._result(each)
            case ParseFailed(stream, failures):
                for failure in failures:
                    self._parse_error(stream, failure.kind, failure.message)
            case Lost(reason):
                self._lost(reason)

    def _event(self, channel: Channel, event: ToolEvent, *, alone: bool) -> None:
        match event:
            case ToolRequest():
                self._request(channel, event, alone)
            case ToolResult():
                self._result(event)
            case ToolProgress():
                pass
            case PolicyAck():
                self.tally.acknowledged = True

    def _request(self, channel: Channel, request: ToolRequest, alone: bool) -> None:
        with self._lock:
            overloaded = self.table.full
            entry = None if overloaded else self.table.open(request, self._clock())
        if overloaded:
            self._overload(channel, request)
        elif entry is None:
            self.tally.duplicates += 1
            self._note("tool.request.duplicate", "debug", {"tool": request.tool}, request.id)
        else:
            try:
                self._judge(channel, request, alone)
            except Exception as error:  # the thread that reads the agent must outlive any request
                self._note("tool.request.unjudged", "error", {"error": repr(error)[:200]}, request.id)
                self._refuse(channel, request, "the request could not be judged", Step.DENY)

    def _judge(self, channel: Channel, request: ToolRequest, alone: bool) -> None:
        """`alone`: nothing that came with it waits to be heard, so this thread may wait for the disk."""
        self.tally.requests += 1
        self.tally.waited += request.requires_policy
        if self._deaf is not None and request.requires_policy:
            self._lost(self._deaf)
            return
        if request.action != request.judged_action:
            self.tally.mismatches += 1
            self._note("tool.request.action", "warning", {"action": request.action[:100]}, request.id)
        if self._terms.audit is Audit.OFF:
            ticket = self._unjudged(request)
            ticket.add_done_callback(lambda done: self._answer(channel, request, None, done.error))
            return
        case = self._case(request)
        yes: list[bytes] = []  # the line for it, where there was time to write it while the disk was busy

        def meanwhile(clearance: Clearance) -> None:
            if clearance.failure is None:
                yes.append(control.encode(self._permission(request, clearance)))

        settled = self._looked_at(request, case, meanwhile if alone and request.requires_policy else None)
        if isinstance(settled, Verdict):
            case = msgspec.structs.replace(case, keys=(key_text(session_key(request, self._terms.cwd, case.intent)),))
            self._reviews.ask(self._door.clear(case), lambda result: self._reviewed(channel, request, result))
            return
        clearance, ticket = settled
        if ticket.settled or not request.requires_policy:
            self._answer(channel, request, clearance, ticket.error, *yes)
        else:
            if not yes:
                meanwhile(clearance)
            ticket.add_done_callback(lambda done: self._answer(channel, request, clearance, done.error, *yes))

    def _looked_at(self, request: ToolRequest, case: Case, meanwhile: Meanwhile | None) -> Settled:
        if not self._tracing.on:
            return self._door.clear_at_once(case, meanwhile=meanwhile)
        span = DecideSpan(tool=request.tool, action=request.judged_action.value, tool_call_id=request.id)
        with self._tracing.span(span) as live:
            settled = self._door.clear_at_once(case, meanwhile=meanwhile)
            verdict = settled if isinstance(settled, Verdict) else settled[0].verdict
            live.fields.rule_id = verdict.winner.rule_id if verdict.winner else ""
            if isinstance(settled, Verdict):
                live.fields.decision = "ask"
            else:
                live.fields.decision = "allow" if settled[0].allowed else "deny"
                live.status = Status.OK if settled[0].allowed else Status.DENIED
        return settled

    def _case(self, request: ToolRequest) -> Case:
        terms = self._terms
        action = request.judged_action
        args = request.args if isinstance(request.args, dict) else {"value": request.args}
        intent = foreign_intent(
            request.tool,
            action,
            request.args,
            cwd=terms.cwd,
            home=terms.home,
            mapping=terms.mapping,
            justification=request.rationale,
        )
        return Case(
            call=ToolCall(request.id, request.tool, "", args, terms.run_id, time.time_ns() // 1_000_000),
            intent=intent,
            turn_id=terms.run_id,
            subject=CallSubject(args, request.rationale),
            source="child",
            enforced=request.requires_policy,
        )

    def _reviewed(self, channel: Channel, request: ToolRequest, result: Clearance | BaseException) -> None:
        if isinstance(result, Clearance):
            self._answer(channel, request, result, None)
        else:
            self._refuse(channel, request, f"nobody could be asked: {result}", Step.DENY)

    def _answer(
        self,
        channel: Channel,
        request: ToolRequest,
        clearance: Clearance | None,
        error: LedgerUnwritable | None,
        yes: bytes | None = None,
    ) -> None:
        """Tell the child, once, what the door said. A decision that is not on disk is a no, and the end of the run."""
        failure = clearance.failure if clearance is not None else None
        if error is not None:
            failure = Failure(error.code, error.message)
        if failure is None:
            self._allow(channel, request, yes or control.encode(self._permission(request, clearance)))
        else:
            rule = clearance.verdict.winner.rule_id if clearance and clearance.verdict.winner else None
            self._refuse(channel, request, failure.message, _step(failure), rule)
        if failure is not None and failure.code in (Aborted.code, LedgerUnwritable.code):
            code = "user_cancel" if failure.code == Aborted.code else "fatal_error"
            self._stop(Stop(failure.message, code, failure.code))

    def _allow(self, channel: Channel, request: ToolRequest, yes: bytes) -> None:
        if self._advance(request, Step.ALLOW) is None:
            return
        self.tally.allowed += 1
        if request.requires_policy:
            channel.send_line(yes)

    def _permission(self, request: ToolRequest, clearance: Clearance | None) -> PolicyDecision:
        winner = clearance.verdict.winner if clearance else None
        return PolicyDecision(
            1,
            now(),
            self._terms.run_id,
            request.id,
            "allow",
            (winner and winner.reason) or "allowed by policy",
            winner.rule_id if winner else POLICY_OFF,
            winner.constraints if winner else None,
            winner.expires_in_ms if winner else None,
        )

    def _refuse(
        self, channel: Channel, request: ToolRequest, reason: str, step: Step, rule_id: str | None = None
    ) -> None:
        if self._advance(request, step) is None:
            return
        self.tally.denied += 1
        self.tally.timed_out += step is Step.TIMEOUT
        if request.requires_policy:
            channel.send(PolicyDecision(1, now(), self._terms.run_id, request.id, "deny", reason, rule_id))
            return
        self._warn(f"not allowed, and the agent does not wait for an answer: {request.tool} {request.action}: {reason}")
        if self._terms.on_unenforced_deny is OnUnenforcedDeny.ABORT:
            self._stop(Stop(reason, "policy_violation", Refused.code))

    def _advance(self, request: ToolRequest, step: Step) -> Pending | None:
        with self._lock:
            return self.table.advance(request.id, step, self._clock())

    def _overload(self, channel: Channel, request: ToolRequest) -> None:
        self.tally.denied += 1
        reason = "overload: too many requests are waiting"
        record = self._decision(request, Outcome.DENY, DecidedBy.OVERLOAD, reason, "overload")
        ticket = self._log.submit(record)
        deny = PolicyDecision(1, now(), self._terms.run_id, request.id, "deny", reason, "overload")

        def tell(_: Ticket) -> None:
            if request.requires_policy:
                channel.send(deny)

        ticket.add_done_callback(tell)

    def _unjudged(self, request: ToolRequest) -> Ticket:
        self._log.submit(
            Request(request.id, request.tool, request.judged_action, request.args, self._terms.run_id, source="child")
        )
        return self._log.submit(self._decision(request, Outcome.ALLOW, DecidedBy.POLICY, "judging is off", POLICY_OFF))

    def _decision(self, request: ToolRequest, outcome: Outcome, by: DecidedBy, reason: str, rule: str) -> Decision:
        return Decision(
            request.id, request.tool, request.judged_action, outcome, by, rule, reason, enforced=request.requires_policy
        )

    def _result(self, result: ToolResult) -> None:
        with self._lock:
            early = result.id in self.table.waiting
            entry = None if early else self.table.advance(result.id, Step.RESULT, self._clock())
        if entry is None:
            name = "tool.result.before_decision" if early else "tool.result.unknown"
            self._note(name, "warning" if early else "debug", {"ok": result.ok}, result.id)
            return
        self.tally.results += 1
        self.tally.failed_results += not result.ok
        code = result.output.get("exit_code") if isinstance(result.output, dict) else None
        if isinstance(code, int) and code:  # a command that ran but failed: the call is ok, what it says is not
            self._note("tool.exit", "info", {"exit_code": code}, result.id)
        self._record(entry, result.ok, None if result.ok else Failure("tool.failed", result.error or "failed"))

    def _record(self, entry: Pending, ok: bool, failure: Failure | None) -> None:
        request = entry.request
        elapsed = int((self._clock() - entry.asked_at) * 1000)
        self._log.submit(
            Result(
                request.id, self._terms.run_id, request.tool, "", request.args, ok, elapsed, failure, sandboxed=False
            )
        )

    def _parse_error(self, stream: str, kind: str, message: str) -> None:
        self.tally.parse_errors += 1
        if self.tally.parse_errors <= MOST_NOTED:
            self._note("tool.parse.error", "warning", {"stream": stream, "error.kind": kind, "error.message": message})
        limit = self._terms.max_parse_errors
        if limit is not None and self.tally.parse_errors > limit:
            self._stop(Stop(f"more than {limit} event lines could not be read", "fatal_error", kind))

    def _lost(self, reason: str) -> None:
        """Nothing can be answered any more: what waits has failed, and an uncontrolled child must end."""
        if not self.tally.spoke:
            self._deaf = reason
            return
        with self._lock:
            waiting = list(self.table.waiting)
            failed = [self.table.advance(call_id, Step.LOST, self._clock()) for call_id in waiting]
        for entry in failed:
            if entry is not None:
                self._record(entry, False, Failure(ControlLost.code, f"the decision could not be delivered: {reason}"))
        self._note("control.lost", "error", {"reason": reason, "waiting": len(waiting)})
        if failed or self.tally.waited:
            self._stop(Stop(f"the control channel is lost: {reason}", "fatal_error", ControlLost.code))

    def _note(self, name: str, level: str, data: dict[str, object], call_id: str = "") -> None:
        self._log.submit(Event(name, data, level, call_id, self._terms.run_id))

    def tick(self, channel: Channel) -> None:
        """Deny what nobody decided in time. The gate's own limit comes first; this one also covers a stuck disk."""
        with self._lock:
            late = self.table.overdue(self._clock(), self._terms.decision_timeout_s + 5)
            requests = [self.table.waiting[call_id].request for call_id in late]
        for request in requests:
            self._refuse(channel, request, "policy timeout", Step.TIMEOUT)

    def finish(self) -> None:
        """The child is gone: withdraw open questions, and leave a result for every call that has none."""
        with self._lock:
            self.left = [*self.table.waiting.values(), *self.table.decided.values()]
            self.table = Table()
        self._reviews.close()
        for entry in self.left:
            self._record(entry, False, Failure("interrupted", f"the agent ended; last seen as {entry.state}"))


def _step(failure: Failure) -> Step:
    return Step.TIMEOUT if failure.code == ReviewTimeout.code else Step.DENY
