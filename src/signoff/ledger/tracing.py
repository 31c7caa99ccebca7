"""The spans of a run, for whoever listens. When nobody does, nothing of OpenTelemetry is even imported.

The usual OTEL_ variables decide (`OTEL_EXPORTER_OTLP_ENDPOINT` and its kin); `ledger/otel.py` does the sending.
"""

import importlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from signoff.ledger.spans import Span, SpanEvent, Status

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

F = TypeVar("F", bound=Span)


class Live(Generic[F]):
    """A span that is open, as a context manager. This one goes nowhere; the one of `ledger/otel.py` is sent.

    Set its `fields` as they become known, and `status` where it is not simply ok; an exception sets it by itself.
    """

    __slots__ = ("fields", "status")

    def __init__(self, fields: F) -> None:
        self.fields = fields
        self.status = Status.OK

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        return None

    def event(self, event: SpanEvent) -> None:
        """Note a moment inside the span."""


class Sender(Protocol):
    """What tracing needs of OpenTelemetry."""

    def open(self, fields: F) -> Live[F]: ...
    def trace_id(self) -> str: ...
    def close(self) -> None: ...


class Tracing:
    """`with tracing.span(SearchSpan(limit=6, min_score=0.2)) as search: … search.fields.http_status = 200`"""

    __slots__ = ("_sender", "on", "problem")

    def __init__(self, sender: Sender | None = None, problem: str | None = None) -> None:
        self._sender = sender
        self.on = sender is not None
        self.problem = problem  # why spans that were asked for are not sent, for a person

    @classmethod
    def of(cls, environ: Mapping[str, str], run_id: str, project_id: str, redact: Callable[[str], str]) -> Self:
        """Tracing as the environment asks for it. What goes wrong here never stops a run."""
        if not wanted(environ):
            return cls()
        try:
            otel: Any = importlib.import_module("signoff.ledger.otel")
            return cls(otel.Exporting(environ, run_id, project_id, redact))
        except ModuleNotFoundError as error:
            return cls(problem=f"spans are not sent: {error.name} is missing; install signoff[otel]")
        except Exception as error:  # a malformed variable, say
            return cls(problem=f"spans are not sent: {error}")

    @property
    def trace_id(self) -> str:
        """The trace that is being sent, as 32 hex digits; empty when none is."""
        return self._sender.trace_id() if self._sender else ""

    def span(self, fields: F) -> Live[F]:
        return Live(fields) if self._sender is None else self._sender.open(fields)

    def close(self) -> None:
        """Send what is left; gives up after a few seconds."""
        if self._sender is not None:
            self._sender.close()


def wanted(environ: Mapping[str, str]) -> bool:
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    return exporter == "otlp" or (exporter != "none" and any(environ.get(name) for name in ENDPOINTS))
