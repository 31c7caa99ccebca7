"""The kinds of record a ledger holds, and the line around them.

A line is one JSON object, `{"hash", "prev", "run_id", "seq", "since_ns", "ts", "what"}`, spelled canonically. `hash` is
the SHA-256 of the object without `hash`; `prev` is the hash of the line before, so a line vouches for all before it.
`since_ns` counts from the start of the run on a clock that never jumps. What happened is in `what`; it comes last, so
that everything the chain needs stands at the beginning of the line, where a verifier finds it without parsing.
Callers hand in raw arguments; the ledger writes them redacted, and beside them a keyed digest of what they were.
"""

import enum
from typing import Any

import msgspec

from signoff.domain.call import Failure, ToolCall, ToolResult
from signoff.domain.intent import Action
from signoff.domain.settings import Redact
from signoff.domain.verdict import Verdict

FORMAT = 1
UNGUARDED = "none"  # the `sandbox` of a run whose commands somebody else starts
NO_HASH = "0" * 64  # what the first record follows


class DecidedBy(enum.StrEnum):
    """Who had the last word on a call."""

    POLICY = "policy"
    PERSON = "person"
    SESSION = "session"  # a person, earlier in this session
    UNATTENDED = "unattended"  # nobody to ask: the default spoke
    TIMEOUT = "timeout"  # nobody answered
    OVERLOAD = "overload"  # too much was waiting
    INTERRUPT = "interrupt"  # the run ended first


class Outcome(enum.StrEnum):
    """The final answer, after any review."""

    ALLOW = "allow"
    DENY = "deny"


class Genesis(msgspec.Struct, frozen=True, tag="genesis", tag_field="type"):
    """Under what circumstances the run began. `previous_*` ties a resumed session to the run before it."""

    command: tuple[str, ...]
    workspace: str
    project_id: str
    signoff: str  # its version
    redact: Redact
    format: int = FORMAT
    policy_sha256: str = ""
    approval: str = ""
    sandbox: str = ""
    session_id: str = ""
    previous_run: str = ""
    previous_head: str = ""
    key_id: str = ""  # which key made the digests; filled in by the ledger
    environment: dict[str, str] = {}  # python, platform, kernel …


class Request(msgspec.Struct, frozen=True, tag="request", tag_field="type", omit_defaults=True):
    """Somebody wants to do something."""

    tool_call_id: str
    name: str
    action: Action
    args: Any
    trace_id: str = ""
    version: str = ""
    source: str = ""  # agent, child, acp, shell …
    rationale: str = ""
    args_hmac: str = ""  # filled in by the ledger


class Decision(msgspec.Struct, frozen=True, tag="decision", tag_field="type", omit_defaults=True):
    """What was answered, by whom, and every rule that spoke. Durable before it takes effect."""

    tool_call_id: str
    name: str
    action: Action
    decision: Outcome
    decided_by: DecidedBy
    rule_id: str = ""
    reason: str = ""
    trace_id: str = ""
    verdict: str = ""  # what the policy alone said: allow, ask or deny
    matches: tuple[dict[str, Any], ...] = ()
    sandboxed: bool = True
    enforced: bool = True  # false: the child does not wait for the answer


class Review(msgspec.Struct, frozen=True, tag="review", tag_field="type", omit_defaults=True):
    """What a person was asked and what they said, in the words of the approval protocol."""

    tool_call_id: str
    decision: str
    reviewer: str = ""  # terminal, acp, unattended …
    question: str = ""
    rejection: str = ""
    amendment: tuple[str, ...] = ()
    duration_ms: int = 0
    trace_id: str = ""


class Effects(msgspec.Struct, frozen=True):
    """What a call changed; both lists are always there, so that a reader need not guess."""

    files_changed: tuple[str, ...] = ()
    commands_run: tuple[str, ...] = ()
    exit_status: int | msgspec.UnsetType = msgspec.UNSET  # of a command that ran to its end


class Result(msgspec.Struct, frozen=True, tag="result", tag_field="type"):
    """How one tool call ended. Every call has exactly one, with every field."""

    tool_call_id: str
    trace_id: str
    name: str
    version: str
    args: Any
    ok: bool
    duration_ms: int
    error: Failure | None = None
    artifacts: Effects = Effects()
    sandboxed: bool = True
    args_hmac: str = ""  # filled in by the ledger


class Event(msgspec.Struct, frozen=True, tag="event", tag_field="type", omit_defaults=True):
    """Anything else worth knowing: run and memory events, network connections, duplicate requests, hangs."""

    name: str
    data: dict[str, Any] = {}
    level: str = "info"  # debug, info, warning, error
    tool_call_id: str = ""
    trace_id: str = ""


class Close(msgspec.Struct, frozen=True, tag="close", tag_field="type", omit_defaults=True):
    """The run is over. `count` records came before this one, the last of them with the hash `head`."""

    exit_code: int
    reason: str = ""
    count: int = 0  # filled in by the ledger
    head: str = NO_HASH  # filled in by the ledger


Record = Genesis | Request | Decision | Review | Result | Event | Close


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the file, read back."""

    hash: str
    prev: str
    run_id: str
    seq: int
    since_ns: int
    ts: str
    what: Record


def decision_of(
    call: ToolCall,
    action: Action,
    verdict: Verdict,
    outcome: Outcome,
    decided_by: DecidedBy,
    *,
    reason: str = "",
    sandboxed: bool = True,
    enforced: bool = True,
) -> Decision:
    """The record of an answer, with every rule that spoke."""
    winner = verdict.winner
    return Decision(
        tool_call_id=call.tool_call_id,
        name=call.name,
        action=action,
        decision=outcome,
        decided_by=decided_by,
        rule_id=winner.rule_id if winner else "",
        reason=reason or (winner.reason if winner and winner.reason else ""),
        trace_id=call.trace_id,
        verdict=verdict.decision.word,
        matches=verdict.cited,
        sandboxed=sandboxed,
        enforced=enforced,
    )


def result_of(call: ToolCall, result: ToolResult, *, sandboxed: bool = True) -> Result:
    """The one record of a finished call."""
    done = result.artifacts
    status = msgspec.UNSET if done.exit_status is None else done.exit_status
    return Result(
        tool_call_id=call.tool_call_id,
        trace_id=call.trace_id,
        name=call.name,
        version=call.version,
        args=call.args,
        ok=result.ok,
        duration_ms=result.duration_ms,
        error=result.error,
        artifacts=Effects(done.files_changed, done.commands_run, status),
        sandboxed=sandboxed,
    )
