"""While a question stands on the screen it has the screen to itself, whoever asks it."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from signoff.approvals.request import ReviewRequest
from signoff.approvals.review import Reviewer
from signoff.domain.review import ReviewDecision

Quiet = Callable[[], AbstractContextManager[object]]


class Quietly:
    """A reviewer that asks in quiet."""

    def __init__(self, reviewer: Reviewer, quiet: Quiet) -> None:
        self._reviewer = reviewer
        self._quiet = quiet
        self.name = reviewer.name
        self.is_person = reviewer.is_person

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        with self._quiet():
            return await self._reviewer.review(request)
