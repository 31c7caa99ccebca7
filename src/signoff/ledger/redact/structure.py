"""Secrets in JSON values, where names and values are known without guessing."""

from collections.abc import Callable, Sequence
from typing import Any

from signoff.ledger.redact.names import Promise, promise
from signoff.ledger.redact.values import is_secret, wraps_credentials

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
        promised = promise(name) if name else Promise.NONE
        if promised is not Promise.NONE and not value.isspace():
            scheme, _, rest = value.strip().rpartition(" ")
            rest = rest if scheme.isalpha() else value
            if is_secret(rest, promised, quoted=True) or (scheme.isalpha() and wraps_credentials(rest)):
                return value.replace(rest, self._mask(rest.encode().decode("latin-1"), "assigned"))
        return self._text(value)

    def _list(self, items: Sequence[Any], name: str) -> list[Any]:
        """An argument list may give an option and its value as two items."""
        walked: list[Any] = []
        before = ""
        for item in items:
            walked.append(self.walk(item, before or name))
            before = item if isinstance(item, str) and item.startswith("--") and "=" not in item else ""
        return walked

    def _dict(self, fields: dict[str, Any]) -> dict[str, Any]:
        named = next((field for key in _NAME_FIELDS if isinstance(field := fields.get(key), str)), "")
        walked: dict[str, Any] = {}
        for key, value in fields.items():
            shown = self._text(key)
            while shown in walked:  # two secrets used as keys must not become one entry
                shown += "_"
            walked[shown] = self.walk(value, named if named and key == "value" else key)
        return walked
