"""The spans of a run, as a real OTLP receiver gets them."""

import pathlib
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from signoff.domain.errors import ChildFailed, MemoryTimeout, Refused
from signoff.ledger.spans import (
    AbortSpan,
    CandidateSpan,
    ContextSpan,
    DecideSpan,
    GatekeeperDecision,
    GatekeeperSpan,
    HangSuspected,
    HitSpan,
    InjectSpan,
    ModelSpan,
    ParseSpan,
    RunSpan,
    SearchResult,
    SearchSpan,
    Span,
    SpawnSpan,
    Status,
    Step,
    StreamSpan,
    ToolSpan,
    ValidateSpan,
)
from signoff.ledger.tracing import Tracing, wanted
from tests.clauses import requirement
from tests.ledger.receiver import Receiver

ROOT = pathlib.Path(__file__).parents[2]
RUN = RunSpan(
    memory_on=True, inject_mode="system", gatekeeper="soft", audit="prompt", redact="basic", codecli_program="agent"
)


def hide(text: str) -> str:
    return text.replace("hunter2", "[x]")


@pytest.fixture
def send(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Receiver]:
    """send(work, **variables): run `work(tracing)` with a receiver listening; give the receiver with what it got."""

    def send(work: Callable[[Tracing], None], **variables: str) -> Receiver:
        with Receiver() as receiver:
            environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address, **variables}
            for name, value in environ.items():
                monkeypatch.setenv(name, value)
            tracing = Tracing.of(environ, "run-1", "project-1", hide)
            assert tracing.on, tracing.problem
            work(tracing)
            tracing.close()
        return receiver

    return send


def whole_run(tracing: Tracing) -> None:
    with tracing.span(RUN):
        with tracing.span(ContextSpan()) as build:
            build.fields.query_len = 12
            build.fields.session_file = "s.jsonl"
            build.fields.query_sources = ("prompt", "session_file")
        with tracing.span(SearchSpan(limit=6, min_score=0.2)) as search:
            search.fields.http_status = 200
            search.event(SearchResult(items=2, top1_score=0.75))
        with tracing.span(InjectSpan(target="both", inject_items=2, inject_chars=340)):
            pass
        with tracing.span(SpawnSpan(program="agent", args_len=3, cwd="/w")):
            pass
        with tracing.span(StreamSpan(stream_stdout=True, stream_stderr=False)) as stream:
            with tracing.span(ParseSpan(source="stdout", lines_seen=9, events_parsed=4, errors=1)):
                pass
            with tracing.span(DecideSpan(tool="shell", action="exec", tool_call_id="c1")) as decide:
                decide.fields.decision, decide.fields.rule_id = "deny", "no-rm"
                decide.status = Status.DENIED
            stream.fields.captured_bytes_stdout, stream.fields.captured_bytes_stderr = 100, 0
            stream.event(HangSuspected(idle_ms=120_000))
        with tracing.span(HitSpan(refs=2, used_count=1, shown_count=2, http_status=204)):
            pass
        with tracing.span(GatekeeperSpan(stdout_len=10, stderr_len=0)) as gate:
            gate.event(GatekeeperDecision(write_candidate=True, reason_count=0))
        with tracing.span(CandidateSpan(question_len=5, answer_len=9, tags_count=1, http_status=201)):
            pass
        with tracing.span(ValidateSpan(strong_signal=True, signal_strength="strong", http_status=200)):
            pass
        with tracing.span(AbortSpan(reason="hang", pending_decision=1, pending_exec=0, last_output_age_ms=5)):
            pass


