"""A WebSocket that follows a script, so that losing connections needs no network and no luck."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from signoff.acp.transports.socket_client import Connection


class Scripted:
    """One connection. `answer` makes of each frame sent the frames that come back; a frame it cannot make is the loss."""

    def __init__(self, answer: Callable[[bytes], Sequence[str]]) -> None:
        self._answer = answer
        self._incoming: asyncio.Queue[str | BaseException] = asyncio.Queue()
        self.sent: list[bytes] = []
        self.closed = False

    async def send(self, message: bytes, *, text: bool | None = None) -> None:
        answers = self._answer(message)  # a loss is raised here: nobody got the frame
        self.sent.append(message)
        for answer in answers:
            self._incoming.put_nowait(answer)

    def lose(self, error: BaseException) -> None:
        """The next receive finds the connection gone."""
        self._incoming.put_nowait(error)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.closed = True

    async def __aiter__(self) -> AsyncIterator[str | bytes]:
        while True:
            item = await self._incoming.get()
            if isinstance(item, BaseException):
                raise item
            yield item


class ScriptedFactory:
    """Hands out the connections of a script one by one; an exception in their place is a failure to connect."""

    def __init__(self, script: Sequence[Scripted | Exception]) -> None:
        self._script = list(script)
        self.opened = 0

    async def __call__(self) -> Connection:
        self.opened += 1
        step = self._script.pop(0) if self._script else ConnectionRefusedError("the script is over")
        if isinstance(step, Exception):
            raise step
        return step
