"""The rules of a `policy.toml`: reading it, and which of them speak about an aspect of a call."""

import datetime
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.domain.context import Context
from signoff.domain.errors import RulesInvalid
from signoff.domain.intent import Action, Aspect, Intent, Permission
from signoff.domain.late import late, late_pattern
from signoff.domain.settings import DefaultAction
from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.rules import tool
from signoff.policy.rules.host import Hosts
from signoff.policy.rules.kind import Kind
from signoff.policy.rules.path import Paths

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = late("tomllib")

KINDS: dict[str, Kind] = {"paths": Paths(), "hosts": Hosts()}  # by the key in `_Table` under which a rule names places
_EXAMPLES = Context(workspace="/workspace", home="/home")  # where the examples of a rule are
_DECISIONS = {"allow": Decision.ALLOW, "ask": Decision.ASK, "deny": Decision.DENY}
_ACTIONS = frozenset([*map(str, Action), *map(str, Permission)])
_HEADER = late_pattern(r"^\s*\[\[\s*rule\s*\]\]")
_AT = late_pattern(r" - at `\$\.?(?:rule\[(?P<index>\d+)\])?\.?(?P<key>[a-z_]*)[^`]*`$")
_OUTSIDE_RULES = 'The file can have: default_action = "allow", "ask" or "deny", and any number of [[rule]].'
_TOML_AT = late_pattern(r" \(at line (?P<line>\d+), column (?P<column>\d+)\)$")


class PolicyRule(msgspec.Struct, frozen=True):
    """One `[[rule]]`. What it does not name, it does not ask about."""

    id: str
    decision: Decision
    source: Source
    tool: str | None = None
    action: str | None = None
    kind: str | None = None  # of KINDS
    places: tuple[str, ...] = ()
    reason: str | None = None
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()
    expires_ms: int | None = None
    constraints: dict[str, Any] | None = None
    expires_in_ms: int | None = None

    def speaks_about(self, intent: Intent, aspect: Aspect | None, context: Context) -> bool:
        """A rule that names places is for what touches those; one without is for the call as a whole."""
        if self.expires_ms is not None and context.now_ms >= self.expires_ms:
            return False
        if self.tool is not None and not tool.covers(self.tool, intent.tool):
            return False
        if self.action is not None and self.action not in self._actions(intent, aspect):
            return False
        return self.kind is None or (aspect is not None and self.names(aspect, context))

    def names(self, aspect: Aspect, context: Context) -> bool:
        """Is it one of the places this rule names?"""
        kind, strict = KINDS[self.kind or ""], self.decision > Decision.ALLOW
        return any(kind.covers(pattern, aspect, context, strict=strict) for pattern in self.places)

    def _actions(self, intent: Intent, aspect: Aspect | None) -> tuple[str, ...]:
        """What the aspect does, whatever the caller calls it; the caller's word counts for the call as a whole."""
        own = () if aspect is None else _ACTIONS_OF.get(type(aspect).__name__, ())
        if own and (self.kind is not None or self.decision == Decision.ALLOW):
            return own
        return (*own, str(intent.action))


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    decision: str
    id: str | None = None
    tool: str | None = None
    action: str | None = None
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    reason: str | None = None
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()
    expires: datetime.datetime | None = None
    constraints: dict[str, Any] | None = None
    expires_in_ms: int | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default_action: DefaultAction | None = None
    rule: tuple[_Table, ...] = ()


class PolicyFile(msgspec.Struct, frozen=True):
    rules: tuple[PolicyRule, ...] = ()
    default_action: DefaultAction | None = None


def read_policy(text: str, file: str, layer: Layer = Layer.FLAG) -> PolicyFile:
    """Everything a policy.toml says. Raises RulesInvalid, also for an example that does not hold."""
    policy = parse_policy(text, file, layer)
    for rule in policy.rules:
        for problem in wrong_examples(rule):
            raise RulesInvalid(f"{rule.source}:1: {problem}", hint="Correct the example, or the rule.")
    return policy


