"""read_lints: what the project's own linters say about some files, in one form."""

import asyncio
import json
import os
import shlex
import shutil
from typing import Annotated

import msgspec

from signoff.approvals.request import CommandSubject, Subject
from signoff.domain.call import Artifacts
from signoff.domain.errors import ChildFailed
from signoff.domain.intent import FileRead, Intent, Permission
from signoff.files.ground import Ground, shown, spelled
from signoff.policy.intents import argv_intent
from signoff.sandbox.outcome import Request
from signoff.tools.glob_file_search import files_below
from signoff.tools.linters import LINTERS, Finding, Linter
from signoff.tools.tool import Attempt, Done, Place, Tool

MOST_FINDINGS = 500
TIMEOUT_MS = 120_000
_PLACES = (".venv/bin", "venv/bin", "node_modules/.bin")


class LintArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    paths: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=500)]


class Missing(msgspec.Struct, frozen=True):
    linter: str
    reason: str


class Lints(msgspec.Struct, frozen=True):
    findings: tuple[Finding, ...]
    ran: tuple[str, ...]
    missing: tuple[Missing, ...]
    truncated: bool = False


class ReadLints(Tool[LintArguments]):
    name = "read_lints"
    version = "1.0.0"
    description = (
        "Run the project's linters on files or directories and give their findings in one form. Says which ran."
    )
    permissions = (Permission.FS_READ, Permission.PROC_EXEC)
    side_effects = ("starts the project's linters, which may run code of the project",)
    arguments = LintArguments
    returns = Lints

    def intent(self, arguments: LintArguments, place: Place) -> Intent:
        commands = _commands(arguments, place)[0]
        script = "\n".join(shlex.join(argv) for argv in commands.values()) or "true"
        intent = argv_intent(("bash", "-c", script), cwd=place.workspace, home=place.home, tool=self.name)
        reads = tuple(FileRead(spelled(path, place.workspace)) for path in arguments.paths)
        return msgspec.structs.replace(intent, aspects=(*intent.aspects, *reads))

    def subject(self, arguments: LintArguments, place: Place) -> Subject:
        commands = _commands(arguments, place)[0]
        script = "\n".join(shlex.join(argv) for argv in commands.values())
        return CommandSubject(("bash", "-c", script), place.workspace)

    async def run(self, arguments: LintArguments, attempt: Attempt) -> Done:
        commands, missing = await asyncio.to_thread(_commands, arguments, attempt.place)
        wanted = tuple(spelled(path, attempt.place.workspace) for path in arguments.paths)
        findings: list[Finding] = []
        ran: list[str] = []
        for linter in LINTERS:
            if linter.name not in commands:
                continue
            said = await _said(linter, commands[linter.name], attempt)
            if isinstance(said, Missing):
                missing.append(said)
                continue
            ran.append(linter.name)
            findings += [
                one for one in (_placed(one, attempt.place) for one in said) if _concerns(one, wanted, attempt)
            ]
        kept = tuple(sorted(set(findings)))
        result = Lints(kept[:MOST_FINDINGS], tuple(ran), tuple(missing), len(kept) > MOST_FINDINGS)
        display = "\n".join(f"{one.path}:{one.line}:{one.column}: {one.code} {one.message}" for one in result.findings)
        return Done(
            payload=msgspec.to_builtins(result),
            artifacts=Artifacts(commands_run=tuple(shlex.join(commands[name]) for name in ran)),
            display=display or "no findings",
        )


def _commands(arguments: LintArguments, place: Place) -> tuple[dict[str, tuple[str, ...]], list[Missing]]:
    """What each linter that has something to do would be started with; and who cannot be."""
    paths = [spelled(path, place.workspace) for path in arguments.paths]
    endings = _endings(paths, place)
    commands: dict[str, tuple[str, ...]] = {}
    missing: list[Missing] = []
    for linter in LINTERS:
        if not endings.intersection(linter.endings):
            continue
        program = _program(linter.name, place)
        if program is None:
            missing.append(Missing(linter.name, "not installed"))
        elif linter.configured_by and not _any_file(linter.configured_by, place):
            missing.append(Missing(linter.name, "not configured in this project"))
        else:
            mine = [path for path in paths if os.path.isdir(path) or path.endswith(linter.endings)]
            commands[linter.name] = (program, *linter.options, *(() if linter.whole_project else mine))
    return commands, missing


def _endings(paths: list[str], place: Place) -> set[str]:
    found: set[str] = set()
    with Ground(place.workspace) as ground:
        for path in paths:
            if ground.is_directory(path):
                found.update(os.path.splitext(name)[1] for name in files_below(path, place, None))
            else:
                ground.read(path, limit=1)  # says what is wrong with it
                found.add(os.path.splitext(path)[1])
    return found


def _program(name: str, place: Place) -> str | None:
    local = [os.path.join(place.workspace, directory, name) for directory in _PLACES]
    return next((path for path in local if os.access(path, os.X_OK)), None) or shutil.which(name)


def _any_file(names: tuple[str, ...], place: Place) -> bool:
    return any(os.path.isfile(os.path.join(place.workspace, name)) for name in names)


async def _said(linter: Linter, argv: tuple[str, ...], attempt: Attempt) -> list[Finding] | Missing:
    try:
        outcome = await attempt.start(Request(argv, timeout_ms=TIMEOUT_MS, max_output_bytes=8 << 20))
    except ChildFailed as error:
        return Missing(linter.name, error.message)
    if outcome.timed_out:
        return Missing(linter.name, f"took longer than {TIMEOUT_MS // 1_000} s")
    try:
        found = linter.read(outcome.stdout.text())
    except (json.JSONDecodeError, KeyError, TypeError):
        found = []
    if not found and outcome.status not in (0, 1):
        words = (outcome.stderr.text() or outcome.stdout.text()).strip()
        return Missing(linter.name, f"failed with status {outcome.status}: {words[-300:]}")
    return found


def _placed(one: Finding, place: Place) -> Finding:
    full = os.path.normpath(os.path.join(place.workspace, one.path))
    return msgspec.structs.replace(one, path=shown(full, place.workspace))


def _concerns(one: Finding, wanted: tuple[str, ...], attempt: Attempt) -> bool:
    """A linter may speak about other files of the project; those were not asked about."""
    full = os.path.join(attempt.place.workspace, one.path)
    return any(full == path or full.startswith(f"{path}/") for path in wanted)
