"""What a project tells its agents: AGENTS.md, CLAUDE.md and GEMINI.md, from the project's root down to here.

The nearest file comes last, and the prompt says that it wins. The same text under two names is read once.
"""

import os
from pathlib import Path

import msgspec

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
            text = _read(folder / name)
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


def _read(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        data = os.read(descriptor, LONGEST + 1)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    text = data[:LONGEST].decode("utf-8", "replace").strip()
    return text + "\n… (cut)" if len(data) > LONGEST else text
