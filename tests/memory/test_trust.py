"""The formulas, as tables."""

from typing import Any, Literal

import pytest

from signoff.memory.interface import Match, Strength
from signoff.memory.rank import faded, freshness, ranked, score
from signoff.memory.trust import DAY, Standing, Stats, Status, expired, level, trust, validated

NOW = 1_000 * DAY


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        (Stats(), 0.40),
        (Stats(strong_pass=5), 0.65),
        (Stats(strong_pass=8), 0.80),
        (Stats(strong_pass=100), 1.0),
        (Stats(strong_fail=1), 0.33),
        (Stats(medium_pass=1), 0.42),
        (Stats(medium_fail=1), 0.37),
        (Stats(weak_pass=1), 0.404),
        (Stats(weak_fail=1), 0.39),
        (Stats(consecutive_fail=1), 0.30),
        (Stats(consecutive_fail=3), 0.10),
        (Stats(consecutive_fail=9), 0.10),
        (Stats(strong_fail=100), 0.0),
    ],
)
def test_trust(stats: Stats, expected: float) -> None:
    assert trust(stats) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        (Stats(), 0),
        (Stats(weak_pass=1), 0),
        (Stats(weak_pass=2), 1),
        (Stats(strong_pass=2, strong_fail=2), 0),
        (Stats(strong_pass=4), 1),
        (Stats(strong_pass=5), 2),
        (Stats(medium_pass=13), 1),  # nothing strong among it
        (Stats(medium_pass=11, strong_pass=1), 2),
        (Stats(strong_pass=8), 3),
        (Stats(strong_pass=12, strong_fail=1), 2),
        (Stats(strong_pass=20, consecutive_fail=3), 0),
    ],
)
def test_level(stats: Stats, expected: int) -> None:
    assert level(stats) == expected


@pytest.mark.parametrize(
    ("before", "result", "strength", "after"),
    [
        (Standing(Stats(), Status.CANDIDATE, NOW), "pass", "weak",
         Standing(Stats(weak_pass=1, last_result="pass"), Status.ACTIVE, NOW)),
        (Standing(Stats(), Status.CANDIDATE, NOW + 5 * DAY), "pass", "strong",
         Standing(Stats(strong_pass=1, last_result="pass"), Status.ACTIVE, NOW + 35 * DAY)),
        (Standing(Stats(), Status.ACTIVE, NOW + 170 * DAY), "pass", "strong",
         Standing(Stats(strong_pass=1, last_result="pass"), Status.ACTIVE, NOW + 180 * DAY)),
        (Standing(Stats(), Status.ACTIVE, NOW + 90 * DAY), "fail", "strong",
         Standing(Stats(strong_fail=1, consecutive_fail=1, last_result="fail"), Status.ACTIVE, NOW + 7 * DAY)),
        (Standing(Stats(consecutive_fail=1), Status.ACTIVE, NOW), "fail", "medium",
         Standing(Stats(medium_fail=1, consecutive_fail=2, last_result="fail"), Status.STALE, NOW)),
        (Standing(Stats(consecutive_fail=2), Status.STALE, NOW), "fail", "weak",
         Standing(Stats(weak_fail=1, consecutive_fail=3, last_result="fail"), Status.DEPRECATED, NOW)),
        (Standing(Stats(strong_pass=2), Status.ACTIVE, NOW), "fail", "weak", Standing(Stats(strong_pass=2), Status.ACTIVE, NOW)),
        (Standing(Stats(strong_pass=2, strong_fail=2), Status.ACTIVE, NOW), "fail", "weak",
         Standing(Stats(strong_pass=2, strong_fail=2, weak_fail=1, consecutive_fail=1, last_result="fail"), Status.ACTIVE, NOW)),
        (Standing(Stats(consecutive_fail=5), Status.FROZEN, None), "pass", "weak",
         Standing(Stats(weak_pass=1, last_result="pass"), Status.FROZEN, None)),
    ],
)  # fmt: skip
def test_a_validation(before: Standing, result: Literal["pass", "fail"], strength: Strength, after: Standing) -> None:
    assert validated(before, result, strength, NOW) == after


def test_the_sweep_gives_what_was_active_a_week_and_ends_the_rest() -> None:
    assert expired(Status.ACTIVE, NOW) == (Status.STALE, NOW + 7 * DAY)
    assert [expired(status, NOW) for status in (Status.STALE, Status.CANDIDATE)] == [(Status.DEPRECATED, None)] * 2


@pytest.mark.parametrize(("days", "expected"), [(-1, 1.0), (0, 1.0), (15, 0.5), (30, 0.0), (99, 0.0)])
def test_freshness_fades_over_thirty_days(days: int, expected: float) -> None:
    assert freshness(NOW - days * DAY, NOW) == pytest.approx(expected)


def test_the_score_and_what_fades_it() -> None:
    assert score(1, 1, 1, 0) == pytest.approx(1.0)
    assert score(0.5, 0.4, 0.2, 3) == pytest.approx(0.275 + 0.12 + 0.03 + 0.06)
    assert score(0, 0, 0, 9) == pytest.approx(0.08)
    assert [faded(1.0, status) for status in (Status.ACTIVE, Status.STALE, Status.DEPRECATED)] == [1.0, 0.7, 0.3]


def found(qa_id: str, score: float, **fields: Any) -> Match:
    return Match(qa_id, "p", fields.pop("question", qa_id), fields.pop("answer", f"answer of {qa_id}"), score, **fields)


def test_deprecated_and_unproved_answers_stand_back_and_twins_are_folded() -> None:
    unproved = found("a", 0.9)
    proved = found("b", 0.5, validation_level=1)
    assert ranked([unproved, proved, found("c", 0.99, status="deprecated", validation_level=3)], 5, 0.2) == (proved,)
    twin = found("d", 0.8, question="a", answer="answer of a")
    assert ranked([unproved, twin, found("e", 0.1)], 5, 0.2) == (unproved,)
    assert len(ranked([found(f"q{number}", 0.5) for number in range(9)], 4, 0.2)) == 4
