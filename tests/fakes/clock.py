"""An event loop whose clock moves only when everything waits: five minutes pass in no time, and always the same way."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits and no clock will wake it"
            self.now += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.skipping = _Selector()
        super().__init__(self.skipping)

    def time(self) -> float:
        return self.skipping.now


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a clock of its own. Only for work that waits for nothing outside the loop."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