FIELDS: dict[str, dict[str, Any]] = {
    "mem_codecli.run": {
        "memory_on": True, "inject_mode": "system", "gatekeeper": "soft", "audit": "prompt", "redact": "basic",
        "codecli.program": "agent", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "agent",
    },
    "mem_codecli.context.build": {
        "query_len": 12, "session_file": "s.jsonl", "query_sources": ("prompt", "session_file"),
    },
    "mem_codecli.memory.search": {"limit": 6, "min_score": 0.2, "http.status": 200},
    "mem_codecli.prompt.inject": {"inject_items": 2, "inject_chars": 340, "target": "both"},
    "mem_codecli.runner.spawn": {"program": "agent", "args_len": 3, "cwd": "/w"},
    "mem_codecli.runner.stream": {
        "stream_stdout": True, "stream_stderr": False, "captured_bytes_stdout": 100, "captured_bytes_stderr": 0,
    },
    "mem_codecli.tool.parse": {"source": "stdout", "lines_seen": 9, "events_parsed": 4, "errors": 1},
    "mem_codecli.policy.decide": {
        "tool": "shell", "action": "exec", "decision": "deny", "rule_id": "no-rm", "tool_call_id": "c1",
        "gen_ai.tool.name": "shell", "gen_ai.tool.call.id": "c1",
    },
    "mem_codecli.memory.hit": {"refs": 2, "used_count": 1, "shown_count": 2, "http.status": 204},
    "mem_codecli.gatekeeper.evaluate": {"stdout_len": 10, "stderr_len": 0},
    "mem_codecli.memory.candidate": {"question_len": 5, "answer_len": 9, "tags_count": 1, "http.status": 201},
    "mem_codecli.memory.validate": {"strong_signal": True, "signal_strength": "strong", "http.status": 200},
    "mem_codecli.control.abort": {
        "reason": "hang", "pending_decision": 1, "pending_exec": 0, "last_output_age_ms": 5,
    },
}  # fmt: skip


@requirement(
    "MEM-075", "MEM-076", "MEM-077", "MEM-079", "MEM-080", "MEM-081", "MEM-082", "MEM-084", "MEM-085", "MEM-086", "MEM-087",
    "MEM-088", "MEM-089", "MEM-090", "MEM-092", "MEM-093",
)  # fmt: skip
def test_every_span_arrives_with_its_fields_below_the_run(send: Callable[..., Receiver]) -> None:
    receiver = send(whole_run)
    assert receiver.paths == {"/v1/traces"}
    assert {resource["service.name"] for resource in receiver.resources} == {"signoff"}
    common = {"run_id": "run-1", "project_id": "project-1"}
    assert {span.name: span.attributes for span in receiver.spans} == {
        name: fields | common for name, fields in FIELDS.items()
    }
    root = receiver.named("mem_codecli.run")
    below = {root.id} | {span.id for span in receiver.spans if span.parent == root.id}
    assert root.parent == b""
    assert all(span.parent in below for span in receiver.spans if span is not root)
    assert len({span.trace for span in receiver.spans}) == 1


@requirement("MEM-083", "MEM-091", "MEM-094", "MEM-095", "MEM-096")
def test_every_event_arrives_in_its_span(send: Callable[..., Receiver]) -> None:
    receiver = send(whole_run)
    search = receiver.named("mem_codecli.memory.search").events
    assert search["memory.search.result"] == {"items": 2, "top1_score": 0.75}
    evaluated = receiver.named("mem_codecli.gatekeeper.evaluate").events
    assert evaluated == {"gatekeeper.decision": {"write_candidate": True, "reason_count": 0}}
    decided = receiver.named("mem_codecli.policy.decide").events
    assert decided["policy.decision"] == {"tool": "shell", "action": "exec", "decision": "deny", "rule_id": "no-rm"}
    assert decided["policy.decide"]["status"] == "denied"
    assert receiver.named("mem_codecli.runner.stream").events["mem_codecli.hang.suspected"]["idle_ms"] == 120_000
    summaries = [event for span in receiver.spans for event in span.events.values() if "latency_ms" in event]
    assert {event["action"] for event in summaries} == {step.value for step in Step}
    assert {event["status"] for event in summaries} <= {status.value for status in Status}
    assert all(0 <= event["latency_ms"] < 2**64 for event in summaries)


@requirement("MEM-078", "MEM-097", "MEM-098")
@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        (MemoryTimeout("no answer from hunter2 in 10 s"), "memory.timeout", "error"),
        (ChildFailed("hunter2: no such program"), "runner.spawn", "error"),
        (Refused("hunter2 is not allowed"), "policy.denied", "denied"),
        (KeyError("hunter2"), "internal", "error"),
    ],
)
def test_a_failed_step_says_which_error_in_redacted_words(
    send: Callable[..., Receiver], error: Exception, kind: str, status: str
) -> None:
    def work(tracing: Tracing) -> None:
        with pytest.raises(type(error)), tracing.span(RUN), tracing.span(SearchSpan(limit=1, min_score=0)):
            raise error

    span = send(work).named("mem_codecli.memory.search")
    event = span.events["memory.search"]
    assert (event["action"], event["status"], event["error.kind"]) == ("search", status, kind)
    assert "hunter2" not in event["error.message"]
    assert "[x]" in event["error.message"]
    assert span.failed is (status == "error")
    assert span.attributes["error.type"] == kind


