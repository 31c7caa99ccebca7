"""What else says what a run is about, beside its prompt: a session file, the end of the last run, the repository.

Everything is bounded; what cannot be read says nothing.
"""

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from signoff.domain.settings import MemorySettings, Source
from signoff.files import regular
from signoff.ledger import reading
from signoff.ledger.records import Event, Genesis, Line

LONGEST_SESSION_FILE = 64 * 1024  # bytes
LONGEST_README = 4_000
LARGEST_LEDGER = 16 * 1024 * 1024
RUNS_LOOKED_AT = 10
MOST_NAMES = 60
MOST_ENTRIES = 2_000  # of a directory
_README = ("README.md", "README.rst", "README.txt", "README")


def texts(settings: MemorySettings, workspace: Path, runs: Path, project_id: str, run_id: str) -> Mapping[Source, str]:
    """What each source that is asked for says."""
    wanted = settings.query_sources
    said: dict[Source, str] = {}
    if Source.SESSION_FILE in wanted and settings.session_file:
        said[Source.SESSION_FILE] = _end(Path(settings.session_file), LONGEST_SESSION_FILE)
    if Source.RECENT_OUTPUT in wanted:
        said[Source.RECENT_OUTPUT] = recent_output(runs, project_id, run_id)
    if Source.REPOSITORY in wanted:
        said[Source.REPOSITORY] = repository(workspace)
    return said


def recent_output(runs: Path, project_id: str, run_id: str) -> str:
    """How the last run of this project ended, as its ledger has it: with secrets masked."""
    before = [name for name in reading.names(runs) if name != run_id]
    for name in reversed(before[-RUNS_LOOKED_AT:]):
        try:
            path = reading.find(runs, name)
            if path.stat().st_size > LARGEST_LEDGER:
                continue
            with path.open("rb") as file:
                records = [line.what for line in reading.read(file) if isinstance(line, Line)]
        except OSError:
            continue
        ends = [record.data for record in records if isinstance(record, Event) and record.name == "run.end"]
        if ends and isinstance(records[0], Genesis) and records[0].project_id == project_id:
            return "\n".join(str(ends[-1].get(name, "")) for name in ("stdout_tail", "stderr_tail"))
    return ""


def repository(workspace: Path) -> str:
    """How its README begins, then the names in it, the most recently changed last."""
    readme = next((text for name in _README if (text := _beginning(workspace / name, LONGEST_README))), "")
    return " ".join((readme, *_names(workspace)))


def _names(workspace: Path) -> list[str]:
    found: list[tuple[float, str]] = []
    for place in (workspace, *_directories(workspace)):
        try:
            with os.scandir(place) as entries:
                found += [
                    (entry.stat(follow_symlinks=False).st_mtime, os.path.relpath(entry.path, workspace))
                    for entry in islice(entries, MOST_ENTRIES)
                    if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False)
                ]
        except OSError:
            continue
    return [name for _, name in sorted(found)[-MOST_NAMES:]]


def _directories(workspace: Path) -> list[Path]:
    try:
        with os.scandir(workspace) as entries:
            names = [e.name for e in islice(entries, MOST_ENTRIES) if e.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [workspace / name for name in sorted(names) if not name.startswith(".")][:MOST_NAMES]


def _beginning(path: Path, longest: int) -> str:
    try:
        with open(path, "rb", opener=regular.opener) as file:
            return file.read(longest).decode("utf-8", "replace")
    except OSError:
        return ""


def _end(path: Path, longest: int) -> str:
    try:
        with open(os.path.realpath(path), "rb", opener=regular.opener) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - longest))
            return file.read(longest).decode("utf-8", "replace")
    except OSError:
        return ""
