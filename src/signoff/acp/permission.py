"""Ask the person behind an ACP client, and remember what they said for good. A local policy, not a part of ACP: on the
wire there is `session/request_permission` and nothing else.

`disabled` lets everything pass that the policy would ask about. `permissive` asks, and lets it pass when the client
cannot be asked at all, which is said and recorded. `required` asks, and whatever goes wrong is a no. A question nobody
answers in time is a no in every mode. Only the two `…_always` answers are remembered, per session, by fingerprint.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, assert_never

import msgspec

from signoff.acp.question import Choice, choices, question
from signoff.approvals.review import Presumed
from signoff.domain.errors import PeerError
from signoff.domain.review import Abort, Approved, Denied, ReviewDecision
from signoff.policy.fingerprint import fingerprint
from signoff.wire import acp_schema as schema

if TYPE_CHECKING:
    from signoff.approvals.request import ReviewRequest

STANDING_NO = "the person rejected this for the rest of the session"


class Mode(enum.StrEnum):
    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    REQUIRED = "required"


class Scope(enum.StrEnum):
    """What is asked about: single tool calls, whole prompts, or both."""

    TOOL = "tool"
    PROMPT = "prompt"
    BOTH = "both"

    @property
    def prompts(self) -> bool:
        return self is not Scope.TOOL

    @property
    def tools(self) -> bool:
        return self is not Scope.PROMPT


class Standing(enum.Enum):
    ALLOWED = "allowed"
    REJECTED = "rejected"


class Memory:
    """What was answered with `…_always`, for as long as the session exists."""

    def __init__(self) -> None:
        self._answers: dict[str, Standing] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def recall(self, print_: str) -> Standing | None:
        return self._answers.get(print_)

    def remember(self, print_: str, standing: Standing) -> None:
        self._answers[print_] = standing

    def clear(self) -> None:
        self._answers.clear()


Ask = Callable[[schema.ToolCallUpdate, list[schema.PermissionOption]], Awaitable[schema.RequestPermissionOutcome]]
"""Put it to the client. Raises PeerError where the client cannot be asked."""


class Permission:
    """Of one session: asks about one thing at a time, or answers from memory."""

    def __init__(self, mode: Mode, ask: Ask, memory: Memory, warn: Callable[[str], object]) -> None:
        self._mode = mode
        self._ask = ask
        self._memory = memory
        self._warn = warn

    async def decide(self, shown: schema.ToolCallUpdate, print_: str, offered: tuple[Choice, ...]) -> ReviewDecision:
        match self._mode, self._memory.recall(print_):
            case Mode.DISABLED, _:
                return Presumed()
            case _, Standing.ALLOWED:
                return Approved()
            case _, Standing.REJECTED:
                return Denied(rejection=STANDING_NO)
            case _:
                return await self._asked(shown, print_, offered)

    async def _asked(self, shown: schema.ToolCallUpdate, print_: str, offered: tuple[Choice, ...]) -> ReviewDecision:
        try:
            outcome = await self._ask(shown, [choice.option for choice in offered])
        except PeerError as error:
            if self._mode is not Mode.PERMISSIVE:
                raise
            self._warn(f"the client could not be asked and {shown.toolCallId} passed (permissive): {error.message}")
            return Presumed()
        return self._answered(outcome, print_, offered)

    def _answered(
        self, outcome: schema.RequestPermissionOutcome, print_: str, offered: tuple[Choice, ...]
    ) -> ReviewDecision:
        match outcome:
            case schema.CancelledPermissionOutcome():
                return Abort()
            case schema.SelectedPermissionOutcome(optionId=chosen):
                choice = next((each for each in offered if each.option.optionId == chosen), None)
                if choice is None:
                    return Denied(rejection=f"the client chose {chosen!r}, which was not offered")
                if choice.standing is not None:
                    self._memory.remember(print_, Standing.ALLOWED if choice.standing else Standing.REJECTED)
                return choice.decision
            case _:
                assert_never(outcome)


class ClientReviewer:
    """The gate's way to the person in front of the client."""

    name = "acp"

    def __init__(
        self, permission: Permission, known: Callable[[str], schema.ToolCall | None], *, is_person: bool = True
    ) -> None:
        self._permission = permission
        self._known = known
        self.is_person = is_person

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        shown = question(request, self._known(request.event.call_id))
        return await self._permission.decide(shown, self._print(request, shown), choices(request))

    def _print(self, request: ReviewRequest, shown: schema.ToolCallUpdate) -> str:
        """Of the call as it is, not as it is shown: two calls that differ in a masked secret are two calls. To run it
        outside the sandbox is another question than to run it."""
        call = self._known(request.event.call_id) or shown
        locations = msgspec.to_builtins(call.locations or []) if isinstance(call.locations, list) else []
        return fingerprint(
            kind=call.kind or None,
            title=f"{call.title or ''}{' (outside)' if request.outside else ''}",
            locations=locations,
            raw_input=None if call.rawInput is msgspec.UNSET else call.rawInput,
        )
