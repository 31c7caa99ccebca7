"""The measuring apparatus itself: turns are taken, medians are honest, bars point the right way."""

import os
import pathlib
import subprocess
import sys

import pytest

from benchmarks.__main__ import Outcome, names, run, table
from benchmarks.acp_wire import Agent
from benchmarks.figure import at_least, at_most, medians
from benchmarks.soak_watch import Sample, judged, sample


def test_arms_take_turns_and_the_warm_up_does_not_count() -> None:
    turns: list[str] = []
    result = medians({"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, rounds=2, warm_up=1)
    assert [sorted(turns[first : first + 2]) for first in range(0, 6, 2)] == [["a", "b"]] * 3
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


def test_an_agent_that_dies_in_the_middle_of_a_line_is_noticed() -> None:
    agent = Agent([sys.executable, "-c", "import os; os.read(0, 9); os.write(1, b'half')"])
    try:
        with pytest.raises(EOFError):
            agent.round_trip(b"hello\n", b"whole")
    finally:
        agent.end()


def test_a_measurement_that_breaks_is_reported_and_the_others_are_made(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "measurements"
    package.mkdir()
    sources = {
        "__init__": "",
        "absent": "from benchmarks.figure import Unavailable\ndef measure():\n    raise Unavailable('no bwrap')",
        "broken": "def measure():\n    raise OSError('gone')",
        "unreadable": "import no_such_module",
        "works": "from benchmarks.figure import at_most\ndef measure():\n    return [at_most('f', 1.0, 2.0, reference='r')]",
    }
    for name, source in sources.items():
        (package / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    outcome = run([name for name in sources if name != "__init__"], "measurements")
    assert outcome == Outcome(
        [at_most("f", 1.0, 2.0, reference="r")],
        {"absent": "no bwrap"},
        {"broken": "OSError: gone", "unreadable": "ModuleNotFoundError: No module named 'no_such_module'"},
    )
    assert not outcome.good


@pytest.mark.parametrize(
    ("samples", "flat"),
    [
        ([Sample(50_000, 20, 2, frozenset())] * 30, True),
        ([Sample(50_000 + 1_000 * n, 20, 2, frozenset()) for n in range(30)], False),
        ([Sample(50_000, 20 + n, 2, frozenset()) for n in range(30)], False),
        ([Sample(50_000, 20, 2, frozenset({7}))] * 30, False),
        ([Sample(50_000, 20, 2, frozenset({n})) for n in range(30)], True),  # each was reaped at once
    ],
)
def test_growth_of_memory_and_descriptors_and_lasting_zombies_are_seen(samples: list[Sample], flat: bool) -> None:
    assert judged(samples).flat is flat


def test_rates_are_those_of_the_first_and_the_last_third() -> None:
    done = [10 * second for second in range(20)] + [200 + second for second in range(10)]
    samples = [Sample(1, 1, 1, frozenset(), float(second), count) for second, count in enumerate(done)]
    assert judged(samples).rates == (10.0, 1.0)


def test_a_family_is_seen_with_everything_it_holds() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            taken = sample(os.getpid())
        finally:
            child.kill()
    assert taken.processes >= 2
    assert taken.kilobytes > 1_000
    assert taken.descriptors >= 3
