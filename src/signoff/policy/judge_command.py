"""Judge commands: rules by their words, then the built-in tables.

Restrictive rules and the table of dangerous commands speak about every command, wherever it was found. Only a script
that was read completely can be granted, and an allow rule covers a program's ordinary use: what its own pattern does not
name (an option that runs another program, a flag that makes the command dangerous) is still asked about.
"""

from collections.abc import Sequence

import msgspec

from signoff.domain.context import Context
from signoff.domain.intent import Command, Intent
from signoff.domain.settings import ApprovalPolicy
from signoff.domain.verdict import Decision, Judgement, Match
from signoff.policy.commands import Dangerous, Safe, classify, unusual_options
from signoff.policy.commands.classify import WORDS_ONLY
from signoff.policy.commands.credentials import names_a_protected_place, names_a_store
from signoff.policy.execpolicy.match import NOTHING, Found, Lookup
from signoff.policy.execpolicy.rule import Words
from signoff.policy.places import escalates, other_command
from signoff.policy.rules.builtin import MATCHES
from signoff.policy.ruleset import Rules

Spoken = tuple[tuple[Match, bool], ...]

_SAFE, _WRAPPER = MATCHES["builtin.command.safe"], MATCHES["builtin.command.wrapper"]


def judge_lone_command(command: Command, intent: Intent, rules: Rules, context: Context) -> Judgement:
    """Nearly every call."""
    return _judge(command, rules.index.judge(command.words), intent, context, (), None)[1]


def judge_commands(
    commands: Sequence[Command], intent: Intent, rules: Rules, context: Context, whole: Spoken
) -> list[Judgement]:
    """One judgement for each command, in order. `whole`: written rules about the call as such."""
    judgements: list[Judgement] = []
    cover: tuple[Match, int] | None = None  # a rule that reaches into what a wrapper starts, and the wrapper's depth
    for command in commands:
        if cover is not None and command.depth <= cover[1]:
            cover = None
        lookup = rules.index.judge(command.words)
        granted, judgement = _judge(command, lookup, intent, context, whole, cover[0] if cover else None)
        judgements.append(judgement)
        if granted is not None and command.inner is not None and len(granted.prefix) > command.inner:
            # one wrapper around another: the outer rule's reach goes on inside
            cover = msgspec.structs.replace(granted, prefix=granted.prefix[command.inner :]), command.depth
    return judgements


def _judge(
    command: Command, lookup: Lookup, intent: Intent, context: Context, whole: Spoken, cover: Match | None
) -> tuple[Match | None, Judgement]:
    """The judgement, and the allow rule that grants the command, if one does."""
    if lookup is NOTHING and cover is None and not whole:
        match = _by_tables(command, intent, context)
        return None, Judgement(command, match.decision, (match,))
    matches = [match for match, _ in whole]
    granted: Match | None = cover
    for found in lookup.found:
        if found.rule.expires_ms is not None and context.now_ms >= found.rule.expires_ms:
            continue
        if found.rule.decision > Decision.ALLOW:
            matches.append(_match(found))
        elif command.plain:
            match = _match(found)
            matches.append(match)
            if granted is None or len(match.prefix) > len(granted.prefix):
                granted = match
    if cover is not None and cover not in matches:
        matches.append(cover)
    if lookup.may_match is not None:
        matches.append(_may_match(str(lookup.may_match.source)))
    if granted is not None and command.plain:
        matches += _beyond(command, granted.prefix, context)
    else:
        granted = None
        table = _by_tables(command, intent, context)
        if table.rule_id != "builtin.command.untrusted" or not _allowed(whole):
            matches.append(table)
    return granted, Judgement(command, max(match.decision for match in matches), tuple(matches))


def _by_tables(command: Command, intent: Intent, context: Context) -> Match:
    found = classify(command.words, moved=command.directory is not None)
    if type(found) is Dangerous:
        return _dangerous(found, context)
    if type(found) is Safe and command.plain and not escalates(intent, context):
        return _SAFE
    return _WRAPPER if command.transparent else MATCHES[other_command(intent, context)]


def _allowed(whole: Spoken) -> bool:
    """Somebody allowed the tool as such, and so commands nobody knows; not more."""
    return any(match.decision == Decision.ALLOW for match, _ in whole)


def _beyond(command: Command, prefix: Words, context: Context) -> list[Match]:
    """What the allowing rule's own pattern does not name."""
    found: list[Match] = []
    danger = classify(command.words, moved=command.directory is not None)
    if isinstance(danger, Dangerous) and not isinstance(classify(prefix), Dangerous):
        found.append(_dangerous(danger, context))
    unnamed = [word for word in command.words[1:] if word is not None and word not in prefix]
    if not isinstance(danger, Safe):
        found += [MATCHES["builtin.path.protected"] for word in unnamed if names_a_protected_place(word)][:1]
    if command.words[0] not in WORDS_ONLY:
        found += [MATCHES["builtin.path.credentials-touched"] for word in unnamed if names_a_store(word)][:1]
    unusual = [option for option in unusual_options(command.words) if option not in prefix]
    if unusual:
        said = f"the option {unusual[0]} runs another program or writes a file"
        found.append(msgspec.structs.replace(MATCHES["builtin.command.option"], reason=said))
    return found


def _dangerous(found: Dangerous, context: Context) -> Match:
    unattended = context.approval == ApprovalPolicy.NEVER
    name = "builtin.command.dangerous-unattended" if unattended else "builtin.command.dangerous"
    return msgspec.structs.replace(MATCHES[name], reason=found.reason)


def _match(found: Found) -> Match:
    rule = found.rule
    return Match(
        rule_id=rule.id,
        decision=rule.decision,
        source=rule.source,
        reason=rule.justification,
        prefix=found.prefix,
        resolved_program=found.resolved_program,
    )


def _may_match(place: str) -> Match:
    return msgspec.structs.replace(
        MATCHES["builtin.command.may-match"], reason=f"a word only the shell knows may complete the rule at {place}"
    )
