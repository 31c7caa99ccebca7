"""From a verdict to what has to happen first: nothing, a yes from a person, or it never may. Pure."""

import shlex

from signoff.domain.context import Context
from signoff.domain.intent import Command, Escalation, FileDelete, FileWrite, Intent
from signoff.domain.requirement import Forbidden, NeedsApproval, Requirement, Skip
from signoff.domain.settings import ApprovalPolicy
from signoff.domain.verdict import Decision, Judgement, Match, Verdict
from signoff.policy.patch_safety import patch_requirement
from signoff.policy.places import PATCH_TOOL
from signoff.policy.propose import proposed_amendment
from signoff.policy.rules.path import inside
from signoff.policy.ruleset import Rules

UNATTENDED = "approval required by policy, but AskForApproval is set to Never"

# How the approval protocol itself spells the policies, for its own error text.
_SPELLED = {
    ApprovalPolicy.UNTRUSTED: "UnlessTrusted",
    ApprovalPolicy.ON_FAILURE: "OnFailure",
    ApprovalPolicy.ON_REQUEST: "OnRequest",
    ApprovalPolicy.NEVER: "Never",
}
# Built-in asks about a command that say no more than the command itself does.
_WORDLESS = frozenset(
    f"builtin.command.{name}" for name in ("untrusted", "escalated", "dangerous", "dangerous-unattended")
)


def requirement(intent: Intent, verdict: Verdict, context: Context, rules: Rules | None = None) -> Requirement:
    """What this verdict demands. With the `rules` in force an amendment is proposed that would make it allow."""
    if intent.escalation == Escalation.REQUIRE_ESCALATED and context.approval != ApprovalPolicy.ON_REQUEST:
        policy = _SPELLED[context.approval]
        said = f"you should not ask for escalated permissions if the approval policy is {policy}"
        return Forbidden(f"approval policy is {policy}; reject command — {said}")
    if intent.tool == PATCH_TOOL and intent.argv is None:
        return patch_requirement(intent, verdict, context)
    if _only_default_asks(verdict):
        return default_requirement(context)
    match verdict.decision:
        case Decision.DENY:
            return Forbidden(_rejection(intent, verdict))
        case Decision.ASK if context.approval == ApprovalPolicy.NEVER:
            return Forbidden(UNATTENDED)
        case Decision.ASK:
            return NeedsApproval(_question(intent, verdict), proposed_amendment(intent, verdict, context, rules))
        case _:
            bypass = allowed_by_rules(verdict)
            beyond = changed_beyond(verdict, context) if bypass else None
            if beyond is not None and intent.escalation == Escalation.REQUIRE_ESCALATED:
                return NeedsApproval(f"`{_command(intent)}` requires approval: {beyond} lies outside of the workspace")
            if bypass:
                return Skip(beyond is None)
            return Skip(False, proposed_amendment(intent, verdict, context, rules))


def default_requirement(context: Context) -> Requirement:
    """For a tool about which nothing speaks: the approval policy alone, and whether anything is restricted."""
    match context.approval:
        case ApprovalPolicy.NEVER | ApprovalPolicy.ON_FAILURE:
            return Skip()
        case ApprovalPolicy.UNTRUSTED:
            return NeedsApproval()
        case _:
            return NeedsApproval() if context.restricted else Skip()


def allowed_by_rules(verdict: Verdict) -> bool:
    """Did a rule allow every single command, and nothing else ask? Only then may it run outside the sandbox."""
    commands = [one for one in verdict.judgements if isinstance(one.aspect, Command)]
    return (
        bool(commands) and verdict.decision == Decision.ALLOW and all(map(_granted, commands)) and not _opaque(verdict)
    )


def changed_beyond(verdict: Verdict, context: Context) -> str | None:
    """A place outside the writable roots that the command is known to change and no rule names: a rule about the words of
    a command is no rule about that place, so the sandbox stays."""
    roots = (context.workspace, *context.writable_roots, "/dev") if context.restricted else ("/",)
    for judgement in verdict.judgements:
        aspect = judgement.aspect
        if not isinstance(aspect, FileWrite | FileDelete) or any(inside(aspect.path, root) for root in roots):
            continue
        if all(match.heuristic for match in judgement.matches):
            return aspect.path
    return None


def _granted(judgement: Judgement) -> bool:
    return any(
        (match.prefix and match.decision == Decision.ALLOW) or match.rule_id == "builtin.command.wrapper"
        for match in judgement.matches
    )


def _opaque(verdict: Verdict) -> bool:
    return any(type(judgement.aspect).__name__ == "Opaque" for judgement in verdict.judgements)


def _only_default_asks(verdict: Verdict) -> bool:
    return verdict.decision == Decision.ASK and all(match.rule_id == "default.ask" for match in verdict.matches)


def _rejection(intent: Intent, verdict: Verdict) -> str:
    winner = verdict.winner
    if winner is not None and winner.prefix:
        ground = winner.reason or f"policy forbids commands starting with `{shlex.join(winner.prefix)}`"
        return f"`{_command(intent)}` rejected: {ground}"
    if winner is None or winner.rule_id in _WORDLESS:
        return f"`{_command(intent)}` rejected: blocked by policy"
    return f"`{_command(intent)}` rejected: {_subject(winner, verdict)}"


def _question(intent: Intent, verdict: Verdict) -> str | None:
    """Why a person is asked: the longest rule that says so, or the built-in rule where that adds something."""
    asking = [match for match in verdict.matches if match.decision == Decision.ASK]
    rules = [match for match in asking if match.prefix]
    if rules:
        longest = max(rules, key=lambda match: len(match.prefix))
        if longest.reason:
            return f"`{_command(intent)}` requires approval: {longest.reason}"
        return f"`{_command(intent)}` requires approval by policy"
    spoken = [match for match in asking if match.rule_id not in _WORDLESS]
    if not spoken:
        return None
    written = next((match for match in spoken if not match.heuristic), spoken[0])
    return f"`{_command(intent)}` requires approval: {_subject(written, verdict)}"


def _subject(match: Match, verdict: Verdict) -> str:
    """The reason, after the path or host it is about."""
    judgement = next(one for one in verdict.judgements if match in one.matches)
    reason = match.reason or f"rule {match.rule_id}"
    place = getattr(judgement.aspect, "path", None) or getattr(judgement.aspect, "name", None)
    if place is None and match.rule_id == "builtin.opaque":
        return getattr(judgement.aspect, "reason", reason)
    return reason if place is None or not match.heuristic else f"{place} {reason}"


def _command(intent: Intent) -> str:
    return intent.tool if intent.argv is None else shlex.join(intent.argv)
