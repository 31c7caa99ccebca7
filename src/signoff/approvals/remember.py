"""What "do not ask again" can mean for one question: three widths, each with the exact rule and how far it reaches.

Pure. Narrow comes first, and a prefix that would open everything (`python3`, `sudo`, `git` …) is not offered at all.
"""

from collections.abc import Callable

from signoff.approvals.request import Offer, Width
from signoff.domain.late import late_pattern
from signoff.domain.review import ApprovedExecpolicyAmendment, ApprovedForSession, Scope
from signoff.policy.execpolicy.amend import prefix_line

_SUBCOMMAND = late_pattern(r"[a-z][a-z0-9_:-]*")


def for_session(keys: tuple[str, ...]) -> tuple[Offer, ...]:
    """The session cache, as the person can choose it: exactly these keys, until the session ends."""
    if not keys:
        return ()
    return (
        Offer(
            width=Width.COMMAND,
            scope=Scope.SESSION,
            rule=" ".join(keys),
            reach="exactly this, until the session ends; nothing is saved",
            decision=ApprovedForSession(),
        ),
    )


def for_prefix(amendment: tuple[str, ...] | None, may_save: Callable[[tuple[str, ...]], bool]) -> tuple[Offer, ...]:
    """The rules that could be saved for a command, from the whole command to its program alone."""
    if not amendment:
        return ()
    widths = {amendment[:1]: Width.TOOL, _prefix(amendment): Width.PREFIX, amendment: Width.COMMAND}
    narrow_first = sorted(widths.items(), key=lambda item: -len(item[0]))
    return tuple(saved_rule(prefix, width) for prefix, width in narrow_first if may_save(prefix))


def saved_rule(
    prefix: tuple[str, ...], width: Width, scope: Scope = Scope.USER, expires_in_ms: int | None = None
) -> Offer:
    where = {Scope.USER: "in every project", Scope.PROJECT: "in this project", Scope.SESSION: "in this session"}[scope]
    until = "until you revoke it" if expires_in_ms is None else f"for {duration(expires_in_ms)}"
    words = "this word" if len(prefix) == 1 else f"these {len(prefix)} words"
    return Offer(
        width=width,
        scope=scope,
        rule=prefix_line(prefix),
        reach=f"every command that starts with {words}, {where}, {until}; it then runs OUTSIDE the sandbox",
        decision=ApprovedExecpolicyAmendment(prefix, scope=scope, expires_in_ms=expires_in_ms),
        prefix=prefix,
    )


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
