"""What a project tells its agents: AGENTS.md, CLAUDE.md and GEMINI.md, from the project's root down to here.

The nearest file comes last, and the prompt says that it wins. The same text under two names is read once. A link is
followed to another page of the project only: an agent may make one, and must not be told what it may not read.
"""

import os
from pathlib import Path

import msgspec

from signoff.files import regular

NAMES = ("GEMINI.md", "CLAUDE.md", "AGENTS.md")  # in one directory the last has the last word
LONGEST = 32 * 1024
_ROOTS = (".git", ".hg", ".signoff")


class Instruction(msgspec.Struct, frozen=True):
    path: str
    text: str


def instructions(directory: Path) -> tuple[Instruction, ...]:
    """Farthest first. A file that cannot be read as text is left out: nothing depends on it."""
    chain = _chain(directory)
    found: dict[str, Instruction] = {}
    for folder in chain:
        for name in NAMES:
            text = _read(folder / name, chain[0])
            if text:
                found.pop(text, None)
                found[text] = Instruction(str(folder / name), text)
    return tuple(found.values())


def _chain(directory: Path) -> tuple[Path, ...]:
    """From the project's root to the directory; only the directory itself where there is no project."""
    above = (directory, *directory.parents)
    for depth, folder in enumerate(above):
        if any((folder / mark).exists() for mark in _ROOTS):
            return tuple(reversed(above[: depth + 1]))
    return (directory,)


def _read(path: Path, root: Path) -> str:
    real = Path(os.path.realpath(path))
    if real.suffix != path.suffix or not real.is_relative_to(os.path.realpath(root)):
        return ""
    try:
        with open(real, "rb", opener=regular.opener) as file:
            data = file.read(LONGEST + 1)
    except OSError:
        return ""
    text = data[:LONGEST].decode("utf-8", "replace").strip()
    return text + "\n… (cut)" if len(data) > LONGEST else text
