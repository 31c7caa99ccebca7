"""Questions that are answered from elsewhere: an editor, another process, a page on a telephone.

The first answer to a question counts. An answer to a question nobody asked, a second answer, and one that comes after the
limit are ignored, and the caller is told so.
"""

from typing import TYPE_CHECKING

from signoff.approvals.request import ReviewRequest
from signoff.approvals.review import OVERLOADED
from signoff.domain.late import late
from signoff.domain.review import Abort, Denied, ReviewDecision

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")


class Desk:
    name = "desk"
    is_person = True

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._open: dict[str, tuple[ReviewRequest, asyncio.Future[ReviewDecision]]] = {}

    @property
    def waiting(self) -> tuple[ReviewRequest, ...]:
        return tuple(request for request, _ in self._open.values())

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        call_id = request.event.call_id
        if len(self._open) >= self._most:
            return OVERLOADED
        if call_id in self._open:
            return Denied(rejection=f"call {call_id} has a question waiting already")
        answer: asyncio.Future[ReviewDecision] = asyncio.get_running_loop().create_future()
        self._open[call_id] = (request, answer)
        try:
            return await answer
        finally:
            del self._open[call_id]

    def answer(self, call_id: str, decision: ReviewDecision) -> bool:
        """Give the answer to a waiting question; False if there is none that still waits. An abort ends the whole turn:
        its other questions are dropped."""
        request, waiting = self._open.get(call_id, (None, None))
        if request is None or waiting is None or waiting.done():
            return False
        waiting.set_result(decision)
        if isinstance(decision, Abort):
            self.drop(request.event.turn_id)
        return True

    def drop(self, turn_id: str) -> None:
        """Withdraw every question of a turn. Who waits for one is answered with a denial."""
        for request, answer in self._open.values():
            if request.event.turn_id == turn_id and not answer.done():
                answer.cancel()