@requirement("MEM-123")
def test_a_span_of_another_thread_still_belongs_to_the_run(send: Callable[..., Receiver]) -> None:
    def work(tracing: Tracing) -> None:
        def elsewhere() -> None:
            with tracing.span(SpawnSpan(program="p", args_len=0, cwd="/")):
                pass

        with tracing.span(RUN):
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join(60)

    receiver = send(work)
    assert receiver.named("mem_codecli.runner.spawn").parent == receiver.named("mem_codecli.run").id


def test_a_caller_s_trace_is_continued(send: Callable[..., Receiver]) -> None:
    def work(tracing: Tracing) -> None:
        assert tracing.trace_id == "ab" * 16
        with tracing.span(RUN):
            assert tracing.trace_id == "ab" * 16

    run = send(work, TRACEPARENT=f"00-{'ab' * 16}-{'cd' * 8}-01").named("mem_codecli.run")
    assert (run.trace, run.parent.hex()) == ("ab" * 16, "cd" * 8)


@pytest.mark.parametrize("capture", ["", "true"])
def test_content_is_sent_only_when_asked_for_and_redacted_even_then(
    send: Callable[..., Receiver], capture: str
) -> None:
    def work(tracing: Tracing) -> None:
        with tracing.span(ToolSpan(tool="shell", tool_call_id="c1", arguments='{"c":"echo hunter2"}')) as call:
            call.fields.result = "hunter2"

    found = (
        send(work, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=capture).named("mem_codecli.tool.call").attributes
    )
    told = {
        name: value
        for name, value in found.items()
        if name.startswith("gen_ai.tool.call.") and name != "gen_ai.tool.call.id"
    }
    expected = {"gen_ai.tool.call.arguments": '{"c":"echo [x]"}', "gen_ai.tool.call.result": "[x]"} if capture else {}
    assert told == expected
    assert "hunter2" not in str(found)
    assert found["gen_ai.operation.name"] == "execute_tool"


def test_a_model_call_is_told_in_the_words_of_the_conventions(send: Callable[..., Receiver]) -> None:
    def work(tracing: Tracing) -> None:
        with tracing.span(ModelSpan(provider="openai", model="m")) as call:
            call.fields.input_tokens, call.fields.output_tokens, call.fields.finish_reason = 10, 5, "stop"

    found = send(work).named("mem_codecli.model.call").attributes
    assert found["gen_ai.operation.name"] == "chat"
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (10, 5)
    assert found["gen_ai.response.finish_reasons"] == ("stop",)


@pytest.mark.parametrize(
    ("environ", "on"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
    ],
)
def test_the_usual_variables_switch_tracing_on(environ: dict[str, str], on: bool) -> None:
    assert wanted(environ) is on


def test_when_off_nothing_of_opentelemetry_is_imported_and_spans_still_work() -> None:
    code = """
import sys
from signoff.ledger.tracing import Tracing
from signoff.ledger.spans import SearchSpan, SearchResult
tracing = Tracing.of({}, "r", "p", str)
with tracing.span(SearchSpan(limit=1, min_score=0)) as search:
    search.fields.http_status = 200
    search.event(SearchResult(items=1))
tracing.close()
assert (tracing.on, tracing.trace_id, tracing.problem) == (False, "", None)
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


def test_tracing_that_cannot_work_says_so_and_stops_nothing() -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    tracing = Tracing.of(environ, "r", "p", str)
    assert not tracing.on
    assert tracing.problem == "spans are not sent: the protocol grpc is not supported, use http/protobuf"
    missing = "import sys; sys.modules['opentelemetry.sdk'] = None\nfrom signoff.ledger.tracing import Tracing\n"
    missing += "print(Tracing.of({'OTEL_TRACES_EXPORTER': 'otlp'}, 'r', 'p', str).problem)"
    done = subprocess.run(
        [sys.executable, "-c", missing], check=True, cwd=ROOT, timeout=60, capture_output=True, text=True
    )
    assert "install signoff[otel]" in done.stdout


def test_every_span_has_a_name_of_its_own() -> None:
    names = [kind.name for kind in Span.__subclasses__()]
    assert len(set(names)) == len(names)
    assert all(name.startswith("mem_codecli.") and name.count(".") <= 2 for name in names)
