"""Secrets in JSON values, where names and values are known without guessing."""

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from signoff.domain.late import late
from signoff.ledger.redact.mask import Span
from signoff.ledger.redact.names import Promise, promise
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.values import is_given, is_secret, wraps_credentials

if TYPE_CHECKING:
    import json
else:
    json = late("json")

_STRING = pattern(r'"(?P<inside>[^"\\]*+(?:\\.[^"\\]*+)*+)"')
_USER_OPTIONS = ("-u", "--user", "--proxy-user")
_NAME_FIELDS = ("name", "key", "header", "field", "variable")


class Structure:
    """Walks a value; each string is read as text, and as the value of the name it stands under."""

    def __init__(self, text: Callable[[str], str], mask: Callable[[str, str], str]) -> None:
        self._text = text
        self._mask = mask

    def walk(self, value: Any, name: str = "") -> Any:
        match value:
            case str():
                return self._string(value, name)
            case list() | tuple():
                return self._list(value, name)
            case dict():
                return self._dict(value)
            case None | bool() | int() | float():
                return value
            case _:  # what is no JSON could hold anything
                raise TypeError(f"a {type(value).__name__} is no JSON value")

    def _string(self, value: str, name: str) -> str:
        if name in _USER_OPTIONS and ":" in value:
            user, _, word = value.partition(":")
            return f"{user}:{self._masked(word)}" if is_secret(word, Promise.CHOSEN, quoted=True) else self._text(value)
        promised = promise(name) if name else Promise.NONE
        if promised is Promise.NONE:
            return self._text(value)
        if (
            name.startswith("--")
            and not name.endswith("stdin")
            and promised >= Promise.STRONG
            and is_given(value)
            and " " not in value
        ):
            return self._masked(value)
        scheme, blank, rest = value.strip().rpartition(" ")
        if not scheme.isalpha():
            scheme, blank, rest = "", "", value
        if is_secret(rest, promised, quoted=True) or (scheme and wraps_credentials(rest)):
            return scheme + blank + self._masked(rest)
        return self._text(value)

    def _masked(self, secret: str) -> str:
        return self._mask(secret.encode("utf-8", "surrogatepass").decode("latin-1"), "assigned")

    def _list(self, items: Sequence[Any], name: str) -> list[Any]:
        """An argument list may give an option and its value as two items."""
        walked: list[Any] = []
        before = ""
        for item in items:
            walked.append(self.walk(item, before or name))
            before = item if isinstance(item, str) and item.startswith("-") and "=" not in item else ""
        return self._command(walked) if len(walked) > 1 and all(isinstance(item, str) for item in walked) else walked

    def _command(self, words: list[str]) -> list[str]:
        """What only the whole command line tells: that `-p` of sshpass is a password, and that of mkdir is none."""
        line = shlex.join(words)
        masked = self._text(line)
        if masked == line:
            return words
        try:
            read = shlex.split(masked)
        except ValueError:
            return words
        return read if len(read) == len(words) else words

    def _dict(self, fields: dict[str, Any]) -> dict[str, Any]:
        named = next((field for key in _NAME_FIELDS if isinstance(field := fields.get(key), str)), "")
        walked: dict[str, Any] = {}
        for key, value in fields.items():
            shown = self._text(key)
            while shown in walked:  # two secrets used as keys must not become one entry
                shown += "_"
            walked[shown] = self.walk(value, named if named and key == "value" else key)
        return walked


def is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def inside_strings(line: str, spans: list[Span]) -> list[Span]:
    """Those spans that lie within a string of this line of JSON."""
    strings = [found.span("inside") for found in _STRING.finditer(line)]
    return [span for span in spans if any(start <= span.start and span.end <= end for start, end in strings)]
