"""A reviewer that answers from a list: for tests, demonstrations and programs that embed the gate."""

from collections.abc import Iterable

from signoff.approvals.request import ReviewRequest
from signoff.domain.review import Denied, ReviewDecision


class Scripted:
    """Gives the answers in order and keeps the questions. When the answers run out, the answer is no."""

    name = "scripted"
    is_person = True

    def __init__(self, answers: Iterable[ReviewDecision] = ()) -> None:
        self._answers = iter(tuple(answers))
        self.asked: list[ReviewRequest] = []

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        self.asked.append(request)
        return next(self._answers, Denied(rejection="the script has no answer to this"))
