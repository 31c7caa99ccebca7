"""The arbiter with a real gate and a real ledger behind it, and a child that is only its messages."""

import asyncio
import pathlib
import queue
import threading
from typing import Any

import msgspec
import pytest

from signoff.approvals.masked import Masked
from signoff.approvals.scripted import Scripted
from signoff.domain.errors import LedgerUnwritable
from signoff.domain.review import Abort, Approved, Denied, ToolApprovalRequestEvent
from signoff.domain.settings import Audit, Redact
from signoff.domain.verdict import Decision
from signoff.ledger import records
from signoff.ledger.paper import Disk
from signoff.ledger.redact import Redactor
from signoff.supervisor.arbiter import Arbiter, OnUnenforcedDeny, Stop, Terms
from signoff.supervisor.pending import Table
from signoff.supervisor.session import Heard, Lost, ParseFailed
from signoff.wire.control import ControlMessage, PolicyDecision
from signoff.wire.tool_events import Failure, ToolRequest, ToolResult
from tests.clauses import requirement
from tests.gate.scene import HOME, WORKSPACE, Scene, rule

WAIT = 120


class Child:
    """What a child would get."""

    def __init__(self) -> None:
        self.lines: queue.Queue[PolicyDecision] = queue.Queue()

    def send(self, message: ControlMessage) -> bool:
        assert isinstance(message, PolicyDecision)
        self.lines.put(message)
        return True

    def send_line(self, line: bytes) -> bool:
        return self.send(msgspec.json.decode(line, type=PolicyDecision))

    def answer(self) -> PolicyDecision:
        return self.lines.get(timeout=WAIT)


class Waiting(Scripted):
    """A person who answers yes once they are let, or never."""

    def __init__(self, let: threading.Event | None = None) -> None:
        super().__init__([])
        self.let = let or threading.Event()
        self.answered = threading.Event()

    async def review(self, request: Any) -> Any:
        while not self.let.is_set():
            await asyncio.to_thread(self.let.wait, 0.02)
        self.answered.set()
        return Approved()


class Bench:
    def __init__(self, directory: pathlib.Path, scene: dict[str, Any] | None = None, **terms: Any) -> None:
        self.scene = Scene(directory, **(scene or {}))
        self.child = Child()
        self.warnings: list[str] = []
        self.stops: list[Stop] = []
        self.time = 0.0
        self.arbiter = Arbiter(
            self.scene.gate,
            self.scene.ledger,
            Terms(run_id="r-1", cwd=WORKSPACE, home=HOME, **terms),
            warn=self.warnings.append,
            stop=self.stops.append,
            clock=lambda: self.time,
        )

    def ask(self, command: str, call_id: str = "t-1", *, waits: bool = True, action: str = "exec") -> None:
        request = ToolRequest(1, 1, call_id, "shell", action, {"command": command}, "because", waits)
        self.arbiter.hear(self.child, Heard("stdout", [request]))

    def report(self, call_id: str = "t-1", ok: bool = True) -> None:
        self.arbiter.hear(self.child, Heard("stdout", [ToolResult(1, 1, call_id, ok, {})]))

    def history(self, kind: type) -> list[Any]:
        self.arbiter.finish()
        return [record for record in self.scene.history() if isinstance(record, kind)]


FORBID = {"rules": [rule(Decision.DENY, "make", "deploy", why="not from here")]}
PROMPT = {"rules": [rule(Decision.ASK, "make", "deploy")]}


@requirement("MEM-054", "MEM-113", "MEM-115", "MEM-118", "MEM-126")
def test_an_allowed_request_is_answered_recorded_and_completed(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path)
    bench.ask("ls")
    answer = bench.child.answer()
    assert (answer.id, answer.decision, answer.run_id) == ("t-1", "allow", "r-1")
    bench.report()
    assert [record.decision for record in bench.history(records.Decision)] == ["allow"]
    kinds = [type(record) for record in bench.scene.history()]
    assert kinds == [records.Genesis, records.Request, records.Decision, records.Result, records.Close]


def test_a_path_that_no_system_call_takes_is_refused_and_the_next_request_is_heard(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path)
    request = ToolRequest(1, 1, "t-0", "fs.write", "write", {"path": "a\0b"}, "", True)
    bench.arbiter.hear(bench.child, Heard("stdout", [request]))
    assert bench.child.answer().decision == "deny"
    bench.ask("ls")
    assert bench.child.answer().decision == "allow"


