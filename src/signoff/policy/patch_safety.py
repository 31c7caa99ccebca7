"""May a patch be applied without asking? The same question as for any change of files, with the answers people know."""

from signoff.domain.context import Context
from signoff.domain.intent import Intent
from signoff.domain.requirement import Forbidden, NeedsApproval, Requirement, Skip
from signoff.domain.settings import ApprovalPolicy, SandboxMode
from signoff.domain.verdict import Decision, Verdict

EMPTY = "empty patch"
OUTSIDE = "writing outside of the project; rejected by user approval settings"
READ_ONLY = "writing is blocked by read-only sandbox; rejected by user approval settings"
NO_SANDBOX = "this machine cannot keep the change inside the workspace"


def patch_requirement(intent: Intent, verdict: Verdict, context: Context) -> Requirement:
    """`untrusted` asks about every patch. Inside the writable roots it goes ahead; elsewhere a person is asked where the
    approval policy lets one be asked."""
    if not intent.aspects:
        return Forbidden(EMPTY)
    if verdict.decision == Decision.DENY or (
        verdict.decision == Decision.ASK and context.approval == ApprovalPolicy.NEVER
    ):
        return Forbidden(_rejection(verdict, context))
    unguarded = context.unguarded
    if unguarded and context.approval == ApprovalPolicy.NEVER:
        return Forbidden(NO_SANDBOX)
    if verdict.decision == Decision.ASK or context.approval == ApprovalPolicy.UNTRUSTED or unguarded:
        return NeedsApproval(_reason(verdict))
    return Skip()


def _rejection(verdict: Verdict, context: Context) -> str:
    winner = verdict.winner
    if winner is not None and not winner.heuristic:
        return winner.reason or f"rejected by rule {winner.rule_id}"
    if winner is not None and winner.rule_id.startswith("builtin.path.outside"):
        return READ_ONLY if context.sandbox == SandboxMode.READ_ONLY else OUTSIDE
    if winner is not None and winner.rule_id == "builtin.path.protected":
        return OUTSIDE
    return f"{winner.reason if winner else 'blocked by policy'}; rejected by user approval settings"


def _reason(verdict: Verdict) -> str | None:
    """Why, where there is more to say than that every patch is asked about."""
    winner = verdict.winner
    if verdict.decision != Decision.ASK or winner is None or winner.rule_id == "builtin.path.write-untrusted":
        return None
    judgement = next(one for one in verdict.judgements if winner in one.matches)
    place = getattr(judgement.aspect, "path", None)
    return winner.reason if place is None or not winner.heuristic else f"{place} {winner.reason}"
