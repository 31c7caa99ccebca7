"""Ledgers for the tests: one way to open them, and the records of an ordinary run."""

import itertools
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from signoff.domain.call import Failure
from signoff.domain.intent import Action
from signoff.domain.settings import Redact
from signoff.ledger.log import Ledger, stamp
from signoff.ledger.paper import Disk
from signoff.ledger.place import new_run_id
from signoff.ledger.records import (
    DecidedBy,
    Decision,
    Effects,
    Event,
    Genesis,
    Outcome,
    Record,
    Request,
    Result,
    Review,
)

KEY = b"k" * 32
RUN = "01900000-0000-7000-8000-000000000001"


class Plain:
    """A redactor that leaves everything as it is."""

    def text(self, text: str) -> str:
        return text

    def value(self, value: Any) -> Any:
        return value


def genesis(**changes: Any) -> Genesis:
    given = {
        "command": ("signoff", "wrap"),
        "workspace": "/w",
        "project_id": "p",
        "signoff": "0.1",
        "redact": Redact.OFF,
    }
    return Genesis(**(given | changes))


def open_ledger(
    directory: pathlib.Path,
    run_id: str | None = None,
    *,
    redactor: Any = None,
    disk: Disk | None = None,
    clock: Callable[[], tuple[str, int]] = stamp,
    **circumstances: Any,
) -> Ledger:
    first = genesis(**circumstances)
    run = run_id or new_run_id()
    return Ledger.create(str(directory), run, first, redactor=redactor or Plain(), key=KEY, disk=disk, clock=clock)


def ticking() -> Callable[[], tuple[str, int]]:
    """A clock that is the same in every test: a quarter of a second a record."""
    count = itertools.count()

    def now() -> tuple[str, int]:
        ticks = next(count)
        seconds, quarter = divmod(ticks, 4)
        return f"2026-03-01T09:{seconds // 60:02}:{seconds % 60:02}.{quarter * 250000:06}+00:00", ticks * 250_000_000

    return now


def request(number: int, **changes: Any) -> Request:
    given = {
        "tool_call_id": f"c{number}",
        "name": "read_file",
        "action": Action.READ,
        "args": {"path": f"f{number}.txt"},
    }
    return Request(**(given | changes))


def decision(number: int, **changes: Any) -> Decision:
    given = {
        "tool_call_id": f"c{number}",
        "name": "read_file",
        "action": Action.READ,
        "decision": Outcome.ALLOW,
        "decided_by": DecidedBy.POLICY,
        "rule_id": "allow.fs.read",
        "verdict": "allow",
        "matches": ({"rule_id": "allow.fs.read", "decision": "allow", "source": "builtin"},),
    }
    return Decision(**(given | changes))


def result(number: int, **changes: Any) -> Result:
    given = {
        "tool_call_id": f"c{number}",
        "trace_id": "t1",
        "name": "read_file",
        "version": "1.0.0",
        "args": {"path": f"f{number}.txt"},
        "ok": True,
        "duration_ms": 3,
    }
    return Result(**(given | changes))


def ordinary_run() -> Iterator[Record]:
    """A read, a refused command, an approved edit that failed, and two things worth noting."""
    yield Event(name="run.start", data={"program": "agent"})
    yield request(1)
    yield decision(1)
    yield result(1)
    yield request(2, name="shell", action=Action.EXEC, args={"command": "rm -rf /"}, rationale="free some space")
    deny = {"decision": Outcome.DENY, "rule_id": "dangerous.rm", "verdict": "deny", "reason": "deletes everything"}
    yield decision(2, name="shell", action=Action.EXEC, matches=(), **deny)
    yield Event(name="tool.request.duplicate", level="debug", tool_call_id="c2")
    yield request(3, name="write_file", action=Action.WRITE, args={"path": "a.py", "content": "x = 1\n"})
    yield Review(tool_call_id="c3", decision="approved", reviewer="terminal", question="write a.py?", duration_ms=900)
    yield decision(
        3, name="write_file", action=Action.WRITE, decided_by=DecidedBy.PERSON, verdict="ask", rule_id="ask.write"
    )
    failed = Failure(code="tool.timeout", message="stopped after 5 s")
    effects = Effects(files_changed=("a.py",), commands_run=("ruff a.py",))
    yield result(3, name="write_file", ok=False, duration_ms=5000, error=failed, artifacts=effects)


def lines_of(directory: pathlib.Path) -> list[bytes]:
    (name,) = [name for name in os.listdir(directory) if name.endswith(".jsonl")]
    return (directory / name).read_bytes().splitlines(keepends=True)
