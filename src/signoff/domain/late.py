"""Modules and patterns that are made when they are first used, so that a command pays only for what it does.

    if TYPE_CHECKING:
        import asyncio
    else:
        asyncio = late("asyncio")

For what is slow to make and often not needed. Safe between threads: the import system holds its own lock.
"""

import importlib
import re
from typing import Any, AnyStr, cast


class _Module:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Reached once for each name; from then on it is an attribute here, as cheap as the module's own."""
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found


class LatePattern:
    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Reached once for each method; from then on the method of the compiled pattern is an attribute."""
        method = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, method)
        return method


def late(name: str) -> Any:
    """A stand-in for the module of that name."""
    return _Module(name)


def late_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, for its methods only: a mistake in the pattern shows with the first text."""
    return cast("re.Pattern[AnyStr]", LatePattern(source, flags))
