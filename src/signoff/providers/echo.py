"""A model without a model: it says again what the person said last."""

from collections.abc import AsyncIterator

from signoff.providers import pieces
from signoff.providers.provider import ModelEvent, ModelRequest, Stopped, TextDelta, Usage


class Echo:
    name = "echo"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        answer = next((message.text for message in reversed(request.messages) if message.role == "user"), "")
        for piece in pieces.words(answer):
            yield TextDelta(piece)
        heard = len(answer.split())  # it listens to nothing else
        yield Usage(heard, heard, cost_usd=0.0)
        yield Stopped("end")

    async def models(self) -> tuple[str, ...]:
        return ("echo",)

    async def aclose(self) -> None:
        return None
