"""What could be remembered, so that the same is not asked again. Nothing is proposed that would not have that effect."""

from signoff.domain.context import Context
from signoff.domain.intent import Command, Escalation, Intent
from signoff.domain.verdict import Decision, Judgement, Layer, Source, Verdict
from signoff.policy import decide as decisions
from signoff.policy.execpolicy.amend import opens_everything
from signoff.policy.execpolicy.rule import PrefixRule, Words
from signoff.policy.ruleset import Rules


def proposed_amendment(intent: Intent, verdict: Verdict, context: Context, rules: Rules | None) -> Words | None:
    """A prefix to allow from now on: what the agent suggests if it would do, else the first command in question."""
    if rules is None or intent.argv is None:
        return None
    suggested = intent.prefix_rule
    if suggested and intent.escalation == Escalation.REQUIRE_ESCALATED and not _matched(verdict):
        after = _judged_with(suggested, intent, rules, context)
        if not opens_everything(suggested) and after.decision == Decision.ALLOW and _commands_granted(after):
            return suggested
    if verdict.decision == Decision.ASK:
        return None if _rule_asks(verdict) else _first(verdict, intent, context, rules)
    return None if _matched(verdict) else _first(verdict, intent, context, rules)


def _first(verdict: Verdict, intent: Intent, context: Context, rules: Rules) -> Words | None:
    """The whole first command that a built-in rule decided, if remembering it settles that command."""
    for position, judgement in enumerate(verdict.judgements):
        if judgement.decision != verdict.decision or not isinstance(judgement.aspect, Command):
            continue
        words = judgement.aspect.words
        prefix = tuple(word for word in words if word is not None)
        if not judgement.aspect.plain or len(prefix) < len(words) or opens_everything(prefix):
            return None
        after = _judged_with(prefix, intent, rules, context).judgements
        settled = after[position].decision == Decision.ALLOW and _granted(after[position])
        others = all(one.decision == Decision.ALLOW for one in after if not isinstance(one.aspect, Command))
        return prefix if settled and others else None
    return None


def _judged_with(prefix: Words, intent: Intent, rules: Rules, context: Context) -> Verdict:
    rule = PrefixRule(tuple((word,) for word in prefix), Decision.ALLOW, Source(Layer.SESSION))
    return decisions.decide(intent, rules.extended((rule,)), context)


def _matched(verdict: Verdict) -> bool:
    return any(not match.heuristic for match in verdict.matches)


def _rule_asks(verdict: Verdict) -> bool:
    return any(
        match.decision == Decision.ASK and (not match.heuristic or match.rule_id == "builtin.command.may-match")
        for match in verdict.matches
    )


def _granted(judgement: Judgement) -> bool:
    return any(match.prefix and match.decision == Decision.ALLOW for match in judgement.matches)


def _commands_granted(verdict: Verdict) -> bool:
    return all(
        _granted(one) for one in verdict.judgements if isinstance(one.aspect, Command) and not one.aspect.transparent
    )
