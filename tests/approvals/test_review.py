"""Whatever goes wrong on the way to a yes is a no."""

import asyncio
import random
import time

import pytest

from signoff.approvals.desk import Desk
from signoff.approvals.request import ReviewRequest
from signoff.approvals.review import OVERLOADED, Line, Reviewer, ask
from signoff.approvals.scripted import Scripted
from signoff.approvals.unattended import NOBODY, Unattended
from signoff.domain.errors import NotEnforceable
from signoff.domain.review import Abort, Approved, ApprovedForSession, Denied, ReviewDecision, TimedOut
from signoff.domain.settings import DefaultAction, OnAsk
from tests.approvals.requests import exec_request
from tests.clauses import requirement
from tests.fakes import clock


class Silent:
    name, is_person = "silent", True

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        await asyncio.Event().wait()
        raise AssertionError


class Broken:
    name, is_person = "broken", True

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        raise self.error


def test_nobody_answers_within_the_limit() -> None:
    async def scene() -> tuple[ReviewDecision, float]:
        decision = await ask(Silent(), exec_request(), 300.0)
        return decision, asyncio.get_running_loop().time()

    assert clock.run(scene()) == (TimedOut(), 300.0)


def test_the_limit_does_not_follow_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour forward, an hour back, frozen: the wall clock may do what it likes."""
    jumps = iter([3_600.0, -3_600.0, 0.0] * 1_000)
    monkeypatch.setattr(time, "time", lambda: next(jumps))

    async def scene() -> tuple[ReviewDecision, float]:
        decision = await ask(Silent(), exec_request(), 300.0)
        return decision, asyncio.get_running_loop().time()

    assert clock.run(scene()) == (TimedOut(), 300.0)
    assert asyncio.SelectorEventLoop.time is asyncio.BaseEventLoop.time  # which is time.monotonic


@pytest.mark.parametrize(
    ("reviewer", "expected"),
    [
        (Broken(asyncio.CancelledError()), Denied()),
        (Broken(OSError("the terminal is gone")), Denied("nobody could be asked: the terminal is gone")),
        (Broken(NotEnforceable("no terminal")), Denied("nobody could be asked: no terminal")),
        (Broken(TimeoutError()), TimedOut()),
        (Scripted([Approved()]), Approved()),
        (Scripted(), Denied("the script has no answer to this")),
    ],
)
def test_a_reviewer_that_fails_has_said_no(reviewer: Reviewer, expected: ReviewDecision) -> None:
    assert asyncio.run(ask(reviewer, exec_request(), 60.0)) == expected


def test_a_call_that_is_stopped_while_it_waits_stays_stopped() -> None:
    async def scene() -> None:
        call = asyncio.ensure_future(ask(Silent(), exec_request(), 60.0))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("default_action", "on_ask", "expected"),
    [
        (DefaultAction.ALLOW, OnAsk.DENY, Approved()),
        (DefaultAction.ALLOW, OnAsk.FAIL, Approved()),
        (DefaultAction.ASK, OnAsk.DENY, Denied(NOBODY)),
        (DefaultAction.ASK, OnAsk.FAIL, Abort()),
        (DefaultAction.DENY, OnAsk.DENY, Denied(NOBODY)),
        (DefaultAction.DENY, OnAsk.FAIL, Abort()),
    ],
)
def test_when_nobody_is_there_the_settings_answer(
    default_action: DefaultAction, on_ask: OnAsk, expected: ReviewDecision
) -> None:
    assert asyncio.run(Unattended(default_action, on_ask).review(exec_request())) == expected


def test_the_line_asks_one_at_a_time_in_order_and_turns_away_a_crowd() -> None:
    async def scene() -> None:
        counts: list[int] = []
        line = Line(most=3, changed=lambda: counts.append(line.behind))
        gate, order, refused = asyncio.Event(), list[int](), list[int]()

        async def visitor(number: int) -> None:
            async with line.turn() as admitted:
                if not admitted:
                    refused.append(number)
                    return
                order.append(number)
                await gate.wait()

        async with asyncio.TaskGroup() as group:
            group.create_task(visitor(0))
            await asyncio.sleep(0)
            for number in range(1, 5):
                group.create_task(visitor(number))
            await asyncio.sleep(0)
            assert (order, line.behind, refused, counts) == ([0], 3, [4], [1, 1, 2, 3])
            gate.set()
        assert (order, line.behind) == ([0, 1, 2, 3], 0)

    asyncio.run(scene())


class TestDesk:
    @requirement("APR-051", "APR-052")
    def test_each_of_a_thousand_answers_finds_its_own_question_in_any_order(self) -> None:
        async def scene() -> None:
            desk = Desk()
            ids = [f"call-{number}" for number in range(1_000)]
            calls = [asyncio.ensure_future(ask(desk, exec_request(call_id=name), 60.0)) for name in ids]
            await asyncio.sleep(0)
            shuffled = random.Random(7).sample(ids, len(ids))
            assert all(desk.answer(name, Denied(rejection=name)) for name in shuffled)
            assert await asyncio.gather(*calls) == [Denied(rejection=name) for name in ids]
            assert desk.waiting == ()

        asyncio.run(scene())

    def test_the_first_answer_wins_and_unknown_second_and_late_ones_are_ignored(self) -> None:
        async def scene() -> None:
            desk = Desk()
            assert not desk.answer("call-1", Approved())
            call = asyncio.ensure_future(ask(desk, exec_request(), 60.0))
            await asyncio.sleep(0)
            assert [request.event.call_id for request in desk.waiting] == ["call-1"]
            assert desk.answer("call-1", Denied())
            assert not desk.answer("call-1", Approved())
            assert await call == Denied()
            late = asyncio.ensure_future(ask(desk, exec_request(), 60.0))
            assert await late == TimedOut()
            assert not desk.answer("call-1", ApprovedForSession())

        clock.run(scene())

    @requirement("APR-010")
    def test_an_abort_drops_the_other_questions_of_its_turn_only(self) -> None:
        async def scene() -> None:
            desk = Desk()
            names = [("a", "turn-1"), ("b", "turn-1"), ("c", "turn-2")]
            calls = [
                asyncio.ensure_future(ask(desk, exec_request(call_id=call, turn_id=turn), 60.0)) for call, turn in names
            ]
            await asyncio.sleep(0)
            assert desk.answer("a", Abort())
            assert await calls[0] == Abort()
            assert await calls[1] == Denied()
            assert desk.answer("c", Approved())
            assert await calls[2] == Approved()

        asyncio.run(scene())

    def test_too_many_questions_and_a_second_one_for_the_same_call_are_denied(self) -> None:
        async def scene() -> None:
            desk = Desk(most=2)
            open_ones = [asyncio.ensure_future(desk.review(exec_request(call_id=name))) for name in ("a", "b")]
            await asyncio.sleep(0)
            crowd = await asyncio.gather(*(desk.review(exec_request(call_id=str(n))) for n in range(10_000)))
            assert crowd == [OVERLOADED] * 10_000
            assert len(desk.waiting) == 2
            desk.answer("b", Denied())
            await open_ones[1]
            assert await desk.review(exec_request(call_id="a")) == Denied("call a has a question waiting already")
            desk.drop("turn-1")
            assert isinstance((await asyncio.gather(*open_ones[:1], return_exceptions=True))[0], asyncio.CancelledError)

        asyncio.run(scene())
