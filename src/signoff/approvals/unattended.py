"""Nobody is there to ask. The answer then comes from the settings, and without one it is no."""

from typing import assert_never

from signoff.approvals.request import ReviewRequest
from signoff.domain.review import Abort, Approved, Denied, ReviewDecision
from signoff.domain.settings import DefaultAction, OnAsk

NOBODY = "this needs approval and nobody is there to give it"


class Unattended:
    """`default_action` allow or deny decides; ask means deny. `on_ask` fail ends the run at the first denial."""

    name = "unattended"
    is_person = False

    def __init__(self, default_action: DefaultAction, on_ask: OnAsk) -> None:
        self._default_action = default_action
        self._on_ask = on_ask

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        match self._default_action:
            case DefaultAction.ALLOW:
                return Approved()
            case DefaultAction.ASK | DefaultAction.DENY:
                return Denied(rejection=NOBODY) if self._on_ask is OnAsk.DENY else Abort()
            case _:
                assert_never(self._default_action)
