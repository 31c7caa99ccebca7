"""What changing files through a tool costs: a patch of a thousand files, and the snapshot before a call that touches ten."""

import os
import tempfile
from pathlib import Path

from benchmarks.figure import Figure, at_most, medians
from signoff.files.ground import Ground
from signoff.tools.edits import carry_out, planned
from signoff.tools.patch_unified import parse_patch
from signoff.tools.tool import Place
from signoff.undo.snapshot import Undo

FILES, TREE, TOUCHED = 1_000, 100_000, 10
PATCH_BAR, SNAPSHOT_BAR = 3.0, 1.5
LINES = "".join(f"line {number}\n" for number in range(100))


def measure() -> list[Figure]:
    return [_patch(), _snapshot()]


def _patch() -> Figure:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        top = Path(name).resolve()
        for number in range(FILES):
            (top / f"f{number}").write_text(LINES)
        (top / "copies").mkdir()
        there, back = _patch_text("line 50", "other 50"), _patch_text("other 50", "line 50")
        turns = [there, back]

        def apply() -> None:
            place = Place(str(top), str(top))
            with Ground(place.workspace) as ground:
                carry_out(planned(parse_patch(turns[0]), ground, place), ground)
            turns.reverse()

        seconds = medians({"patch": apply, "copy": lambda: _copy(top)}, rounds=3)
    ratio = seconds["patch"] / seconds["copy"]
    return at_most(f"apply_patch of {FILES} files", ratio, PATCH_BAR, reference="copying them, an fsync each")


def _patch_text(old: str, new: str) -> str:
    files = (f"*** Update File: f{number}\n@@\n line 49\n-{old}\n+{new}\n line 51\n" for number in range(FILES))
    return "*** Begin Patch\n" + "".join(files) + "*** End Patch\n"


def _copy(top: Path) -> None:
    for number in range(FILES):
        with (top / "copies" / f"f{number}").open("wb") as copy:
            copy.write((top / f"f{number}").read_bytes())
            copy.flush()
            os.fsync(copy.fileno())


def _snapshot() -> Figure:
    """The same call in a small tree and in a large one."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        top = Path(name).resolve()
        for side, count in (("small", TOUCHED), ("large", TREE)):
            for number in range(count):
                file = top / side / f"{number // 1_000}" / f"f{number}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(LINES if number < TOUCHED else "")

        def save(side: str) -> None:
            undo = Undo(str(top / "undo" / side), str(top / side), "run")
            undo.before("call", "tool", [str(top / side / "0" / f"f{number}") for number in range(TOUCHED)]).after()

        seconds = medians({"large": lambda: save("large"), "small": lambda: save("small")}, rounds=15)
    ratio = seconds["large"] / seconds["small"]
    return at_most(
        f"snapshot of {TOUCHED} files among {TREE:,}", ratio, SNAPSHOT_BAR, reference=f"the same among {TOUCHED}"
    )
