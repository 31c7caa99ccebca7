"""What was approved for the rest of the session, and which questions are being asked right now.

A yes is remembered under the tool's own approval keys, each as its JSON text, never under anything similar. Only
`approved_for_session` is remembered. Of identical questions asked at the same time the person sees one, and its answer
is everyone's.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from signoff.domain.late import late
from signoff.domain.review import ApprovedForSession, Denied, ReviewDecision

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")

Fetch = Callable[[], Awaitable[ReviewDecision]]


def key_text(key: object) -> str:
    """An approval key as the store knows it: its JSON, with the order of its fields fixed."""
    return msgspec.json.encode(key, order="deterministic").decode()


class ApprovalStore:
    """One per session, never shared and never saved."""

    def __init__(self) -> None:
        self._approved: dict[str, ReviewDecision] = {}
        self._asked: dict[tuple[str, ...], _Question] = {}

    def covers(self, keys: Sequence[str]) -> bool:
        return bool(keys) and all(key in self._approved for key in keys)

    async def with_cached_approval(self, keys: Sequence[str], fetch: Fetch, *, about: str = "") -> ReviewDecision:
        """The cached yes if it covers every key, else the answer `fetch` brings. `about` tells apart different questions
        on the same keys, such as the one before the first attempt and the one before the retry."""
        if not keys:
            return await fetch()
        if self.covers(keys):
            return ApprovedForSession()
        identity = (about, *keys)
        question = self._asked.get(identity)
        if question is None:
            question = self._asked[identity] = _Question(self._ask(keys, fetch))
        try:
            return await question.answer()
        finally:
            if question.over and self._asked.get(identity) is question:
                del self._asked[identity]

    async def _ask(self, keys: Sequence[str], fetch: Fetch) -> ReviewDecision:
        decision = await fetch()
        if isinstance(decision, ApprovedForSession):
            for key in keys:  # key by key: a later call may need only some of them
                self._approved[key] = decision
        return decision


class _Question:
    """One question with everyone who waits for it. It lives until it is answered or nobody waits any more."""

    def __init__(self, asking: Awaitable[ReviewDecision]) -> None:
        self._task = asyncio.ensure_future(asking)
        self._waiting = 0
        self.over = False

    async def answer(self) -> ReviewDecision:
        self._waiting += 1
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled() and not _we_are_cancelled():
                return Denied()  # the question was dropped without an answer
            raise
        finally:
            self._waiting -= 1
            self.over = self._task.done() or self._waiting == 0
            if not self._task.done() and self._waiting == 0:
                self._task.cancel()
                await asyncio.wait({self._task})  # let the reviewer take its prompt back


def _we_are_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
