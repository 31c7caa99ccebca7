"""A model without a model: it says again what the person said last."""

from collections.abc import AsyncIterator, Sequence

from signoff.providers import pieces
from signoff.providers.provider import Message, ModelEvent, ModelRequest, Stopped, TextDelta, Usage


class Echo:
    name = "echo"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        answer = _said_last(request.messages)
        for piece in pieces.words(answer):
            yield TextDelta(piece)
        heard = len(answer.split())  # it listens to nothing else
        yield Usage(heard, heard, cost_usd=0.0)
        yield Stopped("end")

    async def models(self) -> tuple[str, ...]:
        return ("echo",)

    async def aclose(self) -> None:
        return None


def _said_last(messages: Sequence[Message]) -> str:
    for message in reversed(messages):
        if message.role == "user":
            return message.text
    return ""
