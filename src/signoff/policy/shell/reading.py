"""The result of reading a command line."""

import msgspec

from signoff.domain.intent import Aspect


class Reading(msgspec.Struct, frozen=True):
    """Everything a script touches, in the order it was found.

    `plain`: every byte was understood, so rules and the known-safe table may grant it. Otherwise `reason` says why
    not, and what was found can only be restricted. Paths are absolute and lexically normal; links are the caller's.
    """

    plain: bool
    aspects: tuple[Aspect, ...]
    reason: str | None = None
