"""The loop: what runs, in which order, what is told to the model, and how a turn ends."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signoff.agent.conversation import INTERRUPTED, NEVER_BEGAN, Conversation
from signoff.agent.event import CallAnnounced, Compacted, MessageDone, Reason, TurnEnd, TurnEnded, TurnStarted
from signoff.agent.limits import Limits, Pause
from signoff.domain.call import ToolCall, ToolResult
from signoff.domain.event import CallFinished, DeveloperMessage, PlanEntry, PlanUpdated
from signoff.providers.provider import ReasoningDelta, Text, TextDelta
from tests.agent.bench import Bench, at_once, done, failed


def script(*turns: dict[str, Any]) -> str:
    return "\n".join(json.dumps(turn) for turn in turns)


def calls(*names: str) -> dict[str, Any]:
    return {"tools": [{"name": name, "args": {"n": number}} for number, name in enumerate(names)]}


DONE = {"text": "done"}


def test_a_turn_goes_on_until_the_model_has_nothing_more_to_do(tmp_path: Path) -> None:
    bench = Bench(tmp_path, script({"text": "hm", "reasoning": "why", **calls("read")}, calls("write"), DONE))
    end = bench.turn()
    assert (end.reason, end.text, end.calls, end.denials, end.spent.requests) == (Reason.END, "done", 2, (), 3)
    assert isinstance(bench.shown[0], TurnStarted)
    assert bench.shown[-1] == TurnEnded(bench.shown[0].turn_id, end)
    assert [event.text for event in bench.of(TextDelta)] == ["hm", "done"]
    assert [event.text for event in bench.of(ReasoningDelta)] == ["why"]
    assert [event.text for event in bench.of(MessageDone)] == ["hm", "done"]
    plans = [event.entries for event in bench.of(PlanUpdated)]
    assert plans == [(PlanEntry("do it", "in_progress"),), (PlanEntry("do it", "completed"),)]
    assert [message.role for message in bench.conversation.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]


def test_calls_that_only_read_run_together_and_others_alone_in_order(tmp_path: Path) -> None:
    running: list[str] = []
    waiting = asyncio.Event()

    async def does(call: ToolCall) -> ToolResult:
        running.append(f"{call.name}{call.args['n']}")
        if call.name == "read":
            if len(running) == 3:
                waiting.set()
            await waiting.wait()  # ends only if all three run at once
        return done(call)

    bench = Bench(tmp_path, script(calls("read", "read", "read", "write", "write"), DONE), does)
    assert bench.turn().reason is Reason.END
    assert running == ["read0", "read1", "read2", "write3", "write4"]
    assert bench.door.most_running == 3


def test_one_at_a_time_where_that_is_asked_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, script(calls("read", "read"), DONE), together=False)
    bench.turn()
    assert bench.door.most_running == 1


@pytest.mark.parametrize("arguments", ["{", "[]", '"x"', "", "{}\x00", '{"a":1}{"b":2}'])
def test_broken_arguments_are_told_to_the_model(tmp_path: Path, arguments: str) -> None:
    bench = Bench(tmp_path, script({"tools": [{"name": "write", "args": arguments}]}, DONE))
    assert bench.turn().reason is Reason.END
    if arguments == "":
        assert len(bench.door.began) == 1
    else:
        assert bench.door.began == []
        assert "the arguments are no JSON object" in bench.told()[0]
        assert len(bench.of(CallAnnounced)) == len(bench.of(CallFinished)) == 1


async def cancelled_after(bench: Bench, reached: asyncio.Event) -> TurnEnd:
    task = asyncio.create_task(bench.agent.turn(bench.conversation, (Text("do it"),)))
    await asyncio.wait_for(reached.wait(), 30)
    task.cancel()
    return await asyncio.wait_for(task, 30)


def test_a_cancelled_turn_leaves_a_result_for_everything_that_began(tmp_path: Path) -> None:
    async def scene() -> tuple[Bench, TurnEnd]:
        reached = asyncio.Event()

        async def does(call: ToolCall) -> ToolResult:
            if call.args["n"] == 1:
                reached.set()
                await asyncio.Event().wait()
            return done(call)

        bench = Bench(tmp_path, script(calls("write", "write", "write"), DONE), does)
        return bench, await cancelled_after(bench, reached)

    bench, end = asyncio.run(scene())
    assert end.reason is Reason.CANCELLED
    assert len(bench.door.began) == len(bench.door.ended) == 2
    assert bench.told() == ["n: 0", INTERRUPTED, NEVER_BEGAN]
    assert bench.conversation.unanswered == ()
    resumed = Conversation(bench.log, bench.log.events())
    assert resumed.messages == bench.conversation.messages


def test_cancelling_calls_that_run_together_ends_all_of_them(tmp_path: Path) -> None:
    async def scene() -> tuple[Bench, TurnEnd]:
        reached = asyncio.Event()

        async def does(call: ToolCall) -> ToolResult:
            if call.args["n"] == 0:
                return done(call)
            if call.args["n"] == 2:
                reached.set()
            await asyncio.Event().wait()
            return done(call)

        bench = Bench(tmp_path, script(calls("read", "read", "read"), DONE), does)
        return bench, await cancelled_after(bench, reached)

    bench, end = asyncio.run(scene())
    assert end.reason is Reason.CANCELLED
    assert sorted(bench.told()) == sorted(["n: 0", INTERRUPTED, INTERRUPTED])
    assert len(bench.of(CallFinished)) == 3


def test_cancelling_while_the_model_speaks_keeps_what_it_said_and_runs_nothing(tmp_path: Path) -> None:
    async def scene() -> tuple[Bench, TurnEnd]:
        reached = asyncio.Event()
        bench = Bench(tmp_path, script({"text": "I was about to", "hang": True, **calls("write")}))
        bench.watch.show = bench.agent._show = lambda event: None

        def shown(event: object) -> None:
            if isinstance(event, TextDelta):
                reached.set()

        bench.agent.model._show = shown
        return bench, await cancelled_after(bench, reached)

    bench, end = asyncio.run(scene())
    assert end.reason is Reason.CANCELLED
    assert end.text.startswith("I ")
    assert bench.door.began == []
    assert bench.conversation.messages[-1].tool_requests == ()


def test_the_task_that_was_cancelled_can_go_on(tmp_path: Path) -> None:
    async def scene() -> bool:
        reached = asyncio.Event()

        async def does(call: ToolCall) -> ToolResult:
            reached.set()
            await asyncio.Event().wait()
            return done(call)

        bench = Bench(tmp_path, script(calls("write"), DONE), does)

        async def two_turns() -> bool:
            first = await bench.agent.turn(bench.conversation, (Text("one"),))
            second = await bench.agent.turn(bench.conversation, (Text("two"),))
            return (first.reason, second.reason, second.text) == (Reason.CANCELLED, Reason.END, "done")

        task = asyncio.create_task(two_turns())
        await asyncio.wait_for(reached.wait(), 30)
        task.cancel()
        return await asyncio.wait_for(task, 30)

    assert asyncio.run(scene())


@pytest.mark.parametrize(
    ("code", "counted"),
    [("policy.denied", True), ("review.denied", True), ("review.timeout", True), ("tool.failed", False)],
)
def test_refusals_are_counted_and_told(tmp_path: Path, code: str, counted: bool) -> None:
    async def does(call: ToolCall) -> ToolResult:
        return failed(call, code, "not here")

    bench = Bench(tmp_path, script(calls("write"), DONE), does)
    end = bench.turn()
    assert end.reason is Reason.END
    assert [(one.tool, one.code, one.reason) for one in end.denials] == (
        [("write", code, "not here")] if counted else []
    )
    assert bench.told() == [f"error {code}: not here"]


def test_an_abort_ends_the_turn(tmp_path: Path) -> None:
    async def does(call: ToolCall) -> ToolResult:
        return failed(call, "review.aborted", "stop")

    bench = Bench(tmp_path, script(calls("write", "write"), DONE), does)
    end = bench.turn()
    assert (end.reason, len(end.denials), len(bench.door.began)) == (Reason.ABORTED, 1, 1)
    assert bench.told() == ["error review.aborted: stop", NEVER_BEGAN]


def test_the_same_call_with_the_same_result_is_a_circle(tmp_path: Path) -> None:
    asked: list[Pause] = []

    async def once(pause: Pause) -> bool:
        asked.append(pause)
        return len(asked) == 1

    again = {**calls("read"), "repeat": 40}
    bench = Bench(tmp_path, script(again), ask=once)
    end = bench.turn()
    assert (end.reason, end.calls, len(asked)) == (Reason.LOOP, 8, 2)
    assert end.error is not None and end.error.code == "agent.loop"
    assert "4 times with the same arguments and the same result" in asked[0].question


def test_another_result_is_no_circle(tmp_path: Path) -> None:
    count = iter(range(100))

    async def does(call: ToolCall) -> ToolResult:
        return done(call, progress=next(count))

    bench = Bench(tmp_path, script({**calls("read"), "repeat": 30}, DONE), does)
    assert bench.turn().reason is Reason.END


@pytest.mark.parametrize(
    "limits", [Limits(max_turns=2), Limits(max_tokens=20), Limits(max_usd=0.2), Limits(max_minutes=1e-9)]
)
def test_a_used_up_budget_asks_and_a_yes_gives_the_same_again(tmp_path: Path, limits: Limits) -> None:
    asked: list[Pause] = []

    async def once(pause: Pause) -> bool:
        asked.append(pause)
        return len(asked) == 1

    usage = {"input_tokens": 5, "output_tokens": 5, "cost_usd": 0.1}
    turns = [{**calls("read", "write"), "usage": usage} for _ in range(9)]
    count = iter(range(1_000))

    async def does(call: ToolCall) -> ToolResult:
        return done(call, progress=next(count))

    bench = Bench(tmp_path, script(*turns), does, ask=once, limits=limits)
    end = bench.turn()
    assert end.reason is Reason.BUDGET
    assert len(asked) == 2
    if limits.max_minutes is None:
        assert end.spent.requests == 4


def test_what_the_gate_wants_the_model_to_know_is_told(tmp_path: Path) -> None:
    benches: list[Bench] = []

    async def does(call: ToolCall) -> ToolResult:
        benches[0].watch(DeveloperMessage("a rule was kept"))
        return done(call)

    benches.append(Bench(tmp_path, script(calls("write"), {"text": "ok", "expect": "a rule was kept"}), does))
    assert benches[0].turn().text == "ok"


def test_the_plan_is_kept_with_the_session(tmp_path: Path) -> None:
    benches: list[Bench] = []
    plan = (PlanEntry("look", "completed"), PlanEntry("fix", "in_progress"))

    async def does(call: ToolCall) -> ToolResult:
        benches[0].watch(PlanUpdated(plan))
        return done(call)

    benches.append(bench := Bench(tmp_path, script(calls("write"), DONE), does))
    bench.turn()
    assert Conversation(bench.log, bench.log.events()).plan == plan


@pytest.mark.parametrize("status", ["in_progress", "completed"])
def test_a_plan_with_something_left_is_gone_on_with_and_a_finished_one_makes_room(tmp_path: Path, status: str) -> None:
    left = (PlanEntry("look", "completed"), PlanEntry("fix", status))  # type: ignore[arg-type]
    bench = Bench(tmp_path, script(DONE))
    bench.conversation.planned(left)
    bench.turn()
    task = [(PlanEntry("do it", "in_progress"),), (PlanEntry("do it", "completed"),)]
    assert [event.entries for event in bench.of(PlanUpdated)] == ([left] if status == "in_progress" else task)


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        ({"text": "half", "stop": "length"}, Reason.LENGTH),
        ({"text": "no", "stop": "refused"}, Reason.REFUSED),
        ({"error": {"code": "model.unreachable", "message": "gone"}}, Reason.ERROR),
    ],
)
def test_a_model_that_does_not_answer_ends_the_turn(tmp_path: Path, turn: dict[str, Any], reason: Reason) -> None:
    bench = Bench(tmp_path, script(turn))
    end = bench.turn()
    assert end.reason is reason
    assert len(bench.of(PlanUpdated)) == 1  # what was not done is not called done
    assert (end.error is not None) is (reason is Reason.ERROR)


def long_work(tmp_path: Path, *last: dict[str, Any], limits: Limits, size: int = 4_000) -> Bench:
    count = iter(range(1_000))

    async def does(call: ToolCall) -> ToolResult:
        return done(call, content=f"result {next(count)} " + "x" * size)

    plenty = [{"text": f"step {number}", **calls("read")} for number in range(12)]
    return Bench(tmp_path, script(*plenty, *last), does, limits=limits)


def test_a_full_context_loses_old_results_first(tmp_path: Path) -> None:
    bench = long_work(tmp_path, DONE, limits=Limits(context_tokens=8_000))
    bench.turn("the task itself")
    assert bench.of(Compacted)
    for event in bench.of(Compacted):
        assert event.after_tokens < event.before_tokens <= 8_000
    messages = bench.conversation.messages
    assert messages[0].text == "the task itself"
    assert "result 11" in messages[-2].text and len(messages[-2].text) > 4_000
    assert "left out" in messages[2].text
    assert [one.text for one in Conversation(bench.log, bench.log.events()).messages] == [one.text for one in messages]


def test_a_summary_keeps_the_task_the_plan_and_the_last_exchanges(tmp_path: Path) -> None:
    bench = long_work(tmp_path, {"text": "S U M M A R Y"}, limits=Limits())
    end = bench.turn("the task itself")
    assert end.text == "S U M M A R Y"
    bench.conversation.planned((PlanEntry("still to do"),))
    summarising = Bench(tmp_path / "again", script({"text": "what happened in short"}))
    asyncio.run(summarising.agent.model.compact(bench.conversation))
    texts = [message.text for message in bench.conversation.messages]
    assert texts[0] == "the task itself"
    assert "what happened in short" in texts[1] and "- [pending] still to do" in texts[1]
    assert texts[-1] == "S U M M A R Y"


def test_a_context_that_overflows_is_made_smaller_and_asked_again(tmp_path: Path) -> None:
    overflow = {"error": {"code": "model.context_overflow", "message": "too long"}}
    broken = {"error": {"code": "model.failed", "message": "no summary today"}}
    bench = long_work(tmp_path, overflow, broken, DONE, limits=Limits())
    assert bench.turn("the task itself").text == "done"
    texts = [message.text for message in bench.conversation.messages]
    assert texts[0] == "the task itself"
    assert "called read" in texts[1]


def test_nothing_grows_over_a_turn_of_many_calls(tmp_path: Path) -> None:
    count = iter(range(10_000))

    async def does(call: ToolCall) -> ToolResult:
        return done(call, content=f"{next(count)} " + "x" * 2_000)

    bench = Bench(tmp_path, script({**calls("read"), "repeat": 500}, DONE), does, limits=Limits(context_tokens=20_000))
    bench.agent.model._summary = plainly(bench.agent.model._summary)  # type: ignore[method-assign]
    assert bench.turn().calls == 500
    assert sum(len(message.text) for message in bench.conversation.messages) < 100_000
    assert bench.watch._rules == {}


def plainly(_summary: Callable[..., Any]) -> Callable[..., Any]:
    async def summary(messages: Any) -> str:
        return "in short"

    return summary


def test_the_door_is_the_only_way(tmp_path: Path) -> None:
    """Every announced call was begun by the door and ended there."""
    bench = Bench(tmp_path, script(calls("read", "write", "read"), DONE), at_once)
    bench.turn()
    announced = [event.call.tool_call_id for event in bench.of(CallAnnounced)]
    assert announced == [call.tool_call_id for call in bench.door.began]
    assert len(set(announced)) == 3
