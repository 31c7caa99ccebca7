"""How a run reads afterwards."""

from signoff.ledger.records import Effects, Line, Result
from signoff.ledger.timeline import Tone, row


def result(**more: object) -> Result:
    fields: dict[str, object] = {"tool_call_id": "c", "trace_id": "t", "name": "exec", "version": "", "args": {}}
    return Result(**{**fields, "ok": True, "duration_ms": 5, **more})  # type: ignore[arg-type]


def described(record: Result) -> tuple[str, Tone, str]:
    found = row(Line(hash="", prev="", run_id="r", seq=1, ts="", since_ns=0, what=record))
    return found.mark, found.tone, found.detail


def test_a_command_that_said_it_did_not_succeed_is_not_called_ok() -> None:
    assert described(result(artifacts=Effects(exit_status=7)))[:2] == ("ended", Tone.WARNING)
    assert described(result(artifacts=Effects(exit_status=7)))[2] == "exit status 7 · 5 ms"
    assert described(result(artifacts=Effects(exit_status=0)))[:2] == ("ok", Tone.GOOD)
    assert described(result())[:2] == ("ok", Tone.GOOD)
    assert described(result(ok=False, artifacts=Effects(exit_status=124)))[:2] == ("failed", Tone.BAD)
