"""What the sandbox really enforces on this machine, found by starting one, and what it leaves open."""

import tempfile
from collections.abc import Mapping

import msgspec

from signoff.sandbox.inside import landlock
from signoff.sandbox.outcome import Backend, Request, Strength
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Session

_ON_THE_FLOOR = (
    "protected paths such as .git/hooks can be changed in a writable root",
    "modes, owners and times of files outside can be changed where the user may",
    "processes of the same user are visible",
    "files such as .env in the workspace can be read",
)


class Enforcement(msgspec.Struct, frozen=True):
    backend: Backend
    strength: Strength
    open: tuple[str, ...]  # what is not enforced here, one sentence each


def examine(environ: Mapping[str, str]) -> Enforcement:
    """Raises NotEnforceable, with the reason of every backend, where no sandbox is possible."""
    with tempfile.TemporaryDirectory() as workspace, Session(Profile(workspace=workspace), environ) as session:
        session.run(Request(("/bin/sh", "-c", ":")))
        found = session.backend
        identity = session.identity
    level = landlock.level()
    leaves = [f"Landlock is at level {level}: {sentence}" for sentence in landlock.missing(level)]
    if found is Backend.LANDLOCK:
        leaves = [*_ON_THE_FLOOR, *leaves]
    if identity.root:
        leaves.append("commands keep root's id, without its capabilities: the file system cannot map owners")
    return Enforcement(found, session.strength, tuple(leaves))
