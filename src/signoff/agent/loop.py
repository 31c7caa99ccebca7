"""The loop: ask the model, carry its calls through the gate, tell it the results, until it has nothing more to do.

    prepare   read the arguments, say what the call is about
    gate      judge, ask, run, record: `gate.call`, and nothing else has effects
    finalize  tell the model, count refusals, notice circles

Calls that only read and stand together run together; all others one by one, in order. Cancelling the task that awaits
`turn` stops at any point: what began ends with a recorded result, what did not begin is said to the model, and `turn`
returns. A request that did not arrive whole is never run: providers give only whole ones.
"""

import functools
import itertools
import os
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from signoff.agent import shape
from signoff.agent.asking import Asking, Breathe, Terms, at_once
from signoff.agent.conversation import Conversation, first_line, last_text
from signoff.agent.event import (
    CallAnnounced,
    Denial,
    Look,
    Reason,
    TurnEnd,
    TurnEnded,
    TurnStarted,
)
from signoff.agent.limits import Budget, Pause, Repeats
from signoff.agent.mentions import brought
from signoff.agent.render import for_model, pictures
from signoff.agent.toolbox import Tools, arguments_of
from signoff.agent.watch import Watch
from signoff.domain.call import Failure, ToolCall, ToolResult
from signoff.domain.errors import (
    Aborted,
    BudgetReached,
    InvalidArguments,
    LoopDetected,
    ModelBadResponse,
    SignoffError,
)
from signoff.domain.event import CallFinished, PlanEntry, PlanUpdated
from signoff.domain.late import late
from signoff.domain.unreadable import UNREADABLE
from signoff.ledger.spans import Status, ToolSpan
from signoff.ledger.tracing import Tracing
from signoff.providers.provider import Image, Message, Provider, StopReason, Text, ToolRequest

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")


class Door(Protocol):
    async def call(self, call: ToolCall, *, turn_id: str = "", source: str = "agent") -> ToolResult: ...


Ask = Callable[[Pause], Awaitable[bool]]
"""May the agent go on? A no, or nobody to ask, ends the turn."""


async def nobody(pause: Pause) -> bool:
    return False


MOST_CORRECTIONS = 2
_STOPS: dict[StopReason, Reason] = {"length": Reason.LENGTH, "refused": Reason.REFUSED}
_ENDINGS = {BudgetReached.code: Reason.BUDGET, LoopDetected.code: Reason.LOOP, Aborted.code: Reason.ABORTED}


