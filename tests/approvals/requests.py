"""Questions to ask in tests."""

from signoff.approvals.request import ReviewRequest
from signoff.domain.intent import Action
from signoff.domain.review import ExecApprovalRequestEvent, UnknownCommand


def exec_request(
    *command: str, call_id: str = "call-1", turn_id: str = "turn-1", reason: str | None = None
) -> ReviewRequest:
    words = command or ("npm", "test")
    event = ExecApprovalRequestEvent(
        call_id=call_id,
        turn_id=turn_id,
        command=words,
        cwd="/data/space",
        parsed_cmd=(UnknownCommand(cmd=" ".join(words)),),
        reason=reason,
    )
    return ReviewRequest(event=event, tool="run_terminal_cmd", action=Action.EXEC)
