"""Every span and event a run can leave, with its fields. Names are fixed; whatever varies is in a field.

A span is a struct: what is known at the start is given to it, what is learnt on the way is set on it, and all of it is
sent when the span ends. None means not known and is not sent. `gen_ai.*` attributes stand beside our own names, so that
a viewer that knows only those (semantic conventions 1.41) shows something sensible.
"""

import enum
from typing import Any, ClassVar, Literal

import msgspec


class Step(enum.StrEnum):
    """`action` of the event that sums up a span."""

    SEARCH = "search"
    INJECT = "inject"
    SPAWN = "spawn"
    STREAM = "stream"
    PARSE = "parse"
    DECIDE = "decide"
    HIT = "hit"
    CANDIDATE = "candidate"
    VALIDATE = "validate"


class Status(enum.StrEnum):
    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    SKIPPED = "skipped"


class SpanEvent(msgspec.Struct, kw_only=True):
    """A moment inside a span."""

    name: ClassVar[str]


class SearchResult(SpanEvent):
    name = "memory.search.result"
    items: int
    top1_score: float | None = None


class GatekeeperDecision(SpanEvent):
    name = "gatekeeper.decision"
    write_candidate: bool
    reason_count: int


class PolicyDecision(SpanEvent):
    name = "policy.decision"
    tool: str
    action: str
    decision: str
    rule_id: str


class HangSuspected(SpanEvent):
    name = "mem_codecli.hang.suspected"
    idle_ms: int
    pending_decision: int = 0
    pending_exec: int = 0


class Span(msgspec.Struct, kw_only=True):
    """What all spans share. `run_id` and `project_id` are added by the tracing, not by the caller."""

    name: ClassVar[str]
    step: ClassVar[Step | None] = None

    def gen_ai(self) -> dict[str, Any]:
        """The same facts in the words of the generative AI conventions."""
        return {}

    def outcome(self) -> SpanEvent | None:
        """An event of its own that the end of this span brings."""
        return None


class RunSpan(Span, rename={"codecli_program": "codecli.program"}):
    name = "mem_codecli.run"
    memory_on: bool
    inject_mode: str
    gatekeeper: str
    audit: str
    redact: str
    codecli_program: str
    session_id: str | None = None
    exit_code: int | None = None

    def gen_ai(self) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": self.codecli_program,
            "gen_ai.conversation.id": self.session_id,
        }


class ContextSpan(Span):
    name = "mem_codecli.context.build"
    query_len: int | None = None
    session_file: str | None = None
    query_sources: tuple[str, ...] | None = None


class SearchSpan(Span, rename={"http_status": "http.status"}):
    name = "mem_codecli.memory.search"
    step = Step.SEARCH
    limit: int
    min_score: float
    http_status: int | None = None


class InjectSpan(Span):
    name = "mem_codecli.prompt.inject"
    step = Step.INJECT
    target: Literal["system", "user", "both"]
    inject_items: int | None = None
    inject_chars: int | None = None


class SpawnSpan(Span):
    name = "mem_codecli.runner.spawn"
    step = Step.SPAWN
    program: str
    args_len: int
    cwd: str


class StreamSpan(Span):
    name = "mem_codecli.runner.stream"
    step = Step.STREAM
    stream_stdout: bool
    stream_stderr: bool
    captured_bytes_stdout: int | None = None
    captured_bytes_stderr: int | None = None


class ParseSpan(Span):
    name = "mem_codecli.tool.parse"
    step = Step.PARSE
    source: Literal["stdout", "stderr"]
    lines_seen: int | None = None
    events_parsed: int | None = None
    errors: int | None = None


class DecideSpan(Span):
    name = "mem_codecli.policy.decide"
    step = Step.DECIDE
    tool: str
    action: str
    tool_call_id: str | None = None
    decision: Literal["allow", "deny", "ask"] | None = None
    rule_id: str | None = None

    def gen_ai(self) -> dict[str, Any]:
        return {"gen_ai.tool.name": self.tool, "gen_ai.tool.call.id": self.tool_call_id}

    def outcome(self) -> SpanEvent | None:
        if self.decision is None:
            return None
        return PolicyDecision(tool=self.tool, action=self.action, decision=self.decision, rule_id=self.rule_id or "")


class HitSpan(Span, rename={"http_status": "http.status"}):
    name = "mem_codecli.memory.hit"
    step = Step.HIT
    refs: int
    used_count: int
    shown_count: int
    http_status: int | None = None


class GatekeeperSpan(Span):
    name = "mem_codecli.gatekeeper.evaluate"
    stdout_len: int
    stderr_len: int


class CandidateSpan(Span, rename={"http_status": "http.status"}):
    name = "mem_codecli.memory.candidate"
    step = Step.CANDIDATE
    question_len: int
    answer_len: int
    tags_count: int
    http_status: int | None = None


class ValidateSpan(Span, rename={"http_status": "http.status"}):
    name = "mem_codecli.memory.validate"
    step = Step.VALIDATE
    strong_signal: bool
    signal_strength: str
    http_status: int | None = None


class ToolSpan(Span):
    """One tool running. `arguments` and `result` are sent only where content capture was asked for, and redacted."""

    name = "mem_codecli.tool.call"
    tool: str
    tool_call_id: str
    arguments: str | None = None
    result: str | None = None

    def gen_ai(self) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": self.tool,
            "gen_ai.tool.call.id": self.tool_call_id,
            "gen_ai.tool.type": "function",
        }


class ModelSpan(Span):
    """One answer of the model."""

    name = "mem_codecli.model.call"
    provider: str
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    finish_reason: str | None = None

    def gen_ai(self) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.provider,
            "gen_ai.request.model": self.model,
            "gen_ai.usage.input_tokens": self.input_tokens,
            "gen_ai.usage.output_tokens": self.output_tokens,
            "gen_ai.response.finish_reasons": (self.finish_reason,) if self.finish_reason else None,
        }


class AbortSpan(Span):
    name = "mem_codecli.control.abort"
    reason: str
    pending_decision: int
    pending_exec: int
    last_output_age_ms: int
