"""Say a verdict in words: for a person who asks why, and as the one shape that scripts read."""

from typing import Any

import msgspec

from signoff.domain.context import Context
from signoff.domain.errors import Refused
from signoff.domain.intent import (
    Aspect,
    Command,
    Escalation,
    FileDelete,
    FileRead,
    FileWrite,
    GitWrite,
    Host,
    Intent,
    Opaque,
)
from signoff.domain.requirement import Forbidden, NeedsApproval, Requirement, Skip
from signoff.domain.settings import Network, SandboxMode
from signoff.domain.verdict import Decision, Judgement, Match, Verdict
from signoff.policy.execpolicy.rule import WORDS


class MatchedRule(msgspec.Struct, frozen=True, omit_defaults=True):
    rule_id: str
    decision: str
    source: str
    reason: str | None = None
    matched_prefix: tuple[str, ...] = ()
    resolved_program: str | None = None
    builtin: bool = False


class Segment(msgspec.Struct, frozen=True):
    kind: str
    text: str
    decision: str
    rules: tuple[str, ...]


class Answer(msgspec.Struct, frozen=True):
    """What `signoff policy check` answers."""

    decision: str
    requirement: str
    reason: str | None
    matched_rules: tuple[MatchedRule, ...]
    segments: tuple[Segment, ...]
    proposed_execpolicy_amendment: tuple[str, ...] | None


class Explanation(Answer, frozen=True):
    """What `signoff why` answers on top of it."""

    winner: MatchedRule | None
    outcome: dict[str, Any]
    sandbox: str


def answer(verdict: Verdict, required: Requirement) -> Answer:
    return Answer(
        decision=WORDS[verdict.decision],
        requirement=_NAMES[type(required)],
        reason=None if isinstance(required, Skip) else required.reason,
        matched_rules=tuple(_rule(match) for match in dict.fromkeys(_hashable(verdict.matches))),
        segments=tuple(map(_segment, verdict.judgements)),
        proposed_execpolicy_amendment=required.proposed_execpolicy_amendment,
    )


def explanation(intent: Intent, verdict: Verdict, required: Requirement, context: Context) -> Explanation:
    winner = verdict.winner
    return Explanation(
        **msgspec.structs.asdict(answer(verdict, required)),
        winner=None if winner is None else _rule(winner),
        outcome=_outcome(verdict, required),
        sandbox=sandbox_plan(intent, required, context),
    )


def sandbox_plan(intent: Intent, required: Requirement, context: Context) -> str:
    """What the sandbox would do with the call."""
    if isinstance(required, Forbidden):
        return "nothing runs"
    if intent.argv is None:
        return "no process is started; the tool keeps to the paths it was judged for"
    if isinstance(required, Skip) and required.bypass_sandbox:
        return "runs outside the sandbox: a rule allows every command in it"
    if intent.escalation == Escalation.REQUIRE_ESCALATED:
        return "runs outside the sandbox, as it asks to"
    match context.sandbox:
        case SandboxMode.DANGER_FULL_ACCESS:
            return "runs without a sandbox (danger-full-access)"
        case SandboxMode.EXTERNAL_SANDBOX:
            return "runs in the sandbox that is around us (external-sandbox)"
        case SandboxMode.READ_ONLY:
            return f"runs in the sandbox: nothing can be written, {_network(context)}"
        case SandboxMode.WORKSPACE_WRITE:
            return f"runs in the sandbox: only {', '.join(context.roots)} can be written, {_network(context)}"


def described(aspect: Aspect | None) -> tuple[str, str]:
    """Kind and text of what was judged."""
    match aspect:
        case None:
            return "call", "the call as a whole"
        case Command(text=text):
            return "command", text
        case FileRead(path=path):
            return "read", path
        case FileWrite(path=path):
            return "write", path
        case FileDelete(path=path):
            return "delete", path
        case GitWrite(operation=operation):
            return "git.write", operation
        case Host(name=name, port=port):
            return "host", name if port is None else f"{name}:{port}"
        case Opaque(text=text, reason=reason):
            return "opaque", f"{text} ({reason})"


_NAMES = {Skip: "skip", NeedsApproval: "needs_approval", Forbidden: "forbidden"}


def _network(context: Context) -> str:
    words = {Network.OFF: "no network", Network.LIMITED: "network by the rules", Network.ON: "network on"}
    return words[context.network]


def _outcome(verdict: Verdict, required: Requirement) -> dict[str, Any]:
    """The verdict in the vocabulary of the tool protocol."""
    match required:
        case Skip():
            return {"type": "ALLOW"}
        case Forbidden(reason=reason):
            return {"type": "DENY", "code": Refused.code, "reason": reason}
        case NeedsApproval():
            asked = [one for one in verdict.judgements if one.decision == Decision.ASK]
            return {"type": "REQUIRE_CONFIRMATION", "scope": [described(one.aspect)[1] for one in asked]}


def _segment(judgement: Judgement) -> Segment:
    kind, text = described(judgement.aspect)
    return Segment(kind, text, WORDS[judgement.decision], tuple(match.rule_id for match in judgement.matches))


def _rule(match: Match) -> MatchedRule:
    return MatchedRule(
        rule_id=match.rule_id,
        decision=WORDS[match.decision],
        source=str(match.source),
        reason=match.reason,
        matched_prefix=match.prefix,
        resolved_program=match.resolved_program,
        builtin=match.heuristic,
    )


def _hashable(matches: tuple[Match, ...]) -> list[Match]:
    """Constraints are an object and so cannot be hashed; they do not tell two matches apart here."""
    return [msgspec.structs.replace(match, constraints=None) if match.constraints else match for match in matches]
