"""The rules in force for one session: those on disk, as they are now, and those a person added for the session alone."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import msgspec

from signoff.approvals.remember import holds_secret, unsavable, words_of
from signoff.domain.context import Context
from signoff.domain.errors import UsageError
from signoff.domain.intent import Intent
from signoff.domain.late import late
from signoff.domain.requirement import Requirement, Skip
from signoff.domain.review import ApprovedExecpolicyAmendment, Scope, ToolRule
from signoff.domain.settings import ApprovalPolicy, Audit
from signoff.domain.verdict import Decision, Judgement, Layer, Match, Source, Verdict
from signoff.policy.execpolicy.rule import PrefixRule
from signoff.policy.rules.approved import in_force
from signoff.policy.rules.written import PolicyRule
from signoff.policy.ruleset import Rules

if TYPE_CHECKING:
    from signoff.policy import decide as deciding
    from signoff.policy import places, propose
    from signoff.policy import requirement as requiring
else:
    deciding = late("signoff.policy.decide")
    places = late("signoff.policy.places")
    propose = late("signoff.policy.propose")
    requiring = late("signoff.policy.requirement")

MOST_KNOWN = 256  # verdicts remembered; agents do the same things again and again
MOST_ASPECTS = 16
SHORT = 1_000  # characters of a command or a name worth remembering

_OFF = Match("policy.off", Decision.ALLOW, Source(Layer.FLAG), reason="judging is switched off")


class RuleFiles(Protocol):
    """Where rules are kept."""

    def current(self) -> Rules:
        """The last good rules; quick when nothing changed."""
        ...

    def amend(self, amendment: ApprovedExecpolicyAmendment) -> None: ...


class _Known(msgspec.Struct, frozen=True):
    """Verdicts that hold as long as everything they were made of: judging is pure, and none of the rules expires."""

    rules: Rules
    granted: tuple[str, ...]
    lasting: bool
    answers: dict[Intent, tuple[Verdict, Requirement]]


def never_back(today: Callable[[], float], steady: Callable[[], float]) -> Callable[[], float]:
    """The time of day, or what it would be had nobody set it back: a yes for a while does not last longer for that."""
    offset = today() - steady()
    return lambda: max(today(), offset + steady())


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps


class SessionRules:
    """Judges with the rules of the files and of the session."""

    def __init__(
        self,
        files: RuleFiles,
        context: Context,
        *,
        audit: Audit = Audit.PROMPT,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._files = files
        self._context = context
        self._audit = audit
        self._clock = clock or never_back(time.time, _since_boot)
        self._added: tuple[PrefixRule, ...] = ()
        self._written: tuple[PolicyRule, ...] = ()
        self._known: _Known | None = None

    def judge(self, intent: Intent, granted: tuple[str, ...] = ()) -> tuple[Verdict, Requirement]:
        if self._audit is Audit.OFF:
            return Verdict(Decision.ALLOW, (Judgement(None, Decision.ALLOW, (_OFF,)),)), Skip()
        known = self._known
        if known is None or known.rules is not self._files.current() or known.granted != granted:
            known = self._known = self._nothing_known(granted)
        if not known.lasting or not _worth_remembering(intent):
            return self._judge(intent, granted)
        answer = known.answers.get(intent)
        if answer is None:
            answer = self._judge(intent, granted)
            if len(known.answers) >= MOST_KNOWN:
                known.answers.clear()
            known.answers[intent] = answer
        return answer

    def _nothing_known(self, granted: tuple[str, ...]) -> _Known:
        rules = self._files.current()
        ends = {rule.expires_ms for rule in rules.prefixes} | {rule.expires_ms for rule in rules.written}
        return _Known(rules, granted, ends <= {None}, {})  # a rule for the session does not expire

    def _judge(self, intent: Intent, granted: tuple[str, ...]) -> tuple[Verdict, Requirement]:
        rules, context = self._in_force(granted)
        verdict = deciding.decide(intent, rules, context)
        # what could be remembered matters only to somebody who is asked
        asked = rules if verdict.decision is Decision.ASK else None
        return verdict, requiring.requirement(intent, verdict, context, asked)

    def proposed(self, intent: Intent, verdict: Verdict, granted: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        rules, context = self._in_force(granted)
        return propose.proposed_amendment(intent, verdict, context, rules)

    def proposed_rules(self, intent: Intent, verdict: Verdict, granted: tuple[str, ...] = ()) -> tuple[ToolRule, ...]:
        rules, context = self._in_force(granted)
        found = propose.proposed_rules(intent, verdict, context, rules)
        # a patch is asked about under `untrusted` whatever the rules say
        always = intent.tool == places.PATCH_TOOL and context.approval is ApprovalPolicy.UNTRUSTED
        return () if always else found

    def _in_force(self, granted: tuple[str, ...]) -> tuple[Rules, Context]:
        rules = self._files.current()
        if self._added or self._written:
            rules = rules.extended(self._added, self._written)
        now_ms = int(self._clock() * 1_000)
        roots = self._context.writable_roots + granted
        return rules, msgspec.structs.replace(self._context, now_ms=now_ms, writable_roots=roots)

    def may_save(self, prefix: tuple[str, ...]) -> bool:
        return unsavable(prefix) is None

    def save(self, amendment: ApprovedExecpolicyAmendment) -> None:
        rule, prefix = amendment.rule, amendment.proposed_execpolicy_amendment
        problem = unsavable(prefix) if rule is None else None
        if problem is not None:
            raise UsageError(f"the rule is not kept: {problem}")
        if rule is not None and (holds_secret(words_of(rule)) or "*" in rule.tool):
            raise UsageError("the rule is not kept: it holds a secret, or is for more than one tool")
        if amendment.scope is not Scope.SESSION:
            self._files.amend(amendment)
        elif amendment.expires_in_ms is not None:
            raise UsageError("a rule for the session ends with the session")
        elif rule is not None:
            self._written = (*self._written, in_force(rule, Source(Layer.SESSION)))
        else:
            pattern = tuple((word,) for word in prefix)
            self._added = (*self._added, PrefixRule(pattern, Decision.ALLOW, Source(Layer.SESSION)))
        self._known = None


def _worth_remembering(intent: Intent) -> bool:
    """Short, and without words that are different every time."""
    if intent.justification or len(intent.aspects) > MOST_ASPECTS or len(intent.tool) > SHORT:
        return False
    return sum(map(len, intent.argv or ())) + sum(map(len, intent.prefix_rule or ())) <= SHORT