class Stumbling(dict[str, Any]):
    """A mapping of tools that fails when it is looked at, as a defect of ours would."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError("no judgement")

    def __bool__(self) -> bool:
        return True


def test_a_request_that_cannot_be_judged_is_refused(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path, mapping=Stumbling())
    bench.ask("ls")
    assert bench.child.answer().decision == "deny"
    assert bench.arbiter.tally.denied == 1


@requirement("MEM-114", "MEM-059")
def test_a_denied_request_gets_the_rule_and_the_reason(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path, FORBID)
    bench.ask("cd x && make deploy")
    answer = bench.child.answer()
    assert answer.decision == "deny"
    assert "not from here" in answer.reason
    assert answer.rule_id is not None
    assert bench.arbiter.tally.denied == 1


@requirement("MEM-005", "MEM-121")
@pytest.mark.parametrize(("said", "word"), [(Approved(), "allow"), (Denied("no"), "deny")])
def test_a_person_is_asked_and_the_answer_reaches_the_child(tmp_path: pathlib.Path, said: Any, word: str) -> None:
    bench = Bench(tmp_path, {**PROMPT, "answers": [said]})
    bench.ask("make deploy")
    assert bench.child.answer().decision == word
    asked = bench.scene.person.asked[0].event
    assert isinstance(asked, ToolApprovalRequestEvent)
    assert (asked.args, asked.rationale) == ({"command": "make deploy"}, "because")


@requirement("MEM-066")
def test_a_person_sees_arguments_with_secrets_masked(tmp_path: pathlib.Path) -> None:
    person = Scripted([Denied()])
    bench = Bench(tmp_path, {"reviewer": Masked(person, Redactor(Redact.BASIC, reversible=False))})
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    request = ToolRequest(1, 1, "t-1", "acme.post", "net", {"body": f"token={secret}"}, "because", True)
    bench.arbiter.hear(bench.child, Heard("stdout", [request]))
    bench.child.answer()
    asked = person.asked[0].event
    assert isinstance(asked, ToolApprovalRequestEvent)
    assert (asked.tool, asked.action, asked.rationale) == ("acme.post", "net", "because")
    assert secret not in str(asked.args)


def test_an_abort_of_the_person_ends_the_run(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path, {**PROMPT, "answers": [Abort()]})
    bench.ask("make deploy")
    assert bench.child.answer().decision == "deny"
    bench.arbiter.finish()
    assert [stop.code for stop in bench.stops] == ["user_cancel"]


@requirement("MEM-045")
def test_a_person_who_does_not_answer_has_said_no(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path, {**PROMPT, "reviewer": Waiting(), "limit_s": 0.05})
    bench.ask("make deploy")
    assert bench.child.answer().decision == "deny"
    assert bench.arbiter.tally.timed_out == 1


@requirement("MEM-070", "MEM-071", "MEM-116")
@pytest.mark.parametrize("reaction", OnUnenforcedDeny)
def test_a_child_that_does_not_wait_is_recorded_and_warned_about(
    tmp_path: pathlib.Path, reaction: OnUnenforcedDeny
) -> None:
    bench = Bench(tmp_path, FORBID, on_unenforced_deny=reaction)
    bench.ask("make deploy", waits=False)
    bench.report(ok=True)
    assert bench.child.lines.empty()
    assert len(bench.warnings) == 1
    assert len(bench.stops) == (reaction is OnUnenforcedDeny.ABORT)
    decisions = bench.history(records.Decision)
    assert [(record.decision, record.enforced) for record in decisions] == [("deny", False)]


@requirement("MEM-063", "MEM-064")
def test_repeats_and_early_results_change_nothing(tmp_path: pathlib.Path) -> None:
    person = Waiting()
    bench = Bench(tmp_path, {**PROMPT, "reviewer": person})
    bench.ask("make deploy")
    bench.report()  # forged: nothing was decided yet
    bench.ask("make deploy")
    person.let.set()
    assert bench.child.answer().decision == "allow"
    bench.ask("make deploy")
    bench.report("nobody")
    assert bench.arbiter.tally.duplicates == 2
    names = [record.name for record in bench.history(records.Event)]
    assert names == [
        "tool.result.before_decision",
        "tool.request.duplicate",
        "tool.request.duplicate",
        "tool.result.unknown",
    ]
    assert bench.child.lines.empty()


@requirement("MEM-061")
def test_a_lost_channel_fails_what_waits_and_ends_the_run(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path, {**PROMPT, "reviewer": Waiting()})
    bench.ask("make deploy")
    bench.arbiter.hear(bench.child, Lost("Broken pipe"))
    assert [stop.error for stop in bench.stops] == ["control.stdin_broken"]
    results = bench.history(records.Result)
    assert [(record.ok, record.error.code) for record in results] == [(False, "control.stdin_broken")]
    assert bench.child.lines.empty()


def test_a_child_that_ends_without_a_word_has_lost_nothing_and_one_that_asks_later_has(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path)
    bench.arbiter.hear(bench.child, Lost("Broken pipe"))
    assert bench.stops == []
    bench.ask("ls")
    assert [record.name for record in bench.history(records.Event)] == ["control.lost"]
    assert [stop.error for stop in bench.stops] == ["control.stdin_broken"]
    assert [record.error.code for record in bench.history(records.Result)] == ["control.stdin_broken"]


def test_judging_can_be_off_and_is_still_recorded(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path, FORBID, audit=Audit.OFF)
    bench.ask("make deploy")
    answer = bench.child.answer()
    assert (answer.decision, answer.rule_id) == ("allow", "policy.off")
    assert [record.rule_id for record in bench.history(records.Decision)] == ["policy.off"]


def test_too_many_at_once_are_refused_as_overload(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path, {**PROMPT, "reviewer": Waiting()})
    bench.arbiter.table = Table(most_waiting=3)
    for number in range(5):
        bench.ask(f"make deploy {number}", f"t-{number}")
    assert [(bench.child.answer().id, "overload") for _ in range(2)] == [("t-3", "overload"), ("t-4", "overload")]
    bench.arbiter.finish()


@requirement("MEM-060")
def test_what_nobody_decided_is_denied_by_the_clock_and_a_late_answer_is_dropped(tmp_path: pathlib.Path) -> None:
    person = Waiting()
    bench = Bench(tmp_path, {**PROMPT, "reviewer": person}, decision_timeout_s=10)
    bench.ask("make deploy")
    bench.time = 14.0
    bench.arbiter.tick(bench.child)
    assert bench.child.lines.empty()
    bench.time = 16.0
    bench.arbiter.tick(bench.child)
    assert bench.child.answer().reason == "policy timeout"
    person.let.set()
    assert person.answered.wait(WAIT)
    bench.arbiter.finish()
    assert bench.child.lines.empty()


@requirement("MEM-119")
def test_an_unknown_action_is_counted_and_judged_as_exec(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path)
    bench.ask("ls", action="READ")
    bench.child.answer()
    assert bench.arbiter.tally.mismatches == 1
    assert [str(record.action) for record in bench.history(records.Decision)] == ["exec"]


@requirement("MEM-072", "MEM-073", "MEM-125")
def test_parse_errors_are_counted_and_can_end_the_run(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path, max_parse_errors=2)
    failure = Failure("parse.invalid_json", "no", "{")
    for expected in (0, 0, 1):
        bench.arbiter.hear(bench.child, ParseFailed("stderr", [failure]))
        assert len(bench.stops) == expected
    assert bench.arbiter.tally.parse_errors == 3


def test_a_ledger_that_cannot_be_written_allows_nothing_and_ends_the_run(tmp_path: pathlib.Path) -> None:
    class Filling(Disk):
        full = False

        def write(self, descriptor: int, data: bytes, at: int) -> int:
            if self.full:
                raise OSError(28, "No space left on device")
            return super().write(descriptor, data, at)

    disk = Filling()
    bench = Bench(tmp_path, {"disk": disk})
    bench.ask("ls")
    assert bench.child.answer().decision == "allow"
    disk.full = True
    bench.ask("ls", "t-2")
    bench.ask("ls", "t-3")
    assert [bench.child.answer().decision for _ in range(2)] == ["deny", "deny"]
    assert {stop.error for stop in bench.stops} == {LedgerUnwritable.code}
    bench.arbiter.finish()


def test_a_thousand_requests_from_many_threads_get_one_answer_each(tmp_path: pathlib.Path) -> None:
    bench = Bench(tmp_path, FORBID)

    def some(start: int) -> None:
        for number in range(start, start + 100):
            bench.ask("make deploy" if number % 3 == 0 else "ls", f"t-{number}")

    threads = [threading.Thread(target=some, args=(start,)) for start in range(0, 1000, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    answers = {answer.id: answer.decision for answer in (bench.child.answer() for _ in range(1000))}
    assert answers == {f"t-{number}": "deny" if number % 3 == 0 else "allow" for number in range(1000)}
    assert bench.child.lines.empty()
    assert not bench.arbiter.table.waiting
