"""Control lines: produced to the letter, read strictly."""

import pytest

from signoff.domain.errors import ParseError
from signoff.wire import control
from signoff.wire.control import PolicyAbort, PolicyDecision, PolicyPing
from tests.clauses import requirement

DOCUMENTED = [
    (
        b'{"v":1,"type":"policy.decision","ts":"2025-12-26T22:15:00-05:00","run_id":"r-123","id":"t-001","decision":"allow",'
        b'"reason":"allowed by policy","rule_id":"allow.fs.read"}\n',
        PolicyDecision(1, "2025-12-26T22:15:00-05:00", "r-123", "t-001", "allow", "allowed by policy", "allow.fs.read"),
    ),
    (
        b'{"v":1,"type":"policy.decision","ts":"2025-12-26T22:15:01-05:00","run_id":"r-123","id":"t-002","decision":"deny",'
        b'"reason":"shell execution denied by default","rule_id":"deny.shell.exec"}\n',
        PolicyDecision(
            1,
            "2025-12-26T22:15:01-05:00",
            "r-123",
            "t-002",
            "deny",
            "shell execution denied by default",
            "deny.shell.exec",
        ),
    ),
    (
        b'{"v":1,"type":"policy.ping","ts":"2025-12-26T22:14:50-05:00","run_id":"r-123","id":"ping-1",'
        b'"capabilities":["policy.decision.v1"],"timeout_ms":300000}\n',
        PolicyPing(1, "2025-12-26T22:14:50-05:00", "r-123", "ping-1", ("policy.decision.v1",), 300_000),
    ),
    (
        b'{"v":1,"type":"policy.abort","ts":"2025-12-26T22:20:00-05:00","run_id":"r-123","id":"abort-1",'
        b'"reason":"user cancelled approval","code":"user_cancel"}\n',
        PolicyAbort(1, "2025-12-26T22:20:00-05:00", "r-123", "abort-1", "user cancelled approval", "user_cancel"),
    ),
]


@requirement(
    "MEM-011", "MEM-012", "MEM-013", "MEM-014", "MEM-015", "MEM-016", "MEM-019", "MEM-020", "MEM-022", "MEM-023"
)
@requirement("MEM-028", "MEM-029", "MEM-031", "MEM-032", "MEM-034", "MEM-035")
@pytest.mark.parametrize(("line", "message"), DOCUMENTED)
def test_the_documented_lines_are_written_and_read_to_the_letter(line: bytes, message: control.ControlMessage) -> None:
    assert control.encode(message) == line
    assert control.decode(line) == message


@requirement("MEM-017", "MEM-018", "MEM-024", "MEM-025")
def test_optional_fields_travel() -> None:
    message = PolicyDecision(1, 5, None, "t", "allow", "ok", None, {"path": "/ws"}, 1000, {"hop": 1}, "n")
    assert control.decode(control.encode(message)) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b'{"v":1,"type":"policy.decision","id":"t"}',
        b'{"v":1,"type":"policy.decision","id":"t","decision":"ALLOW"}',
        b'{"v":2,"type":"policy.decision","id":"t","decision":"allow"}',
        b'{"v":1,"type":"policy.decision","id":"t","decision":"deny","decision":"allow"}',
        b'{"v":1,"type":"policy.please","id":"t"}',
        b'{"v":1,"type":"policy.abort","reason":"x","code":"because","id":"a"}',
    ],
)
def test_anything_else_is_a_parse_error(line: bytes) -> None:
    with pytest.raises(ParseError):
        control.decode(line)
