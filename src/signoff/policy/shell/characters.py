"""Which scripts are not even looked at: too long, or with characters that a reader would not see as they are."""

import unicodedata

from signoff.domain.late import late_pattern

MAX_CHARACTERS = 10_000
_CONTROL = late_pattern(r"[\x00-\x08\x0b-\x1f\x7f]")
_MAY_PAD = (" " * 8, "\t\t", " \t", "\n")
_PADDING = late_pattern(r"[ \t]{40}|(?:[ \t]*\n){20}")
_HIDDEN = frozenset("\u115f\u1160\u3164\uffa0\u034f\u2800" + "".join(map(chr, range(0xFE00, 0xFE10))))
_HIDDEN_CATEGORIES = frozenset({"Cf", "Cc", "Zl", "Zp", "Co", "Cn", "Cs", "Zs"})


def objection(script: str) -> str | None:
    """Why nobody can judge this text by looking at it, or None."""
    if len(script) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS} characters"
    control = _CONTROL.search(script)
    if control is not None:
        return f"control character {ord(control[0]):#04x}"
    if any(run in script for run in _MAY_PAD) and _PADDING.search(script):
        return "a run of blanks that can hide its end"
    if script.isascii():
        return None
    for character in script:
        if character > "\x7f" and (character in _HIDDEN or unicodedata.category(character) in _HIDDEN_CATEGORIES):
            return f"invisible character U+{ord(character):04X}"
        if "\U000e0100" <= character <= "\U000e01ef":
            return "variation selector"
    return None
