"""Spans over OpenTelemetry. Imported only when somebody listens, because its SDK costs more than most commands do.

Content (arguments, results) is sent only with OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, and redacted even then.
"""

import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec
from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from signoff import __version__
from signoff.domain.errors import Refused, SignoffError
from signoff.ledger.spans import RunSpan, Span, SpanEvent, Status, ToolSpan
from signoff.ledger.tracing import F, Live

PREFIX = "mem_codecli."
LONGEST_MESSAGE = 200  # characters of error.message
LONGEST_CLOSE = 5.0  # seconds
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Exporting:
    """One run's spans, all below its root, each with the run and the project."""

    def __init__(self, environ: Mapping[str, str], run_id: str, project_id: str, redact: Callable[[str], str]) -> None:
        protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        if protocol not in (None, "", "http/protobuf"):
            raise ValueError(f"the protocol {protocol} is not supported, use http/protobuf")
        resource = Resource.create({} if environ.get("OTEL_SERVICE_NAME") else {"service.name": "signoff"})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self.tracer = self._provider.get_tracer("signoff", __version__)
        self.common = {"run_id": run_id, "project_id": project_id}
        self.redact = redact
        self.capture = environ.get(CAPTURE, "").strip().lower() == "true"
        # a caller with a trace of its own names it this way; without one the run starts a trace
        self.root = TraceContextTextMapPropagator().extract({"traceparent": environ.get("TRACEPARENT", "")})

    def open(self, fields: F) -> Live[F]:
        return Recorded(fields, self)

    def trace_id(self) -> str:
        return trace.format_trace_id(trace.get_current_span(self.root).get_span_context().trace_id)

    def close(self) -> None:
        """Send what is left. In a thread, because a receiver that does not answer would hold up the end of the run."""
        worker = threading.Thread(target=self._provider.shutdown, daemon=True)
        worker.start()
        worker.join(LONGEST_CLOSE)


class Recorded(Live[F]):
    __slots__ = ("_began", "_exporting", "_span", "_token")

    def __init__(self, fields: F, exporting: Exporting) -> None:
        super().__init__(fields)
        self._exporting = exporting

    def __enter__(self) -> Self:
        above = context.get_current()
        if not trace.get_current_span(above).get_span_context().is_valid:
            above = self._exporting.root  # a thread of its own: still part of this run
        self._began = time.monotonic_ns()
        self._span = self._exporting.tracer.start_span(self.fields.name, above, attributes=self._exporting.common)
        inside = trace.set_span_in_context(self._span, above)
        if isinstance(self.fields, RunSpan):
            self._exporting.root = inside
        self._token = context.attach(inside)
        return self

    def event(self, event: SpanEvent) -> None:
        self._span.add_event(event.name, attributes(event))

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        context.detach(self._token)
        told: dict[str, Any] = {"status": self.status.value}
        if error is not None:
            told = self._failure(error)
        outcome = self.fields.outcome()
        if outcome is not None:
            self.event(outcome)
        if self.fields.step is not None:
            latency = (time.monotonic_ns() - self._began) // 1_000_000
            summary = {"action": self.fields.step.value, "latency_ms": latency, **told}
            self._span.add_event(self.fields.name.removeprefix(PREFIX), summary)
        self._span.set_attributes(self._facts())
        self._span.end()

    def _failure(self, error: BaseException) -> dict[str, Any]:
        kind = error.code if isinstance(error, SignoffError) else "internal"
        try:
            message = self._exporting.redact(str(error))[:LONGEST_MESSAGE]
        except Exception:  # the message may hold a secret and cannot be cleaned
            message = ""
        self._span.set_attribute("error.type", kind)
        if isinstance(error, Refused):
            return {"status": Status.DENIED.value, "error.kind": kind, "error.message": message}
        self._span.set_status(trace.StatusCode.ERROR, message)
        return {"status": Status.ERROR.value, "error.kind": kind, "error.message": message}

    def _facts(self) -> dict[str, Any]:
        facts = attributes(self.fields) | {
            name: value for name, value in self.fields.gen_ai().items() if value is not None
        }
        if isinstance(self.fields, ToolSpan):
            for name in ("arguments", "result"):
                content = facts.pop(name, None)
                if content is not None and self._exporting.capture:
                    facts[f"gen_ai.tool.call.{name}"] = self._exporting.redact(content)
        return facts


def attributes(fields: Span | SpanEvent) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(fields).items() if value is not None}
