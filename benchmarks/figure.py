"""What a benchmark gives back, and the one way to time things fairly: interleaved rounds, medians, ratios."""

import random
import statistics
import time
from collections.abc import Callable, Mapping

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One row of the table. `reference` names what was measured beside it in the same run."""

    name: str
    value: float
    unit: str
    reference: str
    bar: str
    holds: bool


class Unavailable(Exception):
    """This machine lacks what the measurement needs; the message says what."""


def at_most(name: str, value: float, bar: float, *, reference: str, unit: str = "×") -> Figure:
    return Figure(name, value, unit, reference, f"≤ {bar:g}", value <= bar)


def at_least(name: str, value: float, bar: float, *, reference: str, unit: str = "×") -> Figure:
    return Figure(name, value, unit, reference, f"≥ {bar:g}", value >= bar)


def medians(arms: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 1) -> dict[str, float]:
    """Median seconds of each arm. The arms take turns, so that whatever else the machine does hits all of them alike,
    and in a new order each round, so that none always pays for what the same other one left behind."""
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    order, chance = list(arms), random.Random(0)
    for turn in range(warm_up + rounds):
        chance.shuffle(order)
        for name in order:
            start = time.perf_counter()
            arms[name]()
            elapsed = time.perf_counter() - start
            if turn >= warm_up:
                seconds[name].append(elapsed)
    return {name: statistics.median(values) for name, values in seconds.items()}
