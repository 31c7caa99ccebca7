"""No bytes make a parser break its promise: what fuzzing once found, the seeds, and what hypothesis thinks of."""

import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import TARGETS

CORPUS = pathlib.Path(__file__).parent / "corpus"


def kept() -> list[tuple[str, bytes]]:
    """Inputs that once broke something, named `<target>-<what>`."""
    return [(path.name.partition("-")[0], path.read_bytes()) for path in sorted(CORPUS.iterdir())]


def test_every_target_has_seeds() -> None:
    assert SEEDS.keys() == TARGETS.keys()


@pytest.mark.parametrize(("name", "data"), [*kept(), *((name, seed) for name in SEEDS for seed in SEEDS[name])])
def test_what_broke_once_holds_now(name: str, data: bytes) -> None:
    TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_are_taken(name: str) -> None:
    @settings(max_examples=60, database=None)
    @given(mutated(SEEDS[name]))
    def holds(data: bytes) -> None:
        TARGETS[name](data)

    holds()


def mutated(seeds: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    """Random bytes, or two halves of seeds with something in between."""
    half = st.sampled_from(seeds).flatmap(
        lambda seed: st.integers(0, len(seed)).flatmap(lambda at: st.sampled_from((seed[:at], seed[at:])))
    )
    return st.one_of(st.binary(max_size=200), st.tuples(half, st.binary(max_size=12), half).map(b"".join))
