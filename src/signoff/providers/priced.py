"""A model whose cost is worked out from configured prices, where the vendor does not report it."""

from collections.abc import AsyncGenerator

import msgspec

from signoff.providers.provider import ModelEvent, ModelRequest, Provider, Usage

MILLION = 1_000_000


class Prices(msgspec.Struct, frozen=True):
    """USD for a million tokens; cached input costs what other input does unless told."""

    input: float
    output: float
    cached: float | None = None

    def cost(self, usage: Usage) -> float:
        cached = min(usage.cached_tokens, usage.input_tokens)
        rate = self.input if self.cached is None else self.cached
        whole = (usage.input_tokens - cached) * self.input + cached * rate + usage.output_tokens * self.output
        return whole / MILLION


class Priced:
    def __init__(self, provider: Provider, prices: Prices) -> None:
        self.name = provider.name
        self._provider = provider
        self._prices = prices

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        async for event in self._provider.stream(request):
            if isinstance(event, Usage) and event.cost_usd is None:
                yield msgspec.structs.replace(event, cost_usd=self._prices.cost(event))
            else:
                yield event

    async def models(self) -> tuple[str, ...]:
        return await self._provider.models()

    async def aclose(self) -> None:
        await self._provider.aclose()
