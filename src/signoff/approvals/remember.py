"""What "do not ask again" can mean for one question: three widths, each with the exact rule and how far it reaches.

Pure. Narrow comes first; a prefix that would open everything (`python3`, `sudo`, `git` …), that destroys something or that
holds a secret is not offered and not kept.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from signoff.approvals.request import Offer, Width
from signoff.domain.late import late, late_pattern
from signoff.domain.review import ApprovedExecpolicyAmendment, ApprovedForSession, Scope, ToolRule
from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor
from signoff.policy.execpolicy.amend import has_subcommands, opens_everything, prefix_line
from signoff.policy.rules.approved import rule_text

if TYPE_CHECKING:
    from signoff.policy import commands
else:
    commands = late("signoff.policy.commands")

_SUBCOMMAND = late_pattern(r"[a-z][a-z0-9_:-]*")


_COVERED = {
    Width.COMMAND: "exactly this",
    Width.TOOL: "every call of this tool, whatever it is asked to do",
    Width.PLACE: "every call of this kind there",
}


def for_session(keys: tuple[str, ...], width: Width) -> tuple[Offer, ...]:
    """The session cache, as the person can choose it: exactly these keys, until the session ends."""
    if not keys:
        return ()
    return (
        Offer(
            width=width,
            scope=Scope.SESSION,
            rule=" ".join(keys),
            reach=f"{_COVERED.get(width, width)}, until the session ends; nothing is saved",
            decision=ApprovedForSession(),
        ),
    )


def for_prefix(amendment: tuple[str, ...] | None, may_save: Callable[[tuple[str, ...]], bool]) -> tuple[Offer, ...]:
    """The rules that could be saved for a command, from the whole command to its program alone. A program whose
    subcommands do quite different things (`cargo`, `kubectl` …) is not offered alone."""
    if not amendment:
        return ()
    widths = {amendment[:1]: Width.TOOL, _prefix(amendment): Width.PREFIX, amendment: Width.COMMAND}
    if has_subcommands(amendment[0]):
        del widths[amendment[:1]]
    narrow_first = sorted(widths.items(), key=lambda item: -len(item[0]))
    return tuple(saved_rule(prefix, width) for prefix, width in narrow_first if may_save(prefix))


def words_of(rule: ToolRule) -> tuple[str, ...]:
    return (rule.tool, *rule.paths, *rule.hosts)


def for_tool(rules: tuple[ToolRule, ...]) -> tuple[Offer, ...]:
    """The rules that could be saved for a call that is no command."""
    return tuple(saved_tool_rule(rule) for rule in rules if not holds_secret(words_of(rule)))


def saved_tool_rule(rule: ToolRule, scope: Scope = Scope.USER, expires_in_ms: int | None = None) -> Offer:
    if rule.paths:
        where, width = "that touches only what lies there", Width.PLACE
    elif rule.hosts:
        where, width = "that connects only there", Width.PLACE
    else:
        where, width = "whatever it is asked to do, but for what is always asked about", Width.TOOL
    return Offer(
        width=width,
        scope=scope,
        rule=rule_text(rule).rstrip("\n"),
        reach=f"every call of {rule.tool} {where}, {_reach(scope, expires_in_ms)}",
        decision=ApprovedExecpolicyAmendment((), scope=scope, expires_in_ms=expires_in_ms, rule=rule),
    )


def unsavable(words: tuple[str, ...]) -> str | None:
    """Why these words are never kept as a rule; None: they may be."""
    if opens_everything(words):
        return "it would allow everything its program can run; add words"
    if isinstance(commands.classify(words), commands.Dangerous):
        return "it destroys something, so it is asked about every time"
    return "it holds a secret, and rules are kept in a file" if holds_secret(words) else None


def holds_secret(words: tuple[str, ...]) -> bool:
    return bool(Redactor(Redact.BASIC, reversible=False).value(list(words)) != list(words))


def saved_rule(
    prefix: tuple[str, ...], width: Width, scope: Scope = Scope.USER, expires_in_ms: int | None = None
) -> Offer:
    words = "this word" if len(prefix) == 1 else f"these {len(prefix)} words"
    return Offer(
        width=width,
        scope=scope,
        rule=prefix_line(prefix),
        reach=f"every command that starts with {words}, {_reach(scope, expires_in_ms)}; it then runs OUTSIDE the sandbox",
        decision=ApprovedExecpolicyAmendment(prefix, scope=scope, expires_in_ms=expires_in_ms),
        prefix=prefix,
    )


def _reach(scope: Scope, expires_in_ms: int | None) -> str:
    where = {Scope.USER: "in every project", Scope.PROJECT: "in this project", Scope.SESSION: "in this session"}[scope]
    until = "until the session ends" if scope is Scope.SESSION else "until you revoke it"
    return f"{where}, {until if expires_in_ms is None else f'for {duration(expires_in_ms)}'}"


def duration(milliseconds: int) -> str:
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)):
        if milliseconds % size == 0 and milliseconds >= size:
            return f"{milliseconds // size} {unit}"
    return f"{milliseconds} ms"


def _prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """The program with its subcommand: `git push` of `git push origin main`."""
    if len(words) > 2 and _SUBCOMMAND.fullmatch(words[1]):
        return words[:2]
    return words[:1]
