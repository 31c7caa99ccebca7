"""Known-safe, dangerous, or neither: the verdict of the built-in tables on one command."""

import msgspec


class Safe(msgspec.Struct, frozen=True):
    """Only reads, whatever its operands say."""


class Dangerous(msgspec.Struct, frozen=True):
    """Destroys, or takes over, what a person would want to be asked about."""

    reason: str


class Other(msgspec.Struct, frozen=True):
    """Nothing is known about it."""


Classification = Safe | Dangerous | Other

SAFE = Safe()
OTHER = Other()


def classify(words: tuple[str | None, ...], *, moved: bool = False) -> Classification:
    """What the tables say. `moved`: the script changed directory before it, so that a repository is not the caller's."""
    if words[0] in ("ls", "pwd", "cat"):
        return SAFE
    if words[0] == "rm" and "-rf" in words:
        return Dangerous("forced removal")
    return OTHER
