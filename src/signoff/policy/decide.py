"""Judge an intent. Pure: the same intent, rules and context always give the same verdict.

Each aspect is judged alone and the strictest verdict wins. A rule somebody wrote comes before a built-in one, but it
overrides one only by allowing: adding a rule that restricts never loosens anything.
"""

from signoff.domain.context import Context
from signoff.domain.intent import Aspect, Command, FileDelete, FileWrite, Host, Intent
from signoff.domain.verdict import Decision, Judgement, Match, Verdict
from signoff.policy.execpolicy.rule import NetworkRule, Protocol
from signoff.policy.judge_command import judge_commands, judge_lone_command
from signoff.policy.places import builtin_for
from signoff.policy.rules.builtin import BUILTINS, BULK, MATCHES, OpenedBy
from signoff.policy.rules.host import normal
from signoff.policy.rules.written import PolicyRule
from signoff.policy.ruleset import Rules


def decide(intent: Intent, rules: Rules, context: Context) -> Verdict:
    """May this call happen? Every rule that spoke is in the verdict."""
    aspects = intent.aspects
    if len(aspects) == 1 and type(aspects[0]) is Command and not rules.written:
        judgement = judge_lone_command(aspects[0], intent, rules, context)
        return Verdict(judgement.decision, (judgement,))
    commands = [aspect for aspect in aspects if type(aspect) is Command]
    whole = _speaking(None, intent, rules, context) if commands and rules.written else ()
    judgements = judge_commands(commands, intent, rules, context, whole) if commands else []
    if len(commands) < len(aspects):
        judgements += [_judge(aspect, intent, rules, context) for aspect in aspects if type(aspect) is not Command]
    elif not commands:
        judgements = [_judge(None, intent, rules, context)]
    if len(judgements) > BULK and not intent.argv and _files(intent) > BULK:
        judgements.append(_bulk(intent, rules, context))
    return Verdict(max([judgement.decision for judgement in judgements]), tuple(judgements))


def _judge(aspect: Aspect | None, intent: Intent, rules: Rules, context: Context) -> Judgement:
    default = rules.default_action or context.default_action
    builtin = BUILTINS[builtin_for(aspect, intent, context, default.value)]
    spoken = _speaking(aspect, intent, rules, context)
    if not spoken:
        return Judgement(aspect, builtin.decision, (MATCHES[builtin.id],))
    opened = any(match.decision == Decision.ALLOW and _opens(builtin.opened_by, named) for match, named in spoken)
    matches = [match for match, _ in spoken]
    if not opened:  # an allow rule that may not open the built-in one is shown, and the built-in one speaks as well
        matches.append(MATCHES[builtin.id])
    return Judgement(aspect, max(match.decision for match in matches), tuple(matches))


def _opens(opened_by: OpenedBy, named: bool) -> bool:
    return opened_by == OpenedBy.ANY_RULE or (opened_by == OpenedBy.NAMED_PLACE and named)


def _speaking(aspect: Aspect | None, intent: Intent, rules: Rules, context: Context) -> tuple[tuple[Match, bool], ...]:
    """The written rules that speak about it, each with whether it names the place."""
    spoken = [
        (_match(rule), rule.kind is not None) for rule in rules.written if rule.speaks_about(intent, aspect, context)
    ]
    if isinstance(aspect, Host) and rules.networks:
        spoken += [(_network_match(rule), True) for rule in rules.networks if _concerns(rule, aspect)]
    return tuple(spoken)


def _match(rule: PolicyRule) -> Match:
    return Match(
        rule_id=rule.id,
        decision=rule.decision,
        source=rule.source,
        reason=rule.reason,
        constraints=rule.constraints,
        expires_in_ms=rule.expires_in_ms,
    )


def _network_match(rule: NetworkRule) -> Match:
    return Match(f"network:{rule.host}", rule.decision, rule.source, reason=rule.justification)


def _concerns(rule: NetworkRule, host: Host) -> bool:
    """The same host; and the same protocol, or a rule that restricts and a protocol that is not known."""
    if normal(rule.host) != normal(host.name):
        return False
    protocol = host.protocol or {443: Protocol.HTTPS, 80: Protocol.HTTP}.get(host.port or 0)
    return rule.protocol == protocol or (protocol is None and rule.decision > Decision.ALLOW)


def _files(intent: Intent) -> int:
    return len({aspect.path for aspect in intent.aspects if isinstance(aspect, FileWrite | FileDelete)})


def _bulk(intent: Intent, rules: Rules, context: Context) -> Judgement:
    spoken = tuple(match for match, _ in _speaking(None, intent, rules, context))
    if any(match.decision == Decision.ALLOW for match in spoken):
        return Judgement(None, max(match.decision for match in spoken), spoken)
    return Judgement(None, Decision.ASK, (*spoken, MATCHES["builtin.bulk"]))
