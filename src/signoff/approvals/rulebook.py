"""The rules in force for one session: those on disk, as they are now, and those a person added for the session alone."""

import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from signoff.domain.context import Context
from signoff.domain.errors import UsageError
from signoff.domain.intent import Intent
from signoff.domain.requirement import Requirement, Skip
from signoff.domain.review import ApprovedExecpolicyAmendment, Scope
from signoff.domain.settings import Audit, Redact
from signoff.domain.verdict import Decision, Judgement, Layer, Match, Source, Verdict
from signoff.ledger.redact import Redactor
from signoff.policy.decide import decide
from signoff.policy.execpolicy.amend import opens_everything
from signoff.policy.execpolicy.rule import PrefixRule
from signoff.policy.propose import proposed_amendment
from signoff.policy.requirement import requirement
from signoff.policy.ruleset import Rules

_OFF = Match("policy.off", Decision.ALLOW, Source(Layer.FLAG), reason="judging is switched off")


class RuleFiles(Protocol):
    """Where rules are kept."""

    def current(self) -> Rules:
        """The last good rules; quick when nothing changed."""
        ...

    def amend(self, amendment: ApprovedExecpolicyAmendment) -> None: ...


class SessionRules:
    """Judges with the rules of the files and of the session."""

    def __init__(
        self, files: RuleFiles, context: Context, *, audit: Audit = Audit.PROMPT, clock: Callable[[], float] = time.time
    ) -> None:
        self._files = files
        self._context = context
        self._audit = audit
        self._clock = clock
        self._added: tuple[PrefixRule, ...] = ()

    def judge(self, intent: Intent, granted: tuple[str, ...] = ()) -> tuple[Verdict, Requirement]:
        if self._audit is Audit.OFF:
            return Verdict(Decision.ALLOW, (Judgement(None, Decision.ALLOW, (_OFF,)),)), Skip()
        rules, context = self._in_force(granted)
        verdict = decide(intent, rules, context)
        # what could be remembered matters only to somebody who is asked
        return verdict, requirement(intent, verdict, context, rules if verdict.decision is Decision.ASK else None)

    def proposed(self, intent: Intent, verdict: Verdict, granted: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        rules, context = self._in_force(granted)
        return proposed_amendment(intent, verdict, context, rules)

    def _in_force(self, granted: tuple[str, ...]) -> tuple[Rules, Context]:
        rules = self._files.current()
        if self._added:
            rules = rules.extended(self._added)
        now_ms = int(self._clock() * 1_000)
        roots = self._context.writable_roots + granted
        return rules, msgspec.structs.replace(self._context, now_ms=now_ms, writable_roots=roots)

    def may_save(self, prefix: tuple[str, ...]) -> bool:
        """A prefix that would open everything its program can run, or that holds a secret, is never kept."""
        return not opens_everything(prefix) and not _holds_secret(prefix)

    def save(self, amendment: ApprovedExecpolicyAmendment) -> None:
        prefix = amendment.proposed_execpolicy_amendment
        if not self.may_save(prefix):
            raise UsageError(
                "a rule that would allow everything its program can run, or that holds a secret, is not kept"
            )
        if amendment.scope is not Scope.SESSION:
            self._files.amend(amendment)
            return
        if amendment.expires_in_ms is not None:
            raise UsageError("a rule for the session ends with the session")
        rule = PrefixRule(tuple((word,) for word in prefix), Decision.ALLOW, Source(Layer.SESSION))
        self._added = (*self._added, rule)


def _holds_secret(prefix: tuple[str, ...]) -> bool:
    words = list(prefix)
    return bool(Redactor(Redact.BASIC, reversible=False).value(words) != words)
