"""From relevance, trust and freshness to one order. Pure."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from signoff.memory.trust import DAY, Status
from signoff.memory.words import alike, signature

FRESH_FOR = 30 * DAY
SAME = 0.9  # two answers with this share of words in common are one answer
_FADED: dict[str, float] = {Status.STALE: 0.7, Status.DEPRECATED: 0.3}


class Rankable(Protocol):
    """What the order depends on."""

    @property
    def score(self) -> float: ...
    @property
    def status(self) -> str: ...
    @property
    def validation_level(self) -> int: ...
    @property
    def question(self) -> str: ...
    @property
    def answer(self) -> str: ...


R = TypeVar("R", bound=Rankable)


def freshness(last_touched: int, now: int) -> float:
    """1 for now, 0 for thirty days ago and before."""
    return min(1.0, max(0.0, 1 - (now - last_touched) / FRESH_FOR))


def faded(trust: float, status: str) -> float:
    return trust * _FADED.get(status, 1.0)


def score(relevance: float, trust: float, freshness: float, level: int) -> float:
    return 0.55 * relevance + 0.30 * trust + 0.15 * freshness + min(0.08, 0.02 * level)


def ranked(matches: Iterable[R], limit: int, min_score: float) -> tuple[R, ...]:
    """The best first, near-duplicates folded into the better one; nothing unproved beside something proved."""
    found = [match for match in matches if match.status != Status.DEPRECATED]
    if any(match.validation_level > 0 for match in found):
        found = [match for match in found if match.validation_level > 0]
    found = sorted((match for match in found if match.score >= min_score), key=lambda match: -match.score)
    return _folded(found, limit)


def _folded(matches: list[R], limit: int) -> tuple[R, ...]:
    kept: list[tuple[frozenset[str], R]] = []
    for match in matches:
        words = signature(f"{match.question} {match.answer}")
        if all(alike(words, other) < SAME for other, _ in kept):
            kept.append((words, match))
        if len(kept) == limit:
            break
    return tuple(match for _, match in kept)