class Agent:
    """One for each stretch of a session. `model.system` is what the model is told first."""

    def __init__(
        self,
        provider: Provider,
        door: Door,
        tools: Tools,
        watch: Watch,
        terms: Terms,
        *,
        ask: Ask = nobody,
        tracing: Tracing | None = None,
        breathe: Breathe = at_once,
    ) -> None:
        self._door = door
        self._tools = tools
        self._watch = watch
        self._terms = terms
        self._ask = ask
        self._tracing = tracing or Tracing()
        self._show = watch.show
        self._name, self._numbers = os.urandom(6).hex(), itertools.count(1)
        self.budget = Budget(terms.limits, time.monotonic)
        self.model = Asking(provider, tools, terms, self.budget, watch.show, self._tracing, breathe)

    async def turn(self, conversation: Conversation, parts: tuple[Text | Image, ...]) -> TurnEnd:
        """One prompt, until the model is done with it or something ends it. Raises nothing but mistakes of ours."""
        turn, said = _Turn(conversation, self._new_id("turn")), Message("user", parts)
        task = said.text
        self._show(TurnStarted(turn.id, task))
        plan, before = _plan_of(conversation, task), conversation.plan
        self._show(PlanUpdated(plan))
        reason, error = Reason.ERROR, None
        try:
            conversation.user(await self._with_mentions(turn, parts) if "@" in task else said)
            reason = await self._work(turn)
        except asyncio.CancelledError:
            reason = Reason.CANCELLED
            _take_back_cancelling()
        except SignoffError as failure:
            reason = _ENDINGS.get(failure.code, Reason.ERROR)
            error = Failure(failure.code, f"{failure.message}. {failure.hint}" if failure.hint else failure.message)
        finally:
            if reason is not Reason.END:  # that is an answer which asks for nothing
                conversation.settle()
            conversation.close_turn(reason, self.budget.spent)
        if reason is Reason.END and conversation.plan is before is not plan:  # the plan was the task, and it is done
            self._show(PlanUpdated((PlanEntry(plan[0].content, "completed"),)))
        text = turn.text if reason is Reason.END else last_text(conversation)
        end = TurnEnd(reason, text, self.budget.spent, turn.calls, tuple(turn.denials), error)
        self._show(TurnEnded(turn.id, end))
        return end

    async def _with_mentions(self, turn: "_Turn", parts: tuple[Text | Image, ...]) -> Message:
        async def read(tool: str, args: dict[str, object]) -> ToolResult:
            return await self._carry(turn, self._call(tool, args), "mention")

        return Message("user", await brought(parts, self._terms.workspace, read))

    async def _work(self, turn: "_Turn") -> Reason:
        while True:
            if not self.budget.unlimited and (pause := self.budget.reached()) is not None:
                await self._asked_about(pause, self.budget.extend, BudgetReached)
            answer = await self.model.answer(turn.conversation)
            turn.text = answer.text or turn.text
            if answer.message.tool_requests:
                await self._perform(turn, answer.message.tool_requests)
            elif (
                answer.stop != "end"
                or (schema := self._terms.schema) is None
                or not self._corrected(turn, schema, answer.message)
            ):
                return _STOPS.get(answer.stop, Reason.END)

    async def _asked_about(self, pause: Pause, resume: Callable[[], object], ending: type[SignoffError]) -> None:
        """May it go on? A no ends the turn."""
        if not await self._ask(pause):
            raise ending(pause.reason)
        resume()

    def _corrected(self, turn: "_Turn", schema: dict[str, object], answer: Message) -> bool:
        """Does the answer have to be given again, because it is not of the shape that was asked for?"""
        problem = shape.problem(schema, answer.text)
        if problem is None:
            return False
        if turn.corrections == MOST_CORRECTIONS:
            raise ModelBadResponse(f"the answer is not of the shape that was asked for: {problem}")
        turn.corrections += 1
        says = f"Your answer is not of the shape that was asked for: {problem}. Answer with the JSON value alone."
        turn.conversation.add(Message("user", (Text(says),)))
        return True

    async def _perform(self, turn: "_Turn", requests: tuple[ToolRequest, ...]) -> None:
        prepared = [self._prepared(request) for request in requests]
        while prepared:
            batch = [prepared.pop(0)]
            while self._terms.together and prepared and batch[-1].look.read_only and prepared[0].look.read_only:
                batch.append(prepared.pop(0))
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._finalized(turn, one)) for one in batch]
            for one, task in zip(batch, tasks, strict=True):
                result = task.result()
                if result.error is not None and result.error.code == Aborted.code:
                    raise Aborted(result.error.message)
                if (pause := turn.repeats.note(one.request, result)) is not None:
                    await self._asked_about(pause, turn.repeats.forget, LoopDetected)
        for note in self._watch.take_notes():
            turn.conversation.add(Message("user", (Text(note),)))

    def _prepared(self, request: ToolRequest) -> "_Prepared":
        """The call and what it is about, or what is wrong with it."""
        try:
            call = self._call(request.name, arguments_of(request.arguments))
        except UNREADABLE as error:
            says = f"{request.name}: the arguments are no JSON object: {error}"
            return _Prepared(request, self._call(request.name, {}), Look(title=request.name), says)
        return _Prepared(request, call, self._tools.look(call))

    async def _finalized(self, turn: "_Turn", one: "_Prepared") -> ToolResult:
        turn.calls += 1
        turn.conversation.began(one.request, one.call, one.look)
        self._show(CallAnnounced(one.call, one.look))
        if one.problem is not None:
            result = ToolResult(one.call.tool_call_id, False, None, Failure(InvalidArguments.code, one.problem), 0)
            self._show(CallFinished(result))
        else:
            result = await self._carry(turn, one.call, "agent")
        denial = self._watch.denial(one.call, one.look, result)
        if denial is not None:
            turn.denials.append(denial)
        turn.conversation.answer(one.request, for_model(result), is_error=not result.ok, images=pictures(result))
        plan = self._watch.take_plan()
        if plan is not None:
            turn.conversation.planned(plan)
        return result

    async def _carry(self, turn: "_Turn", call: ToolCall, source: str) -> ToolResult:
        with self._tracing.span(ToolSpan(tool=call.name, tool_call_id=call.tool_call_id)) as live:
            result = await self._door.call(call, turn_id=turn.id, source=source)
            live.status = Status.OK if result.ok else Status.ERROR
        return result

    def _call(self, tool: str, args: dict[str, Any]) -> ToolCall:
        now = time.time_ns() // 1_000_000
        return ToolCall(self._new_id("call"), tool, "", args, self._terms.trace_id, now)

    def _new_id(self, kind: str) -> str:
        return f"{kind}-{self._name}-{next(self._numbers)}"


class _Prepared(msgspec.Struct, frozen=True):
    request: ToolRequest
    call: ToolCall
    look: Look
    problem: str | None = None  # why it cannot even be put to the gate


class _Turn(msgspec.Struct, dict=True):
    conversation: Conversation
    id: str
    text: str = ""  # the last that the model said
    calls: int = 0
    corrections: int = 0
    denials: list[Denial] = []

    @functools.cached_property
    def repeats(self) -> Repeats:
        return Repeats()  # many turns call nothing


def _plan_of(conversation: Conversation, task: str) -> tuple[PlanEntry, ...]:
    """What is left of the plan; where nothing is, the task itself is the plan."""
    if conversation.plan and any(entry.status != "completed" for entry in conversation.plan):
        return conversation.plan
    return (PlanEntry(first_line(task), "in_progress"),)


def _take_back_cancelling() -> None:
    """The turn was stopped, and with that the request to stop it is met: its task lives on to say how it ended."""
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass
