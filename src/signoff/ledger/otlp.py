"""A ledger as OTLP/JSON, the file form of OpenTelemetry traces: for a run that was not traced while it happened.

One span for the run, one for each decision and each call, named and filled as if they had been sent live. Ids come from
the run id and the record's hash, so that exporting twice gives the same trace.
"""

import datetime
import hashlib
from collections.abc import Iterable
from typing import Any, assert_never

from signoff import __version__
from signoff.domain.call import Failure
from signoff.ledger.reading import Damaged
from signoff.ledger.records import Close, Decision, Event, Genesis, Line, Request, Result, Review

INTERNAL, UNSET, OK, ERROR = 1, 0, 1, 2  # numbers of the protocol


def trace(lines: Iterable[Line | Damaged]) -> dict[str, Any]:
    """An ExportTraceServiceRequest in its JSON form."""
    good = [line for line in lines if isinstance(line, Line)]
    resource = {"attributes": _attributes({"service.name": "signoff", "service.version": __version__})}
    scope = {"name": "signoff", "version": __version__}
    spans = _spans(good) if good else []
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]}


def _spans(lines: list[Line]) -> list[dict[str, Any]]:
    first, last = lines[0], lines[-1]
    genesis = first.what if isinstance(first.what, Genesis) else None
    common = {"run_id": first.run_id, "project_id": genesis.project_id if genesis else ""}
    began = _nanoseconds(first.ts)
    moments = {line.seq: began + line.since_ns - first.since_ns for line in lines}  # no jump of the clock shows
    closing = last.what if isinstance(last.what, Close) else None
    root = _span(first, "mem_codecli.run", moments[first.seq], moments[last.seq], None, common)
    if genesis:
        root["attributes"] += _attributes(
            {"redact": genesis.redact.value, "codecli.program": genesis.command[0] if genesis.command else ""}
        )
        root["attributes"] += _attributes({"gen_ai.operation.name": "invoke_agent"})
    if closing:
        root["attributes"] += _attributes({"exit_code": closing.exit_code})
    asked: dict[str, int] = {}
    spans = [root]
    for line in lines:
        at = moments[line.seq]
        match line.what:
            case Request():
                asked[line.what.tool_call_id] = at
            case Decision():
                start = asked.get(line.what.tool_call_id, at)
                spans.append(_decision(line, line.what, start, at, root["spanId"], common))
            case Result():
                start = max(began, at - line.what.duration_ms * 1_000_000)
                spans.append(_call(line, line.what, start, at, root["spanId"], common))
            case Event() | Review():
                root["events"].append(_event(line, line.what, at))
            case Genesis() | Close():
                pass
            case _:
                assert_never(line.what)
    return spans


def _decision(
    line: Line, record: Decision, start: int, end: int, parent: str, common: dict[str, Any]
) -> dict[str, Any]:
    facts = {
        "tool": record.name,
        "action": record.action.value,
        "decision": record.decision.value,
        "rule_id": record.rule_id,
    }
    beside = {
        "decided_by": record.decided_by.value,
        "gen_ai.tool.name": record.name,
        "gen_ai.tool.call.id": record.tool_call_id,
    }
    return _span(line, "mem_codecli.policy.decide", start, end, parent, {**common, **facts, **beside})


def _call(line: Line, record: Result, start: int, end: int, parent: str, common: dict[str, Any]) -> dict[str, Any]:
    facts = {
        "tool": record.name,
        "tool_call_id": record.tool_call_id,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": record.name,
        "gen_ai.tool.call.id": record.tool_call_id,
        "gen_ai.tool.type": "function",
    }
    if record.error:
        facts["error.type"] = record.error.code
    return _span(line, "mem_codecli.tool.call", start, end, parent, {**common, **facts}, record.error)


def _span(
    line: Line, name: str, start: int, end: int, parent: str | None, facts: dict[str, Any], error: Failure | None = None
) -> dict[str, Any]:
    span = {
        "traceId": line.run_id.replace("-", ""),
        "spanId": hashlib.sha256(f"{name} {line.hash}".encode()).hexdigest()[:16],
        "name": name,
        "kind": INTERNAL,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": _attributes(facts),
        "events": [],
        "status": {"code": ERROR, "message": error.message} if error else {"code": UNSET},
    }
    return span if parent is None else {**span, "parentSpanId": parent}


def _event(line: Line, record: Event | Review, at: int) -> dict[str, Any]:
    if isinstance(record, Review):
        name = "review"
        facts: dict[str, Any] = {"decision": record.decision, "reviewer": record.reviewer}
    else:
        name, facts = record.name, {"level": record.level}
    facts |= {"seq": line.seq, "tool_call_id": record.tool_call_id}
    return {"name": name, "timeUnixNano": str(at), "attributes": _attributes(facts)}


def _attributes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in facts.items() if value not in ("", None)]


def _value(value: str | int) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def _nanoseconds(ts: str) -> int:
    moment = datetime.datetime.fromisoformat(ts) - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (moment // datetime.timedelta(microseconds=1)) * 1_000
