"""The measuring apparatus itself: turns are taken, medians are honest, bars point the right way."""

from benchmarks.__main__ import names, table
from benchmarks.figure import at_least, at_most, medians


def test_arms_take_turns_and_the_warm_up_does_not_count() -> None:
    turns: list[str] = []
    result = medians({"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, rounds=2, warm_up=1)
    assert turns == ["a", "b"] * 3
    assert list(result) == ["a", "b"]


def test_a_bar_says_which_side_of_it_is_good() -> None:
    assert [at_most("f", 1.0, 1.8, reference="r").holds, at_most("f", 2.0, 1.8, reference="r").holds] == [True, False]
    assert [at_least("f", 5.0, 4.0, reference="r").holds, at_least("f", 3.0, 4.0, reference="r").holds] == [True, False]


def test_the_table_marks_a_bar_that_does_not_hold() -> None:
    assert table([at_most("start", 2.0, 1.8, reference="doing nothing")]).splitlines() == [
        "figure  value   bar    holds  against",
        "start   2.00 ×  ≤ 1.8  NO     doing nothing",
    ]


def test_every_benchmark_is_found() -> None:
    assert "startup" in names()
    assert "figure" not in names()
