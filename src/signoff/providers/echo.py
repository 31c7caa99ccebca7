"""A model without a model: it says again what the person said last."""

from collections.abc import AsyncIterator

from signoff.providers import pieces
from signoff.providers.provider import ModelEvent, ModelRequest, Stopped, TextDelta, Usage


class Echo:
    name = "echo"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        said = [message.text for message in request.messages if message.role == "user"]
        answer = said[-1] if said else ""
        for piece in pieces.words(answer):
            yield TextDelta(piece)
        yield Usage(pieces.tokens(request), len(answer.split()), cost_usd=0.0)
        yield Stopped("end")

    async def models(self) -> tuple[str, ...]:
        return ("echo",)

    async def aclose(self) -> None:
        return None
