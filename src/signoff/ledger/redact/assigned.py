"""Values that stand beside a name: `db_password = "…"`, `"apiKey": "…"`, `<Token>…</Token>`, `X-Auth-Token: …`.

For each key word one pattern with a literal head, so that the search runs at the speed of a plain string search. All of
them look at the lower-cased text, whose offsets are those of the original.
"""

import functools
import re
from collections.abc import Iterator

from signoff.ledger.redact.mask import Span
from signoff.ledger.redact.names import Promise, promise
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.reading import Reader
from signoff.ledger.redact.values import is_secret

# what keeps a word from being another: `pass` in `passed`, `key` in `keyboard`, `auth` in `author`
KEYWORDS = {
    "passw": "",
    "pass": r"(?!w|[a-z]{0,2}e[dsn])",
    "pwd": "",
    "pw": r"(?![a-z])",
    "psw": "",
    "secret": "",
    "token": "",
    "key": r"(?!board|word|error)",
    "cred": "",
    "auth": r"(?!or[^i])",
    "bearer": "",
    "sess": "",
    "salt": "",
    "dsn": "",
    "webhook": "",
    "clave": "",
}
_REST = r"(?:\w|[.-](?=\w)){0,40}+"
_TYPE = r"(?:[ \t]{0,4}:?[ \t]{0,4}(?:string|str|char|text|&'?\w{0,10}[ ]?str|optional\[str\]|\[\]byte|std::string))?"
_CLOSE = r"(?:\[\w{0,8}\])?\\{0,3}[\"'`]?[\])]?"
_OPERATOR = r"[ \t]{0,12}(?P<operator>:::=|::=|:=|\?=|\.=|\+=|===?|!==?|=>|->|<-|=|:(?!:)|,|>|\()[ \t]{0,12}(?:@|[bruf]{1,2}(?=[\"']))?"
_WAYS = (
    _TYPE + _CLOSE + _TYPE + _OPERATOR,
    _CLOSE + r"[ \t]{1,4}(?P<juxtaposed>(?=[\"']))",  # password "…"
    r"(?P<spoken>[ \t]{1,2}(?:is[ \t]|was[ \t])?)(?=[\w.+/=-]{16})",  # the token is …
    r"[ \t]{1,4}-[ \t]{1,4}(?=[\"'])",  # token - "…"
    # <add key="Password" value="…">, {"name": "PASSWORD", "value": "…"}
    r"\\{0,3}[\"'][ \t]{0,4},?[ \t]{0,4}\\{0,3}[\"']?(?:value|content|default)\\{0,3}[\"']?[ \t]{0,4}[=:][ \t]{0,4}",
    # the value alone on the next line, indented
    r"[\"']?[ \t]{0,4}(?P<below>[:>][ \t]{0,4}[|>(]?-?|[=:][ \t]{0,4}[\\(])[ \t]{0,4}\r?\n[ \t]{1,40}",
    r"[\"']?\r?\n[ \t]{0,40}[\"']?value[\"']?:[ \t]{0,4}",  # - name: PASSWORD, value: … below
)
_ALONE = pattern(r"[\"',;)\\]{0,3}[ \t]*\r?(?:\n|$)")
_LOOKUP = pattern(
    r"cache|hash|sha|etag|object|partition|sort|digest|md5|index|bucket|lookup|primary|foreign|row|dict|map|for |lambda|"
    r"sorted|max|min|[(]$"
)
_COMPARISONS = tuple(
    pattern(sign + r"[ \t]?(?P<name>[\w.]{0,60}?(?:pass|pwd|secret|token|key)\w{0,40})") for sign in ("==", "!=")
)
_PASSES = pattern(r"pass(?=[A-Z_])")  # a verb, not a name: passValue("…"), pass_context("…")
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_JOINED = (
    "api",
    "access",
    "private",
    "secret",
    "auth",
    "account",
    "encryption",
    "signing",
    "master",
    "license",
    "service",
)


@functools.cache
def _pattern(keyword: str) -> re.Pattern[str]:
    return pattern(f"{keyword}{KEYWORDS[keyword]}{_REST}(?P<after>{'|'.join(_WAYS)})(?=[^\\s])")


def assigned(text: str, folded: str) -> Iterator[Span]:
    """Every value in `text` whose name promises a secret and that keeps the promise."""
    reader = Reader(text)
    for keyword in KEYWORDS:
        for found in _pattern(keyword).finditer(folded) if keyword in folded else ():
            span = _judge(reader, found)
            if span is not None:
                yield span
    for sign in _COMPARISONS:
        for found in sign.finditer(folded):
            span = _compared(text, found)
            if span is not None:
                yield span


def _judge(reader: Reader, found: re.Match[str]) -> Span | None:
    text = reader.text
    before = _name_before(text, found.start())
    name = before + text[found.start() : found.start("after")]
    promised = promise(name)
    if promised is Promise.NONE or text.startswith("::", max(0, found.start() - len(before) - 2)):
        return None
    if found["spoken"] is not None:
        return reader.spoken(found.end(), promised)
    operator = found["operator"] or ""
    if (name == "pass" and found["juxtaposed"] is not None) or (operator == "(" and _PASSES.match(name)):
        return None
    if (
        operator == "="
        and name.lower() == "key"
        and not _LOOKUP.search(found.string, max(0, found.start() - 40), found.start())
    ):
        promised = Promise.STRONG  # `Key=…` as logs and query strings have it, not a map's
    span = reader.value(found.end(), promised, operator, name)
    if span is not None and found["below"] is not None and not _ALONE.match(text, span.end):
        return None
    return span


def _name_before(text: str, position: int) -> str:
    """The part of the identifier to the left of `position`; a blank joins `api key` and `private key`."""
    left = text[max(0, position - 60) : position]
    name = left[len(left.rstrip(_NAME_CHARACTERS)) :]
    if not name and left.endswith(" "):
        word = left[:-1]
        name = word[len(word.rstrip(_NAME_CHARACTERS)) :]
        return name + " " if name.lower() in _JOINED else ""
    return name


def _compared(text: str, found: re.Match[str]) -> Span | None:
    """`"value" == password`: the value stands first."""
    end = found.start()
    while end and text[end - 1] in " =!":
        end -= 1
    quote = text[end - 1 : end]
    start = text.rfind(quote, max(0, end - 256), end - 1) + 1 if quote in ('"', "'") else 0
    value = text[start : end - 1]
    promised = promise(text[found.start("name") : found.end("name")])
    if not start or any(sign in value for sign in '\n\\"') or not is_secret(value, promised, quoted=True):
        return None
    return Span(start, end - 1, "assigned")
