"""Every rule in force as one list: who says it, and what it says."""

import msgspec

from signoff.domain.verdict import Decision
from signoff.policy.execpolicy.amend import network_line
from signoff.policy.execpolicy.language import shown
from signoff.policy.execpolicy.rule import WORDS
from signoff.policy.rules.builtin import BUILTINS, Builtin
from signoff.policy.rules.written import PolicyRule
from signoff.policy.ruleset import Rules


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    decision: str
    rule: str
    source: str
    layer: str
    reason: str | None = None
    expires_ms: int | None = None


def listed(rules: Rules) -> list[Entry]:
    """In the order of the layers, the built-in rules last."""
    entries = [
        Entry(
            one.id,
            WORDS[one.decision],
            shown(one),
            str(one.source),
            str(one.source.layer),
            one.justification,
            one.expires_ms,
        )
        for one in rules.prefixes
    ]
    entries += [
        Entry(f"network:{one.host}", WORDS[one.decision], network_line(one), str(one.source), str(one.source.layer))
        for one in rules.networks
    ]
    entries += [
        Entry(
            one.id,
            _word(one.decision),
            _spelled(one),
            str(one.source),
            str(one.source.layer),
            one.reason,
            one.expires_ms,
        )
        for one in rules.written
    ]
    return entries + [_builtin(one) for one in BUILTINS.values()]


def _builtin(rule: Builtin) -> Entry:
    said = f"{rule.says}; overridden by {rule.opened_by}" if rule.decision > Decision.ALLOW else rule.says
    return Entry(rule.id, _word(rule.decision), rule.id, "builtin", "builtin", said)


def _spelled(rule: PolicyRule) -> str:
    parts = [f"{key}={value}" for key, value in (("tool", rule.tool), ("action", rule.action)) if value]
    parts += [f"{rule.kind}={' '.join(rule.places)}"] if rule.kind else []
    return f"{rule.id}: {', '.join(parts) or 'every call'}"


def _word(decision: Decision) -> str:
    return decision.word
