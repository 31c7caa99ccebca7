"""What could be remembered, so that the same is not asked again. Nothing is proposed that would not have that effect."""

import posixpath

from signoff.domain.context import Context
from signoff.domain.intent import Command, Escalation, FileDelete, FileRead, FileWrite, Host, Intent
from signoff.domain.review import ToolRule
from signoff.domain.verdict import Decision, Judgement, Layer, Source, Verdict
from signoff.policy import decide as decisions
from signoff.policy.commands import Dangerous, classify
from signoff.policy.execpolicy.amend import has_subcommands, opens_everything
from signoff.policy.execpolicy.rule import PrefixRule, Words
from signoff.policy.rules.approved import in_force
from signoff.policy.ruleset import Rules

_GLOB = frozenset("*?[")
# asked about every time: no rule is proposed that would end it
_ALWAYS = ("builtin.path.protected", "builtin.path.credentials", "builtin.path.root", "builtin.bulk", "builtin.opaque")


def proposed_amendment(intent: Intent, verdict: Verdict, context: Context, rules: Rules | None) -> Words | None:
    """A prefix to allow from now on: what the agent suggests if it would do, else the first command in question."""
    if rules is None or intent.argv is None:
        return None
    suggested = intent.prefix_rule
    if suggested and intent.escalation == Escalation.REQUIRE_ESCALATED and not _matched(verdict):
        after = _judged_with(suggested, intent, rules, context)
        if not _unwise(suggested) and after.decision == Decision.ALLOW and _commands_granted(after):
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
        if not judgement.aspect.plain or len(prefix) < len(words) or _unwise(prefix):
            return None
        after = _judged_with(prefix, intent, rules, context).judgements
        settled = after[position].decision == Decision.ALLOW and _granted(after[position])
        others = all(one.decision == Decision.ALLOW for one in after if not isinstance(one.aspect, Command))
        return prefix if settled and others else None
    return None


def proposed_rules(intent: Intent, verdict: Verdict, context: Context, rules: Rules) -> tuple[ToolRule, ...]:
    """For a call that is no command: the very places it asks for, the directory they lie in, the tool as such. Narrow
    first, and only what would have allowed this call."""
    if intent.argv is not None or verdict.decision != Decision.ASK or _rule_asks(verdict):
        return ()
    asked = [one for one in verdict.judgements if one.decision == Decision.ASK]
    if any(match.rule_id.startswith(_ALWAYS) for one in asked for match in one.matches) or _GLOB & set(intent.tool):
        return ()
    candidates = dict.fromkeys(_candidates(intent.tool, asked))
    source = Source(Layer.SESSION)
    return tuple(
        one
        for one in candidates
        if decisions.decide(intent, rules.extended(written=[in_force(one, source)]), context).decision == Decision.ALLOW
    )


def _candidates(tool: str, asked: list[Judgement]) -> list[ToolRule]:
    aspects = [one.aspect for one in asked]
    hosts = tuple(dict.fromkeys(aspect.name for aspect in aspects if isinstance(aspect, Host)))
    paths = tuple(
        dict.fromkeys(aspect.path for aspect in aspects if isinstance(aspect, FileRead | FileWrite | FileDelete))
    )
    found: list[ToolRule] = []
    if hosts and len(hosts) == len(aspects):
        found.append(ToolRule(tool, hosts=hosts))
    if paths and not hosts and not any(_GLOB & set(path) for path in paths):
        found.append(ToolRule(tool, paths=paths))
        directory = posixpath.commonpath([posixpath.dirname(path) for path in paths])
        if directory.count("/") > 2:  # not all of somebody's home
            found.append(ToolRule(tool, paths=(directory,)))
    if not any(isinstance(aspect, FileDelete) for aspect in aspects):
        found.append(ToolRule(tool))
    return found


def _unwise(prefix: Words) -> bool:
    """It would open everything its program can run, or it destroys something and is to be asked about every time."""
    every_subcommand = len(prefix) == 1 and has_subcommands(prefix[0])
    return opens_everything(prefix) or every_subcommand or isinstance(classify(prefix), Dangerous)


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
