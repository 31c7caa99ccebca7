"""How far an answer can be trusted, from what came of using it. Pure: counts in, numbers out."""

import enum
from typing import Literal

import msgspec

from signoff.memory.interface import Strength

DAY = 24 * 3_600_000  # milliseconds
LIFE = 14 * DAY
STALE_LIFE = 7 * DAY
EXTENSION = 30 * DAY
LONGEST_LIFE = 180 * DAY
STALE_AFTER, DEPRECATED_AFTER = 2, 3  # failures in a row


class Status(enum.StrEnum):
    CANDIDATE = "candidate"
    ACTIVE = "active"
    STALE = "stale"
    DEPRECATED = "deprecated"
    FROZEN = "frozen"


class Stats(msgspec.Struct, frozen=True):
    """Every validation so far."""

    strong_pass: int = 0
    strong_fail: int = 0
    medium_pass: int = 0
    medium_fail: int = 0
    weak_pass: int = 0
    weak_fail: int = 0
    consecutive_fail: int = 0
    last_result: str | None = None

    @property
    def total(self) -> int:
        passes = self.strong_pass + self.medium_pass + self.weak_pass
        return passes + self.strong_fail + self.medium_fail + self.weak_fail


class Standing(msgspec.Struct, frozen=True):
    """What a validation changes about an item."""

    stats: Stats
    status: Status
    expires_at: int | None


def trust(stats: Stats) -> float:
    """From 0 to 1; nothing known is 0.40."""
    raw = (
        0.25 * stats.strong_pass
        - 0.35 * stats.strong_fail
        + 0.10 * stats.medium_pass
        - 0.15 * stats.medium_fail
        + 0.02 * stats.weak_pass
        - 0.05 * stats.weak_fail
        - 0.5 * min(stats.consecutive_fail, DEPRECATED_AFTER)
    )
    return round((min(3.0, max(-2.0, raw)) + 2) / 5, 9)  # so that sums of tenths meet the thresholds they should meet


def level(stats: Stats) -> int:
    """0 to 3: how well proved an answer is."""
    if stats.consecutive_fail >= DEPRECATED_AFTER:
        return 0
    how_far = trust(stats)
    if how_far >= 0.80 and stats.total >= 6 and stats.strong_pass >= 2 and stats.strong_fail == 0:
        return 3
    if how_far >= 0.65 and stats.total >= 4 and stats.strong_pass >= 1:
        return 2
    return 1 if how_far >= 0.40 and stats.total >= 2 else 0


def validated(before: Standing, result: Literal["pass", "fail"], strength: Strength, now: int) -> Standing:
    """The standing after one more validation. A weak failure says nothing against an answer strongly proved."""
    stats = before.stats
    if result == "fail" and strength == "weak" and stats.strong_pass >= 2 and stats.strong_pass > stats.strong_fail:
        return before
    passed = result == "pass"
    name = f"{strength}_{result}"
    stats = msgspec.structs.replace(
        stats,
        **{name: getattr(stats, name) + 1},
        consecutive_fail=0 if passed else stats.consecutive_fail + 1,
        last_result=result,
    )
    return Standing(stats, _status(before.status, stats, passed), _expiry(before.expires_at, passed, strength, now))


def _status(before: Status, stats: Stats, passed: bool) -> Status:
    if before is Status.FROZEN:
        return before
    if passed:
        return Status.ACTIVE
    if stats.consecutive_fail >= DEPRECATED_AFTER:
        return Status.DEPRECATED
    return Status.STALE if stats.consecutive_fail >= STALE_AFTER else before


def _expiry(before: int | None, passed: bool, strength: Strength, now: int) -> int | None:
    if strength != "strong":
        return before
    if passed:
        return min(max(before or now, now) + EXTENSION, now + LONGEST_LIFE)
    return now + STALE_LIFE


def expired(status: Status, now: int) -> tuple[Status, int | None]:
    """What the sweep makes of an item whose time is over: a second chance for what was active, the end for the rest."""
    return (Status.STALE, now + STALE_LIFE) if status is Status.ACTIVE else (Status.DEPRECATED, None)
