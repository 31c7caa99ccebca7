"""Patterns that are compiled when they are first used: there are a hundred of them, and most texts need few."""

import re
from typing import Any, cast


class _Lazy:
    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Reached once for each method; from then on the method of the compiled pattern is an attribute."""
        method = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, method)
        return method


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """`\\w`, `\\d` and `\\s` mean ASCII: the text is bytes in disguise."""
    return cast("re.Pattern[str]", _Lazy(source, flags | re.ASCII))
