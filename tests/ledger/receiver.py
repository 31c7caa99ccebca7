"""An OTLP receiver on loopback: speaks the protocol's HTTP form and keeps the spans it is sent."""

import http.server
import threading
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


def plain(value: Any) -> Any:
    """An attribute's value without its wrapping."""
    kind = value.WhichOneof("value")
    return tuple(plain(part) for part in value.array_value.values) if kind == "array_value" else getattr(value, kind)


class Received:
    """One span as it arrived."""

    def __init__(self, span: Any) -> None:
        self.name: str = span.name
        self.id: bytes = span.span_id
        self.parent: bytes = span.parent_span_id
        self.trace: str = span.trace_id.hex()
        self.failed: bool = span.status.code == 2
        self.attributes = {pair.key: plain(pair.value) for pair in span.attributes}
        self.events = {event.name: {pair.key: plain(pair.value) for pair in event.attributes} for event in span.events}


class Receiver:
    def __init__(self) -> None:
        self.spans: list[Received] = []
        self.resources: list[dict[str, Any]] = []
        self.paths: set[str] = set()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.paths.add(self.path)
                receiver.take(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.end_headers()
                self.wfile.write(ExportTraceServiceResponse().SerializeToString())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def take(self, body: bytes) -> None:
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append({pair.key: plain(pair.value) for pair in group.resource.attributes})
            self.spans += [Received(span) for scope in group.scope_spans for span in scope.spans]

    def named(self, name: str) -> Received:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join(60)
        self._server.server_close()
