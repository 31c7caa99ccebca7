"""Values that stand beside a name: `db_password = "…"`, `"apiKey": "…"`, `<Token>…</Token>`, `X-Auth-Token: …`.

For each key word one pattern with a literal head, so that the search runs at the speed of a plain string search; all
of them look at the lower-cased text, whose offsets are those of the original.
"""

import functools
import re
from collections.abc import Iterator

from signoff.ledger.redact.mask import Span
from signoff.ledger.redact.names import Promise, promise
from signoff.ledger.redact.values import is_secret, wraps_credentials

KEYWORDS = (
    "passw",
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "key",
    "cred",
    "auth",
    "bearer",
    "cookie",
    "sess",
    "salt",
    "dsn",
    "webhook",
    "psw",
    "clave",
)
_SHORT = {"pw": r"(?![a-z])", "pass": r"(?!w|[a-z]{0,2}e[dsn])", "key": r"(?!board|word|error)", "auth": r"(?!or[^i])"}

_REST = r"(?:\w|[.-](?=\w)){0,40}+"
_TYPE = r"(?:[ \t]{0,4}:?[ \t]{0,4}(?:string|str|char|text|&'?\w*[ ]?str|optional\[str\]|\[\]byte|std::string|varchar\(\d+\)))?"
_CLOSE = r"(?:\[\w{0,8}\])?\\{0,3}[\"'`]?[\])]?"
_OPERATOR = r"[ \t]{0,12}(?::::=|::=|:=|\?=|\.=|\+=|===?|!==?|=>|->|<-|=|:|,|>|\()[ \t]{0,12}"
_VALUE_ATTRIBUTE = (
    r"\\{0,3}[\"'][ \t]{0,4},?[ \t]{0,4}\\{0,3}[\"']?(?:value|content|default)\\{0,3}[\"']?[ \t]{0,4}[=:][ \t]{0,4}"
)
_NEXT_LINE = r"[ \t]{0,4}[=:>][ \t]{0,4}[|>(\\]?-?[ \t]{0,4}\r?\n[ \t]{0,40}"
_VALUE_LINE = r"[\"']?\r?\n[ \t]{0,40}[\"']?value[\"']?:[ \t]{0,4}"
_LEAD = r"(?:@|[bru]{1,2}(?=[\"'])|f(?=[\"']))?"

_QUOTED = re.compile(
    r'"""(?P<a>[^"\n]*+)|\'\'\'(?P<b>[^\'"\n]*+)|(?P<e>\\{1,3})"(?P<c>[^"\\\n]*+)|"(?P<d>[^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"|'
    r"'(?P<f>[^'\"\n]*+)'|\\'(?P<h>[^'\"\\\n]*+)|`(?P<g>[^`\"\n]*+)`"
)
_BARE = re.compile(r"[^\s\"'`\\,;&<>()\[\]{}|]+")
_WHOLE_LINE = re.compile(r"[^\s\"'`\\]+(?=[\"'`,;]{0,2}\r?(?:\n|$))")
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_SCHEME = re.compile(
    r"(?:bearer|basic|token|digest|apikey|api-key|negotiate|ntlm|key|jwt|oauth|splunk|genie[kK]ey|bot|aws4-hmac-sha256)[ \t]+",
    re.IGNORECASE,
)


@functools.cache
def _pattern(keyword: str) -> re.Pattern[str]:
    after = f"(?:{_TYPE}{_CLOSE}{_TYPE}(?P<op>{_OPERATOR}){_LEAD}|{_CLOSE}[ \\t]{{1,4}}(?=[\"'`])|{_VALUE_ATTRIBUTE}|{_NEXT_LINE}|{_VALUE_LINE})"
    return re.compile(keyword + _SHORT.get(keyword, "") + _REST + after + r"(?=[^\s])", re.ASCII)


def assigned(text: str, folded: str) -> Iterator[Span]:
    """Every value in `text` whose name promises a secret and that keeps the promise."""
    for keyword in KEYWORDS:
        for found in _pattern(keyword).finditer(folded):
            span = _judge(text, found)
            if span is not None:
                yield span


def _judge(text: str, found: re.Match[str]) -> Span | None:
    name = name_before(text, found.start()) + text[found.start() : _name_end(found)]
    promised = promise(name)
    if promised is Promise.NONE:
        return None
    return value_at(text, found.end(), promised, (found["op"] or "").strip(), name)


def _name_end(found: re.Match[str]) -> int:
    position = found.start()
    string = found.string
    while position < found.end() and (string[position] in _NAME_CHARACTERS):
        position += 1
    return position


def name_before(text: str, position: int) -> str:
    """The part of the identifier to the left of `position`; blanks join `api key` and `private key`."""
    left = text[max(0, position - 60) : position]
    name = left[len(left.rstrip(_NAME_CHARACTERS)) :]
    if not name and left.endswith(" "):
        word = left[:-1]
        name = word[len(word.rstrip(_NAME_CHARACTERS)) :]
        return name + " " if name.lower() in _JOINED else ""
    return name


_JOINED = frozenset(
    {"api", "access", "private", "secret", "auth", "account", "encryption", "signing", "master", "license", "service"}
)


def value_at(text: str, position: int, promised: Promise, operator: str, name: str) -> Span | None:
    quoted = _QUOTED.match(text, position)
    if quoted is not None:
        group = quoted.lastgroup or "d"
        group = "c" if group == "e" else group
        return _inside(text, quoted.start(group), quoted.end(group), promised)
    if operator in (",", "(", "<-"):
        return None
    return _bare(text, position, promised, operator, name)


def _inside(text: str, start: int, end: int, promised: Promise) -> Span | None:
    scheme = _SCHEME.match(text, start, end)
    if scheme is not None:
        start = scheme.end()
    value = text[start:end]
    stripped = value.strip()
    start += len(value) - len(value.lstrip())
    end = start + len(stripped)
    if (
        is_secret(stripped, promised, quoted=True)
        or (scheme is not None and wraps_credentials(stripped))
        or (
            promised is Promise.WEAK
            and wraps_credentials(stripped)
            and len(stripped) >= 12
            and surprise_enough(stripped)
        )
    ):
        return Span(start, end, "assigned")
    return None


def surprise_enough(value: str) -> bool:
    return not value.isalpha() or not value.islower()


def _bare(text: str, position: int, promised: Promise, operator: str, name: str) -> Span | None:
    scheme = _SCHEME.match(text, position)
    if scheme is not None:
        position = scheme.end()
    bare = _BARE.match(text, position)
    end = bare.end() if bare else position
    value = text[position:end].rstrip(".:!?" if operator == ":" else ".")
    follows = text[end : end + 1]
    if (
        value
        and follows not in ("(", "[", "{")
        and (is_secret(value, promised, quoted=False) or (scheme is not None and wraps_credentials(value)))
    ):
        return Span(position, position + len(value), "assigned")
    line = _WHOLE_LINE.match(text, position)
    if line is not None and promised >= Promise.STRONG:
        value = line[0].rstrip(",;")
        if is_secret(value, promised, quoted=False) or (
            _is_setting(text, position, name) and is_secret(value, promised, quoted=True)
        ):
            return Span(position, position + len(value), "assigned")
    return None


def _is_setting(text: str, position: int, name: str) -> bool:
    """NAME=value in an environment file or `name: value` alone on a line: what follows is data, not an expression."""
    start = text.rfind("\n", max(0, position - 200), position) + 1
    before = text[start:position].removeprefix("export ")
    return before.rstrip(" :=") == name and before.endswith(("=", ": "))
