"""The answer of the door: whether a call may happen, why, and what came with the answer."""

import msgspec

from signoff.domain.call import Failure
from signoff.domain.requirement import Requirement
from signoff.domain.review import ReviewDecision
from signoff.domain.verdict import Verdict


class Clearance(msgspec.Struct, frozen=True):
    """`failure` is None exactly when the call may happen; by then the decision is on disk."""

    verdict: Verdict
    requirement: Requirement
    decision: ReviewDecision | None = None  # what a person said, if one was asked now or earlier in the session
    failure: Failure | None = None
    outside: bool = False  # it may run outside the sandbox at once

    @property
    def allowed(self) -> bool:
        return self.failure is None
