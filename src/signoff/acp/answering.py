"""How our client answers an agent's questions for permission: by the kind of the options, never by their names."""

from collections.abc import Awaitable, Callable

from signoff.wire import acp_schema as schema

Wanted = Callable[[schema.RequestPermissionRequest], Awaitable[tuple[schema.PermissionOptionKind, ...]]]
"""Which kinds of answer to give, the first that is offered counts; none of them: the question is called off."""

ALLOW: tuple[schema.PermissionOptionKind, ...] = ("allow_once", "allow_always")
DENY: tuple[schema.PermissionOptionKind, ...] = ("reject_once", "reject_always")


def pick(
    request: schema.RequestPermissionRequest, kinds: tuple[schema.PermissionOptionKind, ...]
) -> schema.RequestPermissionOutcome:
    """The option of the first wanted kind. No such option: cancelled, which no agent takes for a yes."""
    for kind in kinds:
        for option in request.options:
            if option.kind == kind:
                return schema.SelectedPermissionOutcome(optionId=option.optionId)
    return schema.CancelledPermissionOutcome()


def answering(
    wanted: Wanted,
) -> Callable[[schema.RequestPermissionRequest], Awaitable[schema.RequestPermissionResponse]]:
    async def answer(request: schema.RequestPermissionRequest) -> schema.RequestPermissionResponse:
        return schema.RequestPermissionResponse(outcome=pick(request, await wanted(request)))

    return answer


def always(kinds: tuple[schema.PermissionOptionKind, ...]) -> Wanted:
    async def wanted(request: schema.RequestPermissionRequest) -> tuple[schema.PermissionOptionKind, ...]:
        return kinds

    return wanted
