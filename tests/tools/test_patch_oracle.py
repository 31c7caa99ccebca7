"""Our apply_patch against the program its marked form comes from, where that is at hand (`make oracle` fetches it).

Where the two are meant to differ, nothing is generated: a change that fits two places (theirs takes the first, ours refuses), a
file without a final newline (theirs adds one), a failure half-way (theirs leaves what it has done). A line that is kept and was
seen a little wrong gets the spelling of the patch from theirs, and keeps its own with ours: those are compared by their words.
"""

import os
import pathlib
import random
import subprocess
import tempfile

import pytest

from signoff.domain.errors import SignoffError
from signoff.files.ground import Ground
from signoff.tools.edits import carry_out, planned
from signoff.tools.patch_unified import parse_patch
from signoff.tools.tool import Place
from tests.policy.test_oracle import NOBODY, ORACLE
from tests.tools.workbench import tree

PATCHES = 40

pytestmark = pytest.mark.skipif(not ORACLE.exists(), reason=f"{ORACLE} is not here; `make oracle` fetches it")


def ask(folder: pathlib.Path, patch: str) -> bool:
    """Does theirs take it? As an unprivileged user where we can choose one."""
    own = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    with ORACLE.open("rb") as program:
        ended = subprocess.run(
            ["apply_patch", patch],
            executable=f"/proc/self/fd/{program.fileno()}",
            pass_fds=[program.fileno()],
            cwd=folder,
            env={"HOME": str(folder), "CODEX_HOME": str(folder), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            timeout=60,
            check=False,
            **own,  # type: ignore[call-overload]
        )
    return bool(ended.returncode == 0)


def ours(folder: pathlib.Path, patch: str) -> bool:
    place = Place(str(folder), "/nowhere")
    try:
        with Ground(place.workspace) as ground:
            carry_out(planned(parse_patch(patch), ground, place), ground)
    except SignoffError:
        return False
    return True


def written(choice: random.Random, lines: list[str]) -> str:
    """A patch of one file: some places with their neighbours, now and then seen a little wrong."""
    said = ["*** Begin Patch", "*** Update File: f"]
    at = 0
    while at < len(lines) - 4 and choice.random() < 0.8:
        at += choice.randint(0, 4)
        kept, gone = choice.randint(1, 2), choice.randint(0, 2)
        if at + kept + gone > len(lines):
            break
        said.append("@@" if choice.random() < 0.7 or at == 0 else f"@@ {lines[at - 1]}")
        said += [f" {_seen(choice, line)}" for line in lines[at : at + kept]]
        said += [f"-{_seen(choice, line)}" for line in lines[at + kept : at + kept + gone]]
        said += [f"+new {choice.randint(0, 99)}" for _ in range(choice.randint(0 if gone else 1, 2))]
        at += kept + gone
    if choice.random() < 0.3 or len(said) == 2:
        said = said if len(said) > 2 else said[:1]
        said += ["*** Add File: g", "+added", "+twice"]
    return "\n".join([*said, "*** End Patch"])


def _seen(choice: random.Random, line: str) -> str:
    """Exactly, with blanks at the end, with other blanks before, with plain dashes, or wrongly."""
    kind = choice.random()
    if kind < 0.8:
        return line
    return choice.choice([f"{line}  ", f"  {line.strip()}", line.replace("–", "-"), f"{line}?"])


def _exact(patch: str, lines: list[str]) -> bool:
    """Was every line of the file seen as it is?"""
    return all(line[1:] in lines for line in patch.split("\n") if line[:1] in (" ", "-"))


def _words(text: str) -> str:
    return "\n".join(line.strip().replace("–", "-") for line in text.split("\n"))


def test_both_take_the_same_patches_and_leave_the_same_bytes() -> None:
    choice = random.Random(7)
    taken = 0
    for _ in range(PATCHES):
        lines = [f"{' ' * choice.randint(0, 3)}line {n} – {choice.randint(0, 9)}" for n in range(choice.randint(5, 20))]
        patch = written(choice, lines)
        with tempfile.TemporaryDirectory() as name:
            sides = [pathlib.Path(name) / side for side in ("theirs", "ours")]
            for side in sides:
                side.mkdir()
                (side / "f").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            for place in (pathlib.Path(name), *sides, sides[0] / "f"):
                place.chmod(0o777)
            theirs = ask(sides[0], patch)
            assert (theirs, ours(sides[1], patch)) == (theirs, theirs), patch
            if theirs:
                taken += 1
                found = [tree(side) for side in sides]
                assert found[0].keys() >= found[1].keys(), patch
                kept = str if _exact(patch, lines) else _words
                for path, data in found[1].items():
                    assert kept(found[0][path].decode()) == kept(data.decode()), patch
    assert taken > PATCHES // 4
