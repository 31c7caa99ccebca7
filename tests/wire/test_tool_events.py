"""What a line says: events with all their fields, failures with their kind, text."""

import pytest

from signoff.domain.intent import Action
from signoff.wire import tool_events
from signoff.wire.tool_events import Failure, ToolProgress, ToolRequest, ToolResult, encode, read_bare, read_prefixed
from tests.clauses import requirement

HEAD = '"v":1,"ts":"2026-01-01T00:00:00Z","id":"t-1"'


def request(**changes: str) -> bytes:
    fields = {"type": '"tool.request"', "tool": '"fs.read"', "action": '"read"', "args": "{}"} | changes
    return ("{" + HEAD + "".join(f',"{name}":{value}' for name, value in fields.items()) + "}").encode()


@requirement("MEM-100", "MEM-101", "MEM-103", "MEM-104", "MEM-105", "MEM-118")
def test_a_request_is_read_with_every_field() -> None:
    line = request(rationale='"why"', requires_policy="true", run_id='"r"', trace='{"a":1}', nonce='"n"', args="[1]")
    assert read_bare(line) == ToolRequest(
        1, "2026-01-01T00:00:00Z", "t-1", "fs.read", "read", [1], "why", True, "r", {"a": 1}, "n"
    )


@requirement("MEM-106", "MEM-107", "MEM-108")
def test_results_and_progress_are_read() -> None:
    assert read_bare(
        b'{"v":1,"type":"tool.result","ts":5,"id":"t","ok":false,"output":null,"error":"no"}'
    ) == ToolResult(1, 5, "t", False, None, "no")
    assert read_bare(b'{"v":1,"type":"tool.progress","ts":"5","id":"t","stage":"s","percent":100}') == ToolProgress(
        1, "5", "t", "s", None, 100.0
    )


@requirement("MEM-037")
def test_a_request_that_does_not_say_so_does_not_wait() -> None:
    event = read_bare(request())
    assert isinstance(event, ToolRequest)
    assert event.requires_policy is False


@requirement("MEM-119")
@pytest.mark.parametrize(
    ("spelled", "judged"), [("read", "read"), ("net", "net"), ("READ", "exec"), ("delete", "exec"), ("", "exec")]
)
def test_an_unknown_action_is_judged_as_exec(spelled: str, judged: str) -> None:
    event = read_bare(request(action=f'"{spelled}"'))
    assert isinstance(event, ToolRequest)
    assert event.judged_action is Action(judged)


FAILURES = [
    (b"{nope", "parse.invalid_json"),
    (b"", "parse.invalid_json"),
    (b"[1]", "parse.schema_mismatch"),
    (request(args='{"a":1,"a":2}'), "parse.invalid_json"),
    (request(args='{"a":1,"a" :2}'), "parse.invalid_json"),
    (request(args='{"a":1,"a"\t:2}'), "parse.invalid_json"),
    (request(args='{"a":":","b":1,"b" :2}'), "parse.invalid_json"),
    (request(nonce='"n","nonce" :"m"'), "parse.invalid_json"),
    (request(requires_policy='true,"requires_policy":false'), "parse.invalid_json"),
    (request(args="9" * 401), "parse.invalid_json"),
    (request(args="NaN"), "parse.invalid_json"),
    (request(args="Infinity"), "parse.invalid_json"),
    (request(args="1e999"), "parse.invalid_json"),
    (request(args="9" * 5000), "parse.invalid_json"),
    (request(args='"\\ud800"'), "parse.invalid_json"),
    (request(args='{"\\udfff":1}'), "parse.invalid_json"),
    (request(args="[" * 100 + "]" * 100), "parse.invalid_json"),
    (request(args="[" * 100_000), "parse.invalid_json"),
    (request(args='"\xff"').replace(b"\xc3\xbf", b"\xff"), "parse.invalid_json"),
    (request(tool="1"), "parse.schema_mismatch"),
    (request(requires_policy='"yes"'), "parse.schema_mismatch"),
    (request(type='"tool.magic"'), "parse.unknown_type"),
    (request().replace(b'"v":1', b'"v":2'), "parse.schema_mismatch"),
    (request().replace(b'"id":"t-1",', b""), "parse.missing_field"),
    (request().replace(b',"args":{}', b""), "parse.missing_field"),
    (request().replace(b'"t-1"', b'"a\\nb"'), "parse.schema_mismatch"),
    (request().replace(b'"t-1"', b'""'), "parse.schema_mismatch"),
    (request().replace(b"2026-01-01T00:00:00Z", b"yesterday"), "parse.schema_mismatch"),
    (b'{"v":1,"type":"tool.progress","ts":1,"id":"t","stage":"s","percent":101}', "parse.schema_mismatch"),
    (b'{"v":1,"type":"tool.progress","ts":1,"id":"t","stage":"s","stage":"t"}', "parse.invalid_json"),
]


