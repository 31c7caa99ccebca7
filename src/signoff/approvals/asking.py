"""Ask about a case: from the session's memory, else the reviewer; then do what the answer asks for beyond a yes or no.

A rule that is to be kept is kept first; a root that is granted is open from then on; the answer is recorded.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from signoff.approvals.case import Case, Rulebook, review_record
from signoff.approvals.compose import compose, identity, not_saved_message, saved_message
from signoff.approvals.request import CallSubject, PatchSubject, ReviewRequest
from signoff.approvals.review import OVERLOADED, Reviewer, ask, unreached
from signoff.approvals.store import ApprovalStore
from signoff.domain.errors import SignoffError
from signoff.domain.event import DeveloperMessage, ReviewAnswered, ReviewAsked, RunEvent, Warned
from signoff.domain.late import late
from signoff.domain.review import (
    ApplyPatchApprovalRequestEvent,
    ApprovedExecpolicyAmendment,
    ApprovedForSession,
    ReviewDecision,
    TimedOut,
)
from signoff.domain.verdict import Verdict
from signoff.ledger.log import Ledger
from signoff.ledger.records import DecidedBy

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")


class Asking:
    """One per session. `granted` are the roots a person opened for writing in it."""

    def __init__(
        self,
        reviewer: Reviewer,
        rulebook: Rulebook,
        ledger: Ledger,
        *,
        limit_s: float,
        show: Callable[[RunEvent], None],
    ) -> None:
        self._reviewer = reviewer
        self._rulebook = rulebook
        self._ledger = ledger
        self._limit_s = limit_s
        self._show = show
        self._store = ApprovalStore()
        self.granted: tuple[str, ...] = ()

    async def review(
        self,
        case: Case,
        verdict: Verdict,
        reason: str | None,
        amendment: tuple[str, ...] | None,
        *,
        retry: bool = False,
    ) -> tuple[ReviewDecision, DecidedBy]:
        """The person's answer, and whose it is."""
        # to let a patch out of the sandbox is more than what was said about its files
        keys = () if retry and isinstance(case.subject, PatchSubject) else case.keys
        if self._store.covers(keys):
            return ApprovedForSession(), DecidedBy.SESSION
        subject = case.subject if case.newest is None else await case.newest()
        request = compose(
            case.call,
            case.turn_id,
            case.intent,
            verdict,
            subject=subject or CallSubject(case.call.args),
            keys=keys,
            width=case.width,
            reason=reason,
            amendment=amendment,
            rules=self._rulebook.proposed_rules(case.intent, verdict, self.granted),
            may_save=self._rulebook.may_save,
            covers_retry=case.covers_retry and not retry,
            outside=retry or case.escalated,
        )
        decision = await self._store.with_cached_approval(
            keys, lambda: self._ask(case, request), about=identity(request.event)
        )
        if isinstance(decision, TimedOut):
            return decision, DecidedBy.TIMEOUT
        if decision == OVERLOADED:
            return decision, DecidedBy.OVERLOAD
        somebody = self._reviewer.is_person and not unreached(decision)
        return decision, DecidedBy.PERSON if somebody else DecidedBy.UNATTENDED

    async def _ask(self, case: Case, request: ReviewRequest) -> ReviewDecision:
        started = time.monotonic_ns()
        self._show(ReviewAsked(request.event))
        decision = await ask(self._reviewer, request, self._limit_s)
        self._show(ReviewAnswered(case.call.tool_call_id, decision))
        self._ledger.submit(review_record(case, request, decision, self._reviewer.name, time.monotonic_ns() - started))
        event = request.event
        if isinstance(decision, ApprovedExecpolicyAmendment) and (decision.rule is None) == bool(case.intent.argv):
            await self._save(decision)
        if isinstance(decision, ApprovedForSession) and isinstance(event, ApplyPatchApprovalRequestEvent):
            self.granted += (event.grant_root,) if event.grant_root else ()
        return decision

    async def _save(self, amendment: ApprovedExecpolicyAmendment) -> None:
        """Keep the rule first; if that fails, say so and go on: this one call was approved all the same."""
        try:
            await asyncio.to_thread(self._rulebook.save, amendment)
        except (SignoffError, OSError) as error:
            self._show(Warned(not_saved_message(error)))
        else:
            self._show(DeveloperMessage(saved_message(amendment)))
