"""Which project a directory belongs to, and what that project is called."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from signoff.config.locations import PROJECT_FOLDER, Environment
from signoff.domain.late import late

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = late("hashlib")

_READABLE_LENGTH = 48


def find_project(environ: Environment, directory: Path) -> Path:
    """The nearest directory upwards with a `.signoff` or a `.git`; else the directory itself.

    The home directory is a project only for whoever stands in it: a repository of dotfiles is not around everything.
    """
    home = Path(environ["HOME"]).resolve() if environ.get("HOME") else None
    start = directory.resolve()
    for candidate in (start, *start.parents):
        if candidate != start and (candidate == home or candidate.parent == candidate):
            break
        if any((candidate / mark).exists() for mark in (PROJECT_FOLDER, ".git")):
            return candidate
    return start


def project_id(root: Path) -> str:
    """A name for the project at this path: readable, and different for every path, since grants hang on it."""
    path = str(root.resolve())
    readable = re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-")[-_READABLE_LENGTH:].strip("-")
    return f"{readable or 'root'}-{hashlib.sha256(path.encode(errors='surrogateescape')).hexdigest()[:12]}"
