"""Make the question, and read the answer. Pure."""

from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

import msgspec

from signoff.approvals.remember import for_prefix, for_session, for_tool
from signoff.approvals.request import (
    CallSubject,
    CommandSubject,
    PatchSubject,
    ReviewRequest,
    Subject,
    Width,
    effects,
)
from signoff.approvals.unattended import NOBODY
from signoff.domain.call import Failure, ToolCall
from signoff.domain.errors import Aborted, Refused, RefusedByPerson, ReviewTimeout
from signoff.domain.intent import Intent
from signoff.domain.late import late
from signoff.domain.review import (
    Abort,
    ApplyPatchApprovalRequestEvent,
    ApprovalRequestEvent,
    Approved,
    ApprovedExecpolicyAmendment,
    ApprovedForSession,
    Denied,
    ExecApprovalRequestEvent,
    ReviewDecision,
    TimedOut,
    ToolApprovalRequestEvent,
    ToolRule,
)
from signoff.domain.verdict import Match, Verdict

if TYPE_CHECKING:
    import json

    from signoff.policy import parsed_cmd as parsed_commands
else:
    json = late("json")
    parsed_commands = late("signoff.policy.parsed_cmd")

RETRY_REASON = "command failed; retry without sandbox?"
REJECTED = "rejected by user"


def compose(
    call: ToolCall,
    turn_id: str,
    intent: Intent,
    verdict: Verdict,
    *,
    subject: Subject,
    keys: tuple[str, ...],
    width: Width = Width.COMMAND,
    reason: str | None,
    amendment: tuple[str, ...] | None,
    rules: tuple[ToolRule, ...] = (),
    may_save: Callable[[tuple[str, ...]], bool],
    covers_retry: bool,
    outside: bool,
) -> ReviewRequest:
    """The question about a call. The reason of a rule or a retry comes before the model's own justification."""
    proposed = amendment if amendment and may_save(amendment) else None
    return ReviewRequest(
        event=_event(call, turn_id, intent, subject, reason or intent.justification, proposed),
        tool=call.name,
        action=intent.action,
        effects=effects(intent),
        offers=(*for_session(keys, width), *for_prefix(amendment, may_save), *for_tool(rules)),
        asked_by=_asked_by(verdict.winner, reason),
        covers_retry=covers_retry,
        outside=outside,
        claimed=not reason and bool(intent.justification),
        words=amendment or (),
    )


def _asked_by(rule: Match | None, reason: str | None) -> str | None:
    """The rule, where it stands, and what it says, unless the reason says that already."""
    if rule is None:
        return None
    says = f": {rule.reason}" if rule.reason and rule.reason not in (reason or "") else ""
    where = "" if rule.rule_id == str(rule.source) else f" ({rule.source})"
    return f"{rule.rule_id}{where}{says}"


def _event(
    call: ToolCall,
    turn_id: str,
    intent: Intent,
    subject: Subject,
    reason: str | None,
    amendment: tuple[str, ...] | None,
) -> ApprovalRequestEvent:
    match subject:
        case CommandSubject(command=command, cwd=cwd):
            return ExecApprovalRequestEvent(
                call_id=call.tool_call_id,
                turn_id=turn_id,
                command=command,
                cwd=cwd,
                parsed_cmd=parsed_commands.parse_command(command),
                reason=reason,
                proposed_execpolicy_amendment=amendment,
            )
        case PatchSubject(changes=changes, grant_root=grant_root):
            return ApplyPatchApprovalRequestEvent(
                call_id=call.tool_call_id, turn_id=turn_id, changes=changes, reason=reason, grant_root=grant_root
            )
        case CallSubject(args=args, rationale=rationale):
            return ToolApprovalRequestEvent(
                call_id=call.tool_call_id,
                turn_id=turn_id,
                tool=call.name,
                action=intent.action.value,
                args=args,
                reason=reason,
                rationale=rationale,
            )
        case _:
            assert_never(subject)


def identity(event: ApprovalRequestEvent) -> str:
    """Equal for questions that a person could not tell apart."""
    return msgspec.json.encode(msgspec.structs.replace(event, call_id="", turn_id="")).decode()


def refusal(decision: ReviewDecision, *, by_person: bool) -> Failure | None:
    """Why the call may not happen after this answer; None: it may."""
    match decision:
        case Approved() | ApprovedForSession() | ApprovedExecpolicyAmendment():
            return None
        case Denied(rejection=rejection) if by_person:
            return Failure(RefusedByPerson.code, f"{REJECTED}: {rejection}" if rejection else REJECTED)
        case Denied(rejection=rejection):
            return Failure(Refused.code, rejection or NOBODY)
        case Abort():
            return Failure(Aborted.code, REJECTED if by_person else NOBODY)
        case TimedOut():
            return Failure(ReviewTimeout.code, "nobody answered in time, so it was not approved")
        case _:
            assert_never(decision)


def saved_message(amendment: ApprovedExecpolicyAmendment) -> str:
    """What the agent is told about a rule that was saved."""
    if amendment.rule is not None:
        return f"Approved rule saved:\n- {json.dumps(msgspec.to_builtins(amendment.rule), ensure_ascii=False)}"
    prefix = amendment.proposed_execpolicy_amendment
    return f"Approved command prefix saved:\n- {json.dumps(list(prefix), ensure_ascii=False)}"


def not_saved_message(error: Exception) -> str:
    return f"Failed to apply execpolicy amendment: {error}"
