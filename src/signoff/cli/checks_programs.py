"""Checks about other programs: the shell and PATH, git, the searcher."""

import os
import re
import shutil
from pathlib import Path

from signoff.cli.finding import Finding, Surroundings, fail, ok, warn
from signoff.config.project import find_project
from signoff.domain.errors import SignoffError
from signoff.sandbox.child import Stream, start
from signoff.tools import ripgrep

OLDEST_GIT = (2, 35, 2)  # the first that does not obey repositories of other users
OLDEST_RIPGREP = (13, 0)
LIMIT_S = 10.0


def path(here: Surroundings) -> Finding:
    if which("bash", here) is None:
        fix = "Install bash, or put its directory into PATH."
        return fail("path.no_shell", "there is no bash in PATH", f"PATH is {here.environ.get('PATH') or 'empty'}", fix)
    places = here.environ.get("PATH", "").split(os.pathsep)
    odd = [place or "(empty)" for place in places if not place.startswith("/")]
    if odd:
        fix = "Take out of PATH what is not absolute: it names programs in whatever directory an agent works in."
        return warn("path.relative", "PATH depends on the current directory", ", ".join(odd), fix)
    return ok("commands find a shell", which("bash", here))


def git(here: Surroundings) -> Finding:
    fix = f"Install git {'.'.join(map(str, OLDEST_GIT))} or newer."
    program = which("git", here)
    if program is None:
        return warn("git.missing", "git is not installed", "Agents cannot work with repositories.", fix)
    found = version(program, here)
    if found is None:
        return warn("git.broken", "git does not start", program, fix)
    if found < OLDEST_GIT:
        detail = "It runs what repositories of other users say."
        return warn("git.old", f"git {dotted(found)} is old", detail, fix)
    return ok(f"git {dotted(found)}", program)


def search(here: Surroundings) -> Finding:
    program = ripgrep.bundled() or which("rg", here)
    slower = "The tool grep uses a slower searcher of its own."
    if program is None:
        return warn("search.missing", "ripgrep is not installed", slower, "Install ripgrep.")
    found = version(program, here)
    if found is None:
        return warn("search.broken", "ripgrep does not start", program, "Install ripgrep anew.")
    if found < OLDEST_RIPGREP:
        return warn("search.old", f"ripgrep {dotted(found)} is too old", program, "Install ripgrep 13 or newer.")
    return ok(f"ripgrep {dotted(found)}", program)


def which(program: str, here: Surroundings) -> str | None:
    """Not from the project: what an agent put there is not started outside the sandbox to ask for its version."""
    project = find_project(here.environ, here.directory)
    places = [Path(place) for place in here.environ.get("PATH", "").split(os.pathsep) if place.startswith("/")]
    if project != Path(here.environ.get("HOME", "/")).resolve():
        places = [place for place in places if not place.resolve().is_relative_to(project)]
    return shutil.which(program, path=os.pathsep.join(map(str, places)))


def version(program: str, here: Surroundings) -> tuple[int, ...] | None:
    """The first number with a dot that `program --version` prints; None where it prints none in time."""
    try:
        with start(
            [program, "--version"], environ=here.environ, cwd="/", stdin=Stream.NULL, stderr=Stream.NULL
        ) as child:
            ended = child.wait(LIMIT_S)
            said = os.read(child.stdout, 4096) if ended == 0 and child.stdout is not None else b""
    except (SignoffError, OSError):
        return None
    number = re.search(rb"\d+(\.\d+)+", said)
    return tuple(map(int, number[0].split(b"."))) if number else None


def dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
