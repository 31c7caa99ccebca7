"""An agent on a bench: a scripted model, a door that does what the test says, a real session on disk."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from signoff.agent.asking import Terms
from signoff.agent.conversation import Conversation
from signoff.agent.event import AgentEvent, Kind, Look, TurnEnd
from signoff.agent.limits import Limits, Pause
from signoff.agent.loop import Agent, nobody
from signoff.agent.sessions import Sessions
from signoff.agent.watch import Watch
from signoff.domain.call import Failure, ToolCall, ToolResult
from signoff.domain.event import CallFinished, CallStarted
from signoff.providers.provider import Text, ToolSpec
from signoff.providers.script import parse
from signoff.providers.scripted import Scripted

UNLIMITED = Limits()
SPECS = tuple(ToolSpec(name, f"the tool {name}", {"type": "object"}) for name in ("read", "write", "display"))


class Tools:
    def specs(self) -> tuple[ToolSpec, ...]:
        return SPECS

    def look(self, call: ToolCall) -> Look:
        return Look(Kind.READ if call.name == "read" else Kind.EDIT, call.name, read_only=call.name == "read")


def done(call: ToolCall, **payload: Any) -> ToolResult:
    return ToolResult(call.tool_call_id, True, payload or {"n": call.args.get("n")}, None, 1)


def failed(call: ToolCall, code: str, message: str = "no") -> ToolResult:
    return ToolResult(call.tool_call_id, False, None, Failure(code, message), 1)


async def at_once(call: ToolCall) -> ToolResult:
    return done(call)


class Door:
    """Like the gate it leaves a result for every call that began, also when it is cancelled."""

    def __init__(self, does: Callable[[ToolCall], Awaitable[ToolResult]]) -> None:
        self._does = does
        self.watch: Watch | None = None
        self.began: list[ToolCall] = []
        self.ended: list[ToolResult] = []
        self.running = self.most_running = 0

    async def call(self, call: ToolCall, *, turn_id: str = "", source: str = "agent") -> ToolResult:
        assert self.watch is not None
        self.began.append(call)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        self.watch(CallStarted(call))
        result = failed(call, "interrupted")
        try:
            result = await self._does(call)
        finally:
            self.running -= 1
            self.ended.append(result)
            self.watch(CallFinished(result))
        return result


class Bench:
    def __init__(
        self,
        folder: Path,
        script: str,
        does: Callable[[ToolCall], Awaitable[ToolResult]] = at_once,
        *,
        ask: Callable[[Pause], Awaitable[bool]] = nobody,
        limits: Limits = UNLIMITED,
        **terms: Any,
    ) -> None:
        self.shown: list[AgentEvent] = []
        self.door = Door(does)
        self.watch = self.door.watch = Watch(self.shown.append)
        self.sessions = Sessions(str(folder / "sessions"))
        self.log = self.sessions.create(str(folder), "scripted/x", "ask")
        self.conversation = Conversation(self.log)
        self.agent = Agent(
            Scripted(parse(script.encode(), "the test")),
            self.door,
            Tools(),
            self.watch,
            Terms("x", str(folder), "trace", limits, **terms),
            ask=ask,
        )

    def turn(self, text: str = "do it") -> TurnEnd:
        return asyncio.run(asyncio.wait_for(self.agent.turn(self.conversation, (Text(text),)), 30))

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.shown if isinstance(event, kind)]

    def told(self) -> list[str]:
        """What the model was told as results, in order."""
        return [message.text for message in self.conversation.messages if message.role == "tool"]
