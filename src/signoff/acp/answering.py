"""How our client answers an agent's questions for permission: by the kind of the options, or with the one a person picked."""

from collections.abc import Awaitable, Callable, Sequence

from signoff.wire import acp_schema as schema

Decide = Callable[[schema.RequestPermissionRequest], Awaitable[schema.RequestPermissionOutcome]]
Kinds = tuple[schema.PermissionOptionKind, ...]

ALLOW: Kinds = ("allow_once", "allow_always")
DENY: Kinds = ("reject_once", "reject_always")


def offered(options: Sequence[schema.PermissionOption], kinds: Kinds) -> schema.PermissionOption | None:
    """The option of the first wanted kind that there is."""
    return next((option for kind in kinds for option in options if option.kind == kind), None)


def refusal(options: Sequence[schema.PermissionOption]) -> schema.PermissionOption | None:
    return offered(options, DENY)


def outcome(option: schema.PermissionOption | None) -> schema.RequestPermissionOutcome:
    """No option: cancelled, which no agent takes for a yes."""
    if option is None:
        return schema.CancelledPermissionOutcome()
    return schema.SelectedPermissionOutcome(optionId=option.optionId)


def pick(request: schema.RequestPermissionRequest, kinds: Kinds) -> schema.RequestPermissionOutcome:
    return outcome(offered(request.options, kinds))


def answering(
    decide: Decide,
) -> Callable[[schema.RequestPermissionRequest], Awaitable[schema.RequestPermissionResponse]]:
    async def answer(request: schema.RequestPermissionRequest) -> schema.RequestPermissionResponse:
        return schema.RequestPermissionResponse(outcome=await decide(request))

    return answer


def always(kinds: Kinds) -> Decide:
    async def decide(request: schema.RequestPermissionRequest) -> schema.RequestPermissionOutcome:
        return pick(request, kinds)

    return decide