def parse_policy(text: str, file: str, layer: Layer = Layer.FLAG) -> PolicyFile:
    """The same with the examples unchecked."""
    headers = [number for number, line in enumerate(text.splitlines(), start=1) if _HEADER.match(line)]
    try:
        content = msgspec.convert(tomllib.loads(text), _File)
    except tomllib.TOMLDecodeError as error:
        at, last = _TOML_AT.search(str(error)), text.split("\n")
        place = f"{at['line']}:{at['column']}" if at else f"{len(last)}:{len(last[-1]) + 1}"
        raise RulesInvalid(f"{file}:{place}: {_TOML_AT.sub('', str(error))}", hint="Correct the TOML.") from error
    except msgspec.ValidationError as error:
        raise _invalid(str(error), text, headers, file) from error
    rules = []
    for number, table in enumerate(content.rule):
        line = headers[number] if number < len(headers) else 1
        rules.append(_rule(table, number, file, line, layer))
    return PolicyFile(tuple(rules), content.default_action)


def _rule(table: _Table, number: int, file: str, line: int, layer: Layer) -> PolicyRule:
    problem = _problem(table)
    if problem:
        raise RulesInvalid(f"{file}:{line}:1: {problem}", hint="Correct this rule.")
    expires, kind = table.expires, next((key for key in KINDS if getattr(table, key)), None)
    return PolicyRule(
        id=table.id or f"rule[{number}]",
        decision=_DECISIONS[table.decision],
        source=Source(layer, file, line),
        tool=table.tool,
        action=table.action,
        kind=kind,
        places=getattr(table, kind) if kind else (),
        reason=table.reason,
        match=table.match,
        not_match=table.not_match,
        expires_ms=None if expires is None else int(expires.timestamp() * 1000),
        constraints=table.constraints,
        expires_in_ms=table.expires_in_ms,
    )


def wrong_examples(rule: PolicyRule) -> Iterator[str]:
    """What the rule's examples say and the rule does not do."""
    for example in rule.match:
        if not _fits(rule, example):
            yield f"the match example {example!r} is not covered by rule {rule.id}"
    for example in rule.not_match:
        if _fits(rule, example):
            yield f"the not_match example {example!r} is covered by rule {rule.id}"


def _problem(table: _Table) -> str | None:
    if table.decision not in _DECISIONS:
        return f"invalid decision: {table.decision} (allow, ask or deny)"
    if table.action is not None and table.action not in _ACTIONS:
        return f"unknown action: {table.action} (one of {', '.join(sorted(_ACTIONS))})"
    if table.expires is not None and table.expires.tzinfo is None:
        return "expires needs an offset, as in 2030-01-31T12:00:00Z"
    if table.expires_in_ms is not None and table.expires_in_ms <= 0:
        return "expires_in_ms must be a positive number"
    if sum(bool(getattr(table, key)) for key in KINDS) > 1:
        return f"one rule names {' or '.join(KINDS)}, not both"
    if table.tool == "" or table.id == "":
        return "id and tool cannot be empty"
    said = (kind.problem(pattern) for key, kind in KINDS.items() for pattern in getattr(table, key))
    return next(filter(None, said), None)


def _fits(rule: PolicyRule, example: str) -> bool:
    """An example is a place or a tool, whichever the rule is about."""
    if rule.kind is not None:
        return rule.names(KINDS[rule.kind].example(example, _EXAMPLES), _EXAMPLES)
    return rule.tool is None or tool.covers(rule.tool, example)


def _invalid(message: str, text: str, headers: list[int], file: str) -> RulesInvalid:
    at = _AT.search(message)
    line, column = 1, 1
    if at:
        message = message[: at.start()]
        unknown = re.search(r"unknown field `(.*)`", message)
        key = unknown[1] if unknown else at["key"]
        first = headers[int(at["index"])] if at["index"] and int(at["index"]) < len(headers) else 1
        line = first
        for number, content in enumerate(text.splitlines()[first - 1 :], start=first):
            if number > first and _HEADER.match(content):
                break
            if key and re.match(rf"\s*{re.escape(key)}\b", content):
                line, column = number, len(content) - len(content.lstrip()) + 1
                break
    in_rule = at is not None and at["index"]
    hint = f"A rule can have: {', '.join(_Table.__struct_fields__)}." if in_rule else _OUTSIDE_RULES
    return RulesInvalid(f"{file}:{line}:{column}: {message}", hint=hint)


_ACTIONS_OF = {
    "FileRead": ("read", "fs.read"),
    "FileWrite": ("write", "fs.write"),
    "FileDelete": ("write", "fs.delete"),
    "Command": ("exec", "proc.exec"),
    "Host": ("net", "net.connect"),
    "GitWrite": ("write", "git.write"),
}
