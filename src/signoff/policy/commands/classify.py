"""Known-safe, dangerous, or neither: the verdict of the built-in tables on one command."""

from collections.abc import Sequence

import msgspec

from signoff.policy.commands.credentials import is_credential
from signoff.policy.commands.dangerous import DANGEROUS_PROGRAMS, danger
from signoff.policy.commands.inert import INERT
from signoff.policy.commands.places import is_the_systems_own
from signoff.policy.commands.safe import CHECKED_PROGRAMS, only_reads


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
_KNOWN = INERT | CHECKED_PROGRAMS | DANGEROUS_PROGRAMS
WORDS_ONLY = frozenset("echo printf true false : expr seq sleep test [ exit basename dirname type which cd".split())


def classify(words: Sequence[str | None], *, moved: bool = False) -> Classification:
    """What the tables say. `moved`: the script changed directory before it, so a repository there is not the caller's."""
    first = words[0] if words else None
    if first is None:
        return OTHER
    name = first.rpartition("/")[2]
    if name not in _KNOWN and not name.startswith("mkfs"):
        return OTHER
    texts = ["\0" if word is None else word for word in words]
    reason = danger(name, texts)
    if reason is not None:
        return Dangerous(reason)
    if not is_the_systems_own(first) or (moved and name == "git"):
        return OTHER
    if not (name in INERT or only_reads(name, texts)):
        return OTHER
    if name not in WORDS_ONLY and any(is_credential(text) for text in texts[1:]):
        return OTHER
    return SAFE
