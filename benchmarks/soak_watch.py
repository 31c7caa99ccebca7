"""What a family of processes holds, looked at again and again, and whether that stays the same.

The first tenth of the samples is warm-up; of the rest the first third is compared with the last.
"""

import itertools
import os
import pathlib
import statistics

import msgspec

FLAT = 1.10  # the last third may hold a tenth more
SLACK_KB = 4_096  # and this much, which is nothing, of a small process
SPARE_DESCRIPTORS = 2
PROC = pathlib.Path("/proc")


class Sample(msgspec.Struct, frozen=True):
    kilobytes: int
    descriptors: int
    processes: int
    zombies: frozenset[int]
    at: float = 0.0  # seconds
    done: int = 0  # requests until then


class Verdict(msgspec.Struct, frozen=True):
    """Medians of the first and the last third; zombies are those that two samples in a row saw."""

    kilobytes: tuple[float, float]
    descriptors: tuple[float, float]
    zombies: int
    rates: tuple[float, float] = (0.0, 0.0)  # requests a second: told, not judged, because machines are shared

    @property
    def growth(self) -> float:
        return self.kilobytes[1] / self.kilobytes[0] if self.kilobytes[0] else 1.0

    @property
    def flat(self) -> bool:
        return (
            self.kilobytes[1] <= self.kilobytes[0] * FLAT + SLACK_KB
            and self.descriptors[1] <= self.descriptors[0] * FLAT + SPARE_DESCRIPTORS
            and self.zombies == 0
        )


def judged(samples: list[Sample]) -> Verdict:
    kept = samples[len(samples) // 10 :]
    third = max(1, len(kept) // 3)
    first, last = kept[:third], kept[-third:]
    lasting = [before.zombies & after.zombies for before, after in itertools.pairwise(samples)]
    return Verdict(
        (median([one.kilobytes for one in first]), median([one.kilobytes for one in last])),
        (median([one.descriptors for one in first]), median([one.descriptors for one in last])),
        len(frozenset().union(*lasting)),
        (rate(first), rate(last)),
    )


def rate(samples: list[Sample]) -> float:
    elapsed = samples[-1].at - samples[0].at if samples else 0.0
    return (samples[-1].done - samples[0].done) / elapsed if elapsed else 0.0


def median(numbers: list[int]) -> float:
    return statistics.median(numbers) if numbers else 0.0


def sample(root: int) -> Sample:
    """The process and all its descendants, as they are now. One that goes meanwhile counts as gone."""
    members = family(root)
    alive = [pid for pid, state in members.items() if state != "Z"]
    dead = frozenset(pid for pid, state in members.items() if state == "Z")
    return Sample(sum(map(kilobytes, alive)), sum(map(descriptors, alive)), len(alive), dead)


def family(root: int) -> dict[int, str]:
    """Their states, by process."""
    parents, states = {}, {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (fields := text(entry / "stat").rpartition(")")[2].split()):
            states[int(entry.name)], parents[int(entry.name)] = fields[0], int(fields[1])
    members = {root} & set(states)
    while new := {pid for pid, parent in parents.items() if parent in members} - members:
        members |= new
    return {pid: states[pid] for pid in members}


def kilobytes(pid: int) -> int:
    """Its share of what it holds in memory, where the kernel tells; else all of it."""
    for file, name in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        if found := text(PROC / str(pid) / file).partition(name)[2].split():
            return int(found[0])
    return 0


def descriptors(pid: int) -> int:
    try:
        return len(os.listdir(PROC / str(pid) / "fd"))
    except OSError:
        return 0


def text(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
