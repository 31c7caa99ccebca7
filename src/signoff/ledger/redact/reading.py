"""Read the value that stands at a position, in whatever quotes or none, and say which part of it is secret."""

import re

from signoff.ledger.redact.mask import Span
from signoff.ledger.redact.names import Promise
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.randomness import surprise
from signoff.ledger.redact.values import (
    LONGEST,
    has_odd_sign,
    is_hash_shaped,
    is_placeholder,
    is_reference,
    is_secret,
    wraps_credentials,
)

# one group for each kind of quotes; a single-quoted value never reaches over a double quote, which may close a JSON string
_QUOTED = pattern(
    r'"""(?P<a>[^"\n]*+)|\'\'\'(?P<b>[^\'"\n]*+)|\\{1,3}"(?P<c>[^"\\\n]*+)|"(?P<d>[^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"|'
    r"'(?P<e>[^'\"\n]*+)'|\\'(?P<f>[^'\"\\\n]*+)|`(?P<g>[^`\"\n]*+)`"
)
_BARE = pattern(r"[^\s\"'`\\,;&<>()\[\]{}|]+")
_WHOLE_LINE = pattern(r"[^\s\"'`\\]{1,512}(?=[\"'`,;]{0,2}\r?(?:\n|$))")
_SCHEME = pattern(
    r"(?:bearer|basic|token|digest|apikey|api-key|negotiate|ntlm|key|jwt|oauth|splunk|geniekey|bot|aws4-hmac-sha256)[ \t]{1,8}",
    re.IGNORECASE,
)
_WORD = pattern(r"(?<![\w+/=.-])[\w+/=.-]{16,}(?![\w+/=.-])")
_HEX_CORE = pattern(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{24,}(?![0-9a-zA-Z])|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_NEXT_PARAMETER = pattern(r"[?&]\w+=")
_CALL = pattern(r"[\w.*&!:>-]{0,200}\w[(\[]")
_JSON_NAME = pattern(r"\"[ \t]{0,12}:[ \t]{0,12}$")
_REACH = 512  # how far a sentence under a telling name is read


class Reader:
    """One text. Remembers where the run of bare characters it last met ends, so that many names in one run stay cheap."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._run = (0, 0)

    def value(self, position: int, promised: Promise, operator: str, name: str) -> Span | None:
        quoted = _QUOTED.match(self.text, position)
        if quoted is not None:
            return self._quoted(*quoted.span(quoted.lastgroup or 0), promised, operator)
        if operator in (",", "(", "<-"):  # arguments without quotes are expressions
            return None
        scheme = _SCHEME.match(self.text, position)
        position = scheme.end() if scheme else position
        span = self._bare(position, promised, operator, name, has_scheme=scheme is not None)
        if span is None and promised >= Promise.STRONG:
            span = (
                self._element(position, promised) if operator == ">" else self._line(position, promised, operator, name)
            )
        return span

    def spoken(self, position: int, promised: Promise) -> Span | None:
        """`using token X`: only what is no word of any language."""
        end = self._bare_end(position)
        value = self.text[position : min(end, position + LONGEST)].rstrip(".:!?")
        if promised < Promise.STRONG or "/" in value or is_placeholder(value) or not _is_no_word(value):
            return None
        return Span(position, position + len(value), "assigned")

    def _quoted(self, start: int, end: int, promised: Promise, operator: str) -> Span | None:
        if end - start > LONGEST:
            return None
        scheme = _SCHEME.match(self.text, start, end)
        start = scheme.end() if scheme else start
        value = self.text[start:end].strip(" \t")
        start = self.text.index(value, start)
        if operator == "," and not _is_no_argument(value):
            return None
        if is_secret(value, promised, quoted=True) or _is_basic(value, promised, scheme is not None):
            return Span(start, start + len(value), "assigned")
        return self._word_within(start, end, promised) if " " in value else None

    def _bare(self, position: int, promised: Promise, operator: str, name: str, *, has_scheme: bool) -> Span | None:
        """A value without quotes: in code an expression, so only what no expression looks like."""
        end = self._bare_end(position)
        follows = self.text[end : end + 1]
        if end - position > LONGEST or follows in ("(", "[", "{"):
            return None
        if operator == ">" and follows not in ("<", "", "\n", "\r"):
            return None
        value = _NEXT_PARAMETER.split(self.text[position:end], maxsplit=1)[0].rstrip(".:!?" if operator == ":" else ".")
        given = operator == "=" and (name.startswith("--") or self._is_variable(position, end, name))  # no expression
        if not is_secret(value, promised, quoted=given) and not (has_scheme and wraps_credentials(value)):
            return None
        in_json = value.isdigit() and _JSON_NAME.search(self.text, max(0, position - 26), position)
        return Span(position, position + len(value), "number" if in_json else "assigned")

    def _is_variable(self, position: int, end: int, name: str) -> bool:
        """NAME=value as a shell has it: in front of a command, after `export`, at the end of one of several commands."""
        return (
            name.isupper() and self.text.endswith(name + "=", 0, position) and self.text[end : end + 1] in " \t;&|\r\n"
        )

    def _bare_end(self, position: int) -> int:
        start, end = self._run
        if not start <= position < end:
            bare = _BARE.match(self.text, position)
            end = bare.end() if bare else position
            self._run = (position, end)
        return end

    def _line(self, position: int, promised: Promise, operator: str, name: str) -> Span | None:
        """All that is left of the line, where it is data and no expression."""
        line = _WHOLE_LINE.match(self.text, position)
        if line is None or operator in ("=>", "->") or "</" in line[0] or _CALL.match(line[0]):
            return None
        value = _NEXT_PARAMETER.split(line[0], maxsplit=1)[0].rstrip(",;")
        before = self.text[max(0, position - 120) : position].rpartition("\n")[2]
        if before.count("(") > before.count(")"):  # the last argument of a call
            value = value.rstrip(")")
        if is_secret(value, promised, quoted=False) or (
            self._is_setting(position, name) and is_secret(value, promised, quoted=True)
        ):
            return Span(position, position + len(value), "assigned")
        return None

    def _is_setting(self, position: int, name: str) -> bool:
        """NAME=value in an environment file or `name: value` alone on a line."""
        before = self.text[max(0, position - 120) : position].rpartition("\n")[2].removeprefix("export ")
        return before.rstrip(" :=") == name and before.endswith(("=", ": "))

    def _element(self, position: int, promised: Promise) -> Span | None:
        """<secret>some words and the secret</secret>"""
        close = self.text.find("<", position, position + _REACH)
        if close < 0 or "\n" in self.text[position:close]:
            return None
        return self._word_within(position, close, promised)

    def _word_within(self, start: int, end: int, promised: Promise) -> Span | None:
        """Several words under a telling name: the last of those that are no words."""
        if promised < Promise.STRONG:
            return None
        words = [word for word in _WORD.finditer(self.text, start, min(end, start + _REACH)) if _is_no_word(word[0])]
        return Span(words[-1].start(), words[-1].end(), "assigned") if words else None


def _is_no_word(value: str) -> bool:
    if sum(map(str.isdigit, value)) < 2 or is_reference(value):
        return False
    return surprise(value) >= 5.2 or _HEX_CORE.search(value) is not None


def _is_no_argument(value: str) -> bool:
    """In a list of arguments the second is often not the value of the first: it must speak for itself."""
    if len(value) < 8:
        return False
    return sum(map(str.isdigit, value)) >= 6 or surprise(value) >= 4.55 or is_hash_shaped(value) or has_odd_sign(value)


def _is_basic(value: str, promised: Promise, has_scheme: bool) -> bool:
    if not has_scheme and (promised is not Promise.WEAK or len(value) < 12 or value.islower()):
        return False
    return wraps_credentials(value)
