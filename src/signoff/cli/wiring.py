"""The one place that puts objects together for a command."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from signoff import __version__
from signoff.cli.output import Output
from signoff.config import locations
from signoff.config.layers import Configuration, load
from signoff.config.project import project_id

if TYPE_CHECKING:
    from signoff.ledger.log import Ledger


def configuration(
    output: Output, flags: Mapping[str, str | None] | None = None, *, workspace: Path | None = None
) -> Configuration:
    """The settings of this call; what did not count is said once, on stderr. Without a workspace: the current directory.

    `flags` are a command's own options that stand for a setting, by its key; None is an option that was not given.
    """
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    loaded = load(os.environ, workspace or Path.cwd(), {**output.flags, **given})
    for warning in loaded.warnings:
        output.warn(warning)
    return loaded


def project_name(loaded: Configuration) -> str:
    return loaded.settings.project_id or project_id(loaded.project)


def open_ledger(
    loaded: Configuration,
    command: tuple[str, ...],
    *,
    policy_sha256: str = "",
    guarded: bool = True,
    workspace: Path | None = None,
) -> "Ledger":
    """A fresh run with its first record. Whoever opens it closes it. Not `guarded`: no sandbox holds what is judged."""
    from signoff.ledger.log import Ledger
    from signoff.ledger.place import load_key, new_run_id
    from signoff.ledger.records import UNGUARDED, Genesis

    machine = os.uname()
    genesis = Genesis(
        command=command,
        workspace=str(workspace or Path.cwd()),
        project_id=project_name(loaded),
        signoff=__version__,
        redact=loaded.settings.ledger.redact,
        policy_sha256=policy_sha256,
        approval=loaded.settings.approval,
        sandbox=loaded.settings.sandbox.mode if guarded else UNGUARDED,
        environment={"python": sys.version.split()[0], "platform": f"{machine.sysname} {machine.machine}"},
    )
    key = load_key(str(locations.state(os.environ)))
    return Ledger.create(str(locations.runs(os.environ)), new_run_id(), genesis, key=key)
