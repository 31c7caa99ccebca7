"""A line typed by the person at the terminal: the answer to a question of the agent, or whether it may go on."""

import contextlib
import os
from typing import TYPE_CHECKING

from signoff.agent.limits import Pause
from signoff.cli.quiet import Quiet
from signoff.domain.late import late
from signoff.domain.visible import visible
from signoff.tools.ask_user import AskArguments

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")


class Typist:
    """Asks on a terminal, one question at a time. Nobody answering within the limit is no answer."""

    def __init__(self, terminal: int, limit_s: float, quiet: Quiet = contextlib.nullcontext) -> None:
        self._terminal = terminal
        self._limit_s = limit_s
        self._quiet = quiet

    async def ask(self, question: AskArguments) -> str | None:
        """For `ask_user`. A number chooses an option."""
        lines = ["", f"  {visible(question.question)}"]
        lines += [f"   {number}. {visible(option)}" for number, option in enumerate(question.options, start=1)]
        answer = await self._line("\n".join(lines) + "\n  > ")
        if answer is None:
            return None
        chosen = int(answer) - 1 if answer.isdecimal() else -1
        return question.options[chosen] if 0 <= chosen < len(question.options) else answer

    async def go_on(self, pause: Pause) -> bool:
        """For a budget that is used up, or a circle."""
        answer = await self._line(f"\n  {visible(pause.question)} [y/N] ")
        return (answer or "").lower() in ("y", "yes")

    async def _line(self, text: str) -> str | None:
        with self._quiet():
            return await self._typed(text)

    async def _typed(self, text: str) -> str | None:
        os.write(self._terminal, text.encode("utf-8", "backslashreplace"))
        loop = asyncio.get_running_loop()
        typed: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            if not typed.done():
                typed.set_result(os.read(self._terminal, 4_096))

        loop.add_reader(self._terminal, read)
        try:
            async with asyncio.timeout(self._limit_s):
                data = await typed
        except TimeoutError:
            return None
        finally:
            loop.remove_reader(self._terminal)
        return data.decode("utf-8", "replace").strip() if data else None
