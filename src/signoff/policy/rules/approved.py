"""A yes for a tool, as a `[[rule]]` of a policy.toml: its text, what it means, and how it is found again. Pure.

The text is added at the end of the file and taken out as it was added, so that nothing a person wrote there ever changes.
"""

import datetime
import hashlib
from typing import TYPE_CHECKING

from signoff.domain.late import late
from signoff.domain.review import ToolRule
from signoff.domain.verdict import Decision, Source
from signoff.policy.rules.written import PolicyRule, parse_policy

if TYPE_CHECKING:
    import json
else:
    json = late("json")

MARK = "approved-"


def rule_id(rule: ToolRule) -> str:
    content = "\0".join((rule.tool, rule.action or "", *rule.paths, "\0", *rule.hosts))
    return MARK + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def rule_text(rule: ToolRule, expires_ms: int | None = None) -> str:
    """Exactly what is written."""
    lines = ["[[rule]]", f"id = {_quoted(rule_id(rule))}", f"tool = {_quoted(rule.tool)}"]
    lines += [f"action = {_quoted(rule.action)}"] if rule.action else []
    for name, places in (("paths", rule.paths), ("hosts", rule.hosts)):
        lines += [f"{name} = [{', '.join(map(_quoted, places))}]"] if places else []
    lines.append('decision = "allow"')
    if expires_ms is not None:
        end = datetime.datetime.fromtimestamp(expires_ms // 1_000, datetime.UTC)
        lines.append(f"expires = {end.strftime('%Y-%m-%dT%H:%M:%SZ')}")
    return "\n".join(lines) + "\n"


def with_rule(text: str, rule: ToolRule, expires_ms: int | None) -> str:
    """The file's text with the rule at its end, once; a rule for the same with another end makes way for it."""
    for old in [one for one in approved(text) if one[0] == rule]:
        text = without_rule(text, *old)
    if text and not text.endswith("\n"):
        text += "\n"
    return text + ("\n" if text else "") + rule_text(rule, expires_ms)


def without_rule(text: str, rule: ToolRule, expires_ms: int | None) -> str:
    block = rule_text(rule, expires_ms)
    at = _found(text, block)
    if at is None:
        return text
    before = text[:at]
    return before.removesuffix("\n" if before.endswith("\n\n") or before == "\n" else "") + text[at + len(block) :]


def approved(text: str) -> list[tuple[ToolRule, int | None]]:
    """The rules in it that stand there as we wrote them; what a person changed is theirs."""
    found = []
    for one in parse_policy(text, "").rules if MARK in text else ():
        if one.id.startswith(MARK) and one.tool is not None:
            rule = ToolRule(one.tool, one.action, **({one.kind: one.places} if one.kind else {}))
            if _found(text, rule_text(rule, one.expires_ms)) is not None:
                found.append((rule, one.expires_ms))
    return found


def in_force(rule: ToolRule, source: Source, expires_ms: int | None = None) -> PolicyRule:
    kind = "paths" if rule.paths else "hosts" if rule.hosts else None
    return PolicyRule(
        rule_id(rule),
        Decision.ALLOW,
        source,
        tool=rule.tool,
        action=rule.action,
        kind=kind,
        places=rule.paths or rule.hosts,
        expires_ms=expires_ms,
    )


def _found(text: str, block: str) -> int | None:
    """Where the block stands, as whole lines and not followed by more of the same rule."""
    at = text.find(block)
    while at >= 0:
        after = text[at + len(block) :].split("\n", 1)[0].strip()
        if (at == 0 or text[at - 1] == "\n") and (not after or after.startswith(("[", "#"))):
            return at
        at = text.find(block, at + 1)
    return None


def _quoted(word: str) -> str:
    """A TOML basic string; it is a JSON one but for DEL."""
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")
