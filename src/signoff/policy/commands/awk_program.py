"""Which awk programs do nothing but print fields. awk can write files and run commands, so the grammar is tiny."""

import re
from collections.abc import Sequence

from signoff.domain.late import late_pattern

_FIELD = r"(?:\$(?:[0-9]+|NF)|NR|NF|\"[A-Za-z0-9 :,._=|/-]*\")"
_CONDITION = r"(?:(?:NR|NF|\$[0-9]+)\s*(?:==|!=|<=|>=|<|>)\s*(?:[0-9]+|\"[A-Za-z0-9 _.-]*\")|/[A-Za-z0-9 _.,:=^$-]*/)"
_PROGRAM = rf"\s*(?:{_CONDITION}(?:\s*&&\s*{_CONDITION})*)?\s*(?:\{{\s*print(?:\s+{_FIELD}(?:\s*,?\s*{_FIELD})*)?\s*;?\s*\}})?\s*"
_SEPARATOR = late_pattern(r"[^\\\x00]|\\t|\\\||[,:;|/=-]+")


def only_prints(words: Sequence[str]) -> bool:
    index = 1
    while index < len(words) and words[index].startswith("-"):
        separator = words[index][2:] or (words[index + 1] if index + 1 < len(words) else "")
        if not words[index].startswith("-F") or not _SEPARATOR.fullmatch(separator):
            return False
        index += 1 if words[index][2:] else 2
    if index >= len(words) or not words[index].strip() or not re.fullmatch(_PROGRAM, words[index]):
        return False
    return not any(word.startswith(("-", "/inet")) or "=" in word for word in words[index + 1 :])
