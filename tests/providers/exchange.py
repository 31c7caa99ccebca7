"""One exchange with a model over HTTP, for the tests of what is asked, answered and refused."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from signoff.providers.anthropic import Anthropic
from signoff.providers.dialect import Dialect
from signoff.providers.endpoint import Endpoint
from signoff.providers.openai_chat import OpenAIChat
from signoff.providers.openai_responses import OpenAIResponses
from signoff.providers.provider import (
    Message,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    Text,
    TextDelta,
)
from signoff.providers.remote import Outside, Remote
from signoff.providers.retries import Retries
from signoff.providers.script import Call, Turn
from tests.fakes import model_server
from tests.fakes.model_server import Handler, ModelServer, Reply, played

KEY = "sk-proj-thisisthesecretkeyofthetest0123456789"
ALL: dict[str, tuple[Callable[[], Dialect], Callable[[Turn], tuple[bytes, ...]]]] = {
    "chat": (OpenAIChat, model_server.chat),
    "responses": (OpenAIResponses, model_server.responses),
    "messages": (Anthropic, model_server.messages),
}
each = pytest.mark.parametrize("dialect", ALL)

HELLO = ModelRequest("small", (Message("user", (Text("hello"),)),))
TURN = Turn(
    text="I look: é日本🙂", reasoning="hm, ß", tools=(Call("read_file", {"path": "ä"}), Call("grep", {"pattern": "x"}))
)


class Waits:
    """Remembers every wait and makes none."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    async def sleep(self, delay: float) -> None:
        self.delays.append(delay)

    def outside(self) -> Outside:
        return Outside(sleep=self.sleep, chance=lambda: 0.5, now=lambda: 1_000_000.0)


def ask(
    dialect: str,
    handler: Handler,
    request: ModelRequest = HELLO,
    *,
    waits: Waits | None = None,
    silence_s: float = 20.0,
    key: str = KEY,
    rounds: int = 1,
) -> tuple[list[ModelEvent], ModelServer]:
    async def collect(server: ModelServer) -> list[ModelEvent]:
        place = Endpoint(server.url if dialect == "messages" else server.openai, key)
        outside = (waits or Waits()).outside()
        remote = Remote(dialect, ALL[dialect][0](), place, silence_s=silence_s, retries=Retries(4), outside=outside)
        try:
            return [said for _ in range(rounds) async for said in remote.stream(request)]
        finally:
            await remote.aclose()

    with ModelServer(handler) as server:
        return asyncio.run(asyncio.wait_for(collect(server), 60)), server


def said(dialect: str, turn: Turn, **more: Any) -> Reply:
    return Reply(ALL[dialect][1](turn), **more)


def text_of(events: list[ModelEvent]) -> str:
    return "".join(said.text for said in events if isinstance(said, TextDelta))


def whole(events: list[ModelEvent]) -> list[ModelEvent]:
    return [said for said in events if not isinstance(said, TextDelta | ReasoningDelta)]


def plain(dialect: str, turn: Turn) -> list[ModelEvent]:
    return ask(dialect, played([turn]))[0]
