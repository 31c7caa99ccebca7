"""Questions run on an event loop of their own, so that reading the child never waits for a person."""

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from signoff.domain.late import late

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")

T = TypeVar("T")


class Reviews:
    """Starts its loop with the first question."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def ask(self, question: Coroutine[Any, Any, T], answered: Callable[[T | BaseException], None]) -> None:
        """Run a question; `answered` gets its result, or what went wrong, on the loop's thread."""

        async def run() -> None:
            try:
                result: T | BaseException = await question
            except (Exception, asyncio.CancelledError) as error:
                result = error
            answered(result)

        asyncio.run_coroutine_threadsafe(run(), self._running())

    def _running(self) -> "asyncio.AbstractEventLoop":
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="signoff-reviews", daemon=True)
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """Withdraw every open question; each is answered with its cancellation."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = None
        if loop is None or thread is None:
            return

        async def withdraw() -> None:
            questions = asyncio.all_tasks() - {asyncio.current_task()}
            for question in questions:
                question.cancel()
            await asyncio.gather(*questions, return_exceptions=True)
            loop.stop()

        asyncio.run_coroutine_threadsafe(withdraw(), loop)
        thread.join(10)
        if not thread.is_alive():
            loop.close()
