"""Patterns that are compiled when they are first needed: there are a hundred of them, and most texts need few.

A pattern that begins with a literal is not even compiled for a text that does not contain it.
"""

import re
from collections.abc import Iterator
from typing import cast

from signoff.domain.late import LatePattern

_SPECIAL = frozenset(".^$*+?{}[]()|")


class _Lazy(LatePattern):
    def __init__(self, source: str, flags: int) -> None:
        super().__init__(source, flags)
        self._compiled: re.Pattern[str] | None = None
        self._head = "" if flags & re.IGNORECASE else literal_head(source)

    def finditer(self, text: str, *bounds: int) -> Iterator[re.Match[str]]:
        if self._head not in text:
            return iter(())
        if self._compiled is None:
            self._compiled = cast("re.Pattern[str]", re.compile(self._source, self._flags))
        return self._compiled.finditer(text, *bounds)


def literal_head(source: str) -> str:
    """The text every match begins with, as far as it can be told without knowing regular expressions well."""
    if _has_alternatives(source):
        return ""
    head, position = "", 0
    while position < len(source):
        escaped = source[position] == "\\"
        letter = source[position + escaped : position + escaped + 1]
        if letter.isalnum() if escaped else letter in _SPECIAL:
            break
        position += 1 + escaped
        repeated = source[position : position + 1]
        if repeated in ("*", "?", "{"):
            break
        head += letter
        if repeated == "+":
            break
    return head


def _has_alternatives(source: str) -> bool:
    """Whether a `|` stands outside of all groups and character classes."""
    depth, in_class, position = 0, False, 0
    while position < len(source):
        sign = source[position]
        position += 2 if sign == "\\" else 1
        if in_class:
            in_class = sign != "]"
        elif sign == "[":
            in_class = True
        elif sign in "()":
            depth += 1 if sign == "(" else -1
        elif sign == "|" and depth == 0:
            return True
    return False


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """`\\w`, `\\d` and `\\s` mean ASCII: the text is bytes in disguise."""
    return cast("re.Pattern[str]", _Lazy(source, flags | re.ASCII))