@requirement("MEM-072", "MEM-125")
@pytest.mark.parametrize(("payload", "kind"), FAILURES)
def test_a_bad_event_is_a_failure_of_a_known_kind_and_never_an_exception(payload: bytes, kind: str) -> None:
    result = read_prefixed(payload)
    assert isinstance(result, Failure)
    assert result.kind == kind
    assert len(result.line) <= 800


@pytest.mark.parametrize("line", [b'{"v":1}', b'{"type":"tool.request"}', b"{broken", b"{}", b'{"v":1,"type":'])
def test_json_that_does_not_claim_to_be_an_event_is_text(line: bytes) -> None:
    assert read_bare(line) is None


@requirement("MEM-001")
def test_events_are_written_in_the_documented_order_and_read_back() -> None:
    event = ToolRequest(
        1, "2025-12-26T22:11:03-05:00", "t-001", "fs.read", "read", {"path": "README.md"}, requires_policy=True
    )
    line = encode(event, prefix=False)
    assert line == (
        b'{"v":1,"type":"tool.request","ts":"2025-12-26T22:11:03-05:00","id":"t-001","tool":"fs.read","action":"read",'
        b'"args":{"path":"README.md"},"requires_policy":true}\n'
    )
    assert read_bare(line) == event
    assert encode(event) == tool_events.PREFIX + line


def test_a_block_of_progress_reads_like_its_lines() -> None:
    line = encode(ToolProgress(1, "5", "t", "s", percent=1.0), prefix=False)
    assert tool_events.read_block(line * 3, True, True) == [read_bare(line)] * 3
    assert tool_events.read_block((tool_events.PREFIX + line) * 3, True, False) == [read_bare(line)] * 3
    duplicate = line.replace(b'"stage"', b'"stage":"x","stage"')
    two_on_one = line[:-1] * 2 + b"\n" + line.replace(b',"stage"', b'\n,"stage"')
    escaped = line.replace(b'"t"', b'"\\n"')
    for odd in (line * 2 + duplicate, line + b"\n" + line, line + b"text\n", escaped * 2, two_on_one):
        assert tool_events.read_block(odd, True, True) is None


def test_a_few_lines_that_came_together_read_like_each_of_them() -> None:
    result = b'{"v":1,"type":"tool.result","ts":1,"id":"a","ok":true,"output":{"n":[{"k":1}]}}\n'
    request = b'{"v":1,"type":"tool.request","ts":"5","id":"b","tool":"sh","action":"exec","args":{"command":"ls"}}\n'
    for lines in ([request], [result, request], [result, result, request]):
        assert tool_events.read_few(b"".join(lines)) == [read_bare(line) for line in lines]


@pytest.mark.parametrize(
    "odd",
    [
        b'{"v":1,"type":"policy.ack","ts":1,"id":"a","id":"b"}\n',
        b'{"v":1,"type":"policy.ack","ts":1,"id":"a"}{"v":1,"type":"policy.ack","ts":1,"id":"b"}\n{\n"v":1,"type":"policy.ack","ts":1,"id":"c"}\n',
        b'{"v":1,"type":"policy.ack","ts":1,"id":"a"}\n\n',
        b'{"v":1,"type":"policy.ack","ts":1,"id":"a"}\ntext\n',
        b'{"v":1,"type":"policy.ack","ts":1,"id":"a\\u0041"}\n',
        b'{"v":1,"type":"policy.ack","ts":1,"id":""}\n',
        b'{"v":1,"type":"policy.ack","ts":"soon","id":"a"}\n',
        b'{"v":1,"type":"policy.ack" ,"ts" :1,"id":"a"}\n',
        b'{"v":2,"type":"policy.ack","ts":1,"id":"a"}\n',
        b'{"v":1,"type":"policy.ack","ts":1,"id":"\xff"}\n',
        b'{"v":1}\n',
    ],
)
def test_a_few_lines_of_which_one_is_odd_are_looked_at_one_by_one(odd: bytes) -> None:
    assert tool_events.read_few(odd) is None
