"""What a person approved beyond the moment, as it is kept on disk: seen in one list, taken back one by one."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from signoff.config import amendments
from signoff.config.document import read_bytes
from signoff.config.rules import Places
from signoff.domain.errors import UsageError
from signoff.domain.review import Scope, ToolRule
from signoff.domain.verdict import Layer
from signoff.policy.execpolicy.amend import prefix_line
from signoff.policy.execpolicy.language import read_rules
from signoff.policy.grants import read_grants
from signoff.policy.rules.approved import approved, rule_id


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """One remembered yes. Without `expires_ms` it holds until it is revoked."""

    id: str
    scope: Scope
    prefix: tuple[str, ...]
    file: str
    expires_ms: int | None = None
    rule: ToolRule | None = None  # instead of a prefix, for a tool that is no command


def kept(places: Places) -> list[Kept]:
    """Everything approved from a question, in every project and in this one."""
    return [
        *_lines(places.user_rules / amendments.DEFAULT_RULES, Scope.USER),
        *_lines(places.project_rules / amendments.DEFAULT_RULES, Scope.PROJECT),
        *_timed(places.user_grants, Scope.USER),
        *_timed(places.project_grants, Scope.PROJECT),
        *_tools(places.user_policy, Scope.USER),
        *_tools(places.project_policy, Scope.PROJECT),
    ]


def revoke(places: Places, name: str) -> Kept:
    """Take one back, by its id or the beginning of it. From then on it is asked again, in running sessions too."""
    found = [one for one in kept(places) if one.id.startswith(name)] if name else []
    if len(found) != 1:
        what = "no grant has" if not found else f"{len(found)} grants have"
        raise UsageError(f"{what} an id that starts with {name!r}", hint='"signoff grants list" shows them all.')
    (one,) = found
    if one.rule is not None:
        amendments.forbid_tool(Path(one.file), one.rule, one.expires_ms)
    elif one.expires_ms is None:
        amendments.forget(Path(one.file), one.prefix)
    else:
        amendments.revoke(Path(one.file), one.prefix)
    return one


def _lines(path: Path, scope: Scope) -> Iterator[Kept]:
    """Rules as we write them, one to a line; what a person wrote into the file in other forms is theirs."""
    text = (read_bytes(path) or b"").decode("utf-8", "replace")
    ours = set(text.splitlines())
    for rule in read_rules(text, str(path), Layer.USER).prefixes if text else ():
        prefix = tuple(words[0] for words in rule.pattern)
        if prefix_line(prefix) in ours:
            yield Kept(_id(path, prefix), scope, prefix, str(path))


def _timed(path: Path, scope: Scope) -> Iterator[Kept]:
    text = (read_bytes(path) or b"").decode("utf-8", "replace")
    for one in read_grants(text, str(path)) if text else ():
        yield Kept(_id(path, one.prefix), scope, one.prefix, str(path), one.expires_ms)


def _tools(path: Path, scope: Scope) -> Iterator[Kept]:
    text = (read_bytes(path) or b"").decode("utf-8", "replace")
    for rule, expires_ms in approved(text):
        words = (rule_id(rule), str(expires_ms))
        yield Kept(_id(path, words), scope, (), str(path), expires_ms, rule)


def _id(path: Path, prefix: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join((str(path), *prefix)).encode(errors="surrogateescape")).hexdigest()[:8]
