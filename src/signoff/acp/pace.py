"""A model that waits for its reader: while the client does not take what it was sent, no more is asked of the model."""

from collections.abc import AsyncIterator, Awaitable, Callable

from signoff.providers.provider import ModelEvent, ModelRequest, Provider


class Paced:
    def __init__(self, provider: Provider, breathe: Callable[[], Awaitable[None]]) -> None:
        self._provider = provider
        self._breathe = breathe
        self.name = provider.name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        await self._breathe()
        async for event in self._provider.stream(request):
            yield event
            await self._breathe()

    async def models(self) -> tuple[str, ...]:
        return await self._provider.models()

    async def aclose(self) -> None:
        await self._provider.aclose()
