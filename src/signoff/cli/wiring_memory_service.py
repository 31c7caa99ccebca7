"""The memory over HTTP until a signal ends it: where it listens, what failed, what it came to."""

import asyncio
import contextlib
import signal
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import uvicorn

from signoff.cli.listening import why_not
from signoff.cli.output import Output
from signoff.domain.errors import MemoryUnavailable


class _Story:
    """An application around another one that counts answers and tells of faults."""

    def __init__(self, output: Output, application: Callable[..., Awaitable[None]]) -> None:
        self._output, self._application = output, application
        self._statuses: Counter[int] = Counter()
        self._began = time.monotonic()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self._answered(scope, message["status"])
            await send(message)

        await self._application(scope, receive, sending)

    def _answered(self, scope: MutableMapping[str, Any], status: int) -> None:
        self._statuses[status] += 1
        line = f"{scope['method']} {scope['path']} from {(scope.get('client') or ['?'])[0]}: {status}"
        if status >= 500:
            self._output.warn(line)
        elif status >= 400:
            self._output.note(line)

    def summary(self) -> str:
        faults = sum(count for status, count in self._statuses.items() if status >= 500)
        refused = sum(count for status, count in self._statuses.items() if 400 <= status < 500)
        return (
            f"answered {self._statuses.total()} requests ({refused} refused, {faults} failed)"
            f" in {time.monotonic() - self._began:.0f} s"
        )


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal ends it in order and with 0, like our other servers."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._end)
        yield

    def _end(self) -> None:
        self.should_exit = True


def serve_memory(output: Output, application: Callable[..., Awaitable[None]], host: str, port: int) -> None:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        message, hint = why_not(host, port, error)
        raise MemoryUnavailable(message, hint=hint) from error
    shown = f"[{host}]" if ":" in host else host
    output.say(f"signoff: memory at http://{shown}:{listening.getsockname()[1]}/v1/qa")
    story = _Story(output, application)
    config = uvicorn.Config(story, log_level="warning", access_log=False, server_header=False, lifespan="off")
    try:
        _Server(config).run(sockets=[listening])
    finally:
        output.say(f"signoff: {story.summary()}")
