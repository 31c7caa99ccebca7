"""What a gate leaves behind when it is killed, when the disk fails and when nobody answers. Every history is checked."""

import asyncio
import errno
import os
import pathlib
import random
import subprocess
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.approvals.desk import Desk
from signoff.domain.call import ToolResult
from signoff.domain.errors import LedgerUnwritable
from signoff.domain.review import (
    Abort,
    Approved,
    ApprovedExecpolicyAmendment,
    ApprovedForSession,
    Denied,
    ReviewDecision,
    TimedOut,
)
from signoff.domain.settings import ApprovalPolicy, SandboxMode
from signoff.domain.verdict import Decision
from signoff.ledger.records import Decision as Decided
from signoff.ledger.records import Outcome as Answer
from signoff.ledger.records import Request, Result
from signoff.sandbox.outcome import Outcome
from tests.fakes.sandboxes import FINE, KILLED, LATE, STOPPED, WRONG
from tests.faults.doomed import COMMANDS
from tests.faults.history import DiskThatCounts, Effect, History, recorded, violations
from tests.gate.scene import Scene, rule

ROOT = pathlib.Path(__file__).parents[2]


def start_doomed(directory: pathlib.Path, operation: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.doomed", str(directory), operation],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )


def left_by(directory: pathlib.Path, *, finished: bool) -> list[History]:
    """The history as a kill leaves it, and as a power cut at the same moment would."""
    ledger = b"".join(path.read_bytes() for path in (directory / "runs").glob("*.jsonl"))
    durable = int((directory / "durable").read_bytes() or 0)
    effects = []
    for line in (directory / "effects").read_text().splitlines():
        call_id, safe = line.split()
        effects.append(Effect(call_id, outside=False, durable=int(safe)))
    killed = History(ledger, durable, tuple(effects), finished=finished)
    return [killed] if finished else [killed, killed._replace(ledger=ledger[:durable])]


def test_killed_at_every_operation_in_turn(tmp_path: pathlib.Path) -> None:
    said, _ = start_doomed(tmp_path, "each").communicate(timeout=120)
    last, status = map(int, said.split())
    assert (status, last > 15) == (0, True)
    unknown = set[str]()
    for operation in range(1, last + 1):
        for history in left_by(tmp_path / str(operation), finished=operation == last):
            assert violations(history) == [], operation
            unknown |= unknown_outcomes(history)
    assert unknown  # allowed, and no result: seen as such, never taken for done


def unknown_outcomes(history: History) -> set[str]:
    """Calls that were allowed and have no result: whoever starts again must not assume anything about them."""
    records = recorded(history.ledger)
    ended = {record.tool_call_id for record in records if isinstance(record, Result)}
    return {
        record.tool_call_id
        for record in records
        if isinstance(record, Decided) and record.decision is Answer.ALLOW and record.tool_call_id not in ended
    }


def test_killed_while_a_question_waits(tmp_path: pathlib.Path) -> None:
    process = start_doomed(tmp_path, "pending")
    assert process.stdout is not None
    assert process.stdout.readline() == "pending\n"
    process.kill()
    process.communicate(timeout=60)
    for history in left_by(tmp_path, finished=False):
        assert violations(history) == []
        assert [effect.call_id for effect in history.effects] == ["call-1"]  # ls; the one that waited never ran
    again = Scene(tmp_path / "again", approval=ApprovalPolicy.UNTRUSTED)
    assert again.run(COMMANDS[1]).ok is False  # a new run asks anew, and the answer is no
    assert len(again.person.asked) == 1


class FailingDisk(DiskThatCounts):
    """Fails the Nth operation and, as a real one would, every later one may work again."""

    def __init__(self, operation: int, error: int) -> None:
        super().__init__()
        self.left = operation
        self.error = error

    def _tick(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(self.error, os.strerror(self.error))

    def write(self, descriptor: int, data: bytes, at: int) -> int:
        self._tick()
        return super().write(descriptor, data, at)

    def sync(self, descriptor: int) -> None:
        self._tick()
        super().sync(descriptor)


def closes(scene: Scene) -> bool:
    """Does the run come to its end with everything on disk?"""
    try:
        scene.ledger.close()
    except LedgerUnwritable:
        return False
    return True


def watched(scene: Scene, disk: DiskThatCounts, effects: list[Effect]) -> None:
    """Note every effect together with how much of the ledger was safe then."""

    def mark() -> None:
        effects.append(Effect(scene.current, scene.sandboxes.outside, disk.durable))

    scene.sandboxes.before = mark


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_once_allows_nothing_from_then_on(error: int, tmp_path: pathlib.Path) -> None:
    operation = 0
    failed = True
    while failed:
        operation += 1
        disk, effects = FailingDisk(operation, error), list[Effect]()
        scene = Scene(tmp_path / str(operation), approval=ApprovalPolicy.UNTRUSTED, answers=[Approved()] * 3, disk=disk)
        watched(scene, disk, effects)
        results = [scene.run(command) for command in COMMANDS]
        failed = not closes(scene)
        codes = ["ok" if result.error is None else result.error.code for result in results]
        assert codes == sorted(codes, key=lambda code: code != "ok")  # once refused, always refused
        assert set(codes) <= {"ok", "ledger.unwritable"}
        assert len(effects) == codes.count("ok")
        ledger = scene.path.read_bytes()
        assert violations(History(ledger, disk.durable, tuple(effects), finished=not failed)) == []
    assert operation > 5


def test_nobody_answers_and_the_late_answer_is_ignored(tmp_path: pathlib.Path) -> None:
    async def scene_of_silence() -> ToolResult:
        desk = Desk()
        scene = Scene(tmp_path, approval=ApprovalPolicy.UNTRUSTED, reviewer=desk, limit_s=0.05)
        result = await scene.gate.call(scene.command("make x"))
        assert desk.answer("call-1", Approved()) is False
        assert scene.sandboxes.started == []
        scene.history()
        return result

    result = asyncio.run(scene_of_silence())
    assert result.error is not None
    assert result.error.code == "review.timeout"


def test_a_thousand_calls_wait_and_fifty_approvers_answer_at_once_in_any_order(tmp_path: pathlib.Path) -> None:
    """Every call gets the answer meant for it, the first one given; the others are told that they were too late."""
    calls, approvers = 1_000, 50
    counted: list[bool] = []

    async def crowd() -> list[ToolResult]:
        loop = asyncio.get_running_loop()
        desk = Desk()
        scene = Scene(tmp_path, approval=ApprovalPolicy.UNTRUSTED, reviewer=desk)
        work = [asyncio.ensure_future(scene.gate.call(scene.command(f"make {n}"))) for n in range(calls)]
        while len(desk.waiting) < calls:
            await asyncio.sleep(0)
        ids = [request.event.call_id for request in desk.waiting]
        answers = {name: Approved() if number % 2 else Denied(name) for number, name in enumerate(ids)}

        def answer(seed: int) -> None:
            for name in random.Random(seed).sample(ids, len(ids)):
                loop.call_soon_threadsafe(lambda name=name: counted.append(desk.answer(name, answers[name])))

        threads = [threading.Thread(target=answer, args=(seed,)) for seed in range(approvers)]
        for thread in threads:
            thread.start()
        results = await asyncio.gather(*work)
        for thread in threads:
            await asyncio.to_thread(thread.join, 60)
        assert {result.tool_call_id: result.ok for result in results} == {
            name: isinstance(said, Approved) for name, said in answers.items()
        }
        history = scene.history()
        assert sum(isinstance(record, Decided) for record in history) == calls
        assert violations(History(scene.path.read_bytes(), 0)) == []
        return results

    assert len(asyncio.run(crowd())) == calls
    assert counted.count(True) == calls


def test_a_call_that_is_stopped_leaves_one_record_that_says_so(tmp_path: pathlib.Path) -> None:
    async def stopped() -> None:
        scene = Scene(tmp_path, approval=ApprovalPolicy.UNTRUSTED, reviewer=Desk())
        call = asyncio.ensure_future(scene.gate.call(scene.command("make x")))
        while not scene.events or type(scene.events[-1]).__name__ != "ReviewAsked":
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        history = scene.history()
        results = [record for record in history if isinstance(record, Result)]
        assert [(result.ok, result.error.code if result.error else "") for result in results] == [
            (False, "interrupted")
        ]
        assert [record for record in history if isinstance(record, Decided)] == []
        assert sum(isinstance(record, Request) for record in history) == 1

    asyncio.run(stopped())


ANSWERS = st.sampled_from(
    [Approved(), ApprovedForSession(), ApprovedExecpolicyAmendment(("make",)), Denied(), Abort(), TimedOut()]
)
STEPS = st.tuples(
    st.sampled_from(["ls", "make x", "make y", "rm -rf build", "echo $(x", "ninja && make x"]),
    st.booleans(),
    ANSWERS,
    st.sampled_from([FINE, WRONG, STOPPED, LATE, KILLED]),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    approval=st.sampled_from(ApprovalPolicy),
    sandbox=st.sampled_from(SandboxMode),
    steps=st.lists(STEPS, min_size=1, max_size=6),
    fails_at=st.integers(min_value=0, max_value=30),
)
def test_in_no_history_anything_happens_without_a_durable_decision_before_it(
    approval: ApprovalPolicy,
    sandbox: SandboxMode,
    steps: list[tuple[str, bool, ReviewDecision, Outcome]],
    fails_at: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    disk, effects = FailingDisk(fails_at, errno.EIO), list[Effect]()
    answers = [answer for _, _, answer, _ in steps for _ in range(2)]
    scene = Scene(
        tmp_path_factory.mktemp("runs"),
        approval=approval,
        sandbox=sandbox,
        rules=[rule(Decision.DENY, "ninja")],
        answers=answers,
        outcomes=[outcome for *_, outcome in steps],
        disk=disk,
    )
    watched(scene, disk, effects)
    for command, escalate, _, _ in steps:
        scene.run(command, escalate=escalate)
    confined = sandbox in (SandboxMode.READ_ONLY, SandboxMode.WORKSPACE_WRITE)
    seen = tuple(effect._replace(outside=effect.outside or not confined) for effect in effects)
    finished = closes(scene)
    assert violations(History(scene.path.read_bytes(), disk.durable, seen, finished=finished)) == []
