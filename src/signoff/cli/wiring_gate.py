"""A door with hands: tools, sandboxes, background jobs, tool servers, and a way back."""

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.approvals.review import Reviewer
from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.cli.wiring_door import Ask, Equipment, Judging, Run, door
from signoff.cli.wiring_servers import tool_servers
from signoff.config import locations
from signoff.config.layers import Configuration
from signoff.domain.event import RunEvent
from signoff.domain.settings import Network
from signoff.gate import Sandboxes
from signoff.ledger.log import Ledger
from signoff.ledger.records import Event
from signoff.sandbox.plan import protected_names
from signoff.sandbox.profile import Profile, resolve
from signoff.sandbox.session import Attach
from signoff.sandbox.sessions import Sessions
from signoff.tools.jobs import job_tools
from signoff.tools.registry import Registry
from signoff.tools.ripgrep import bundled
from signoff.tools.tool import FileAccess, Tool
from signoff.tools.undo import UndoCall
from signoff.undo.prune import Bounds
from signoff.undo.snapshot import Undo

if TYPE_CHECKING:
    from signoff.sandbox.proxy import Connection


def opened(
    output: Output,
    loaded: Configuration,
    command: tuple[str, ...],
    *,
    tools: Iterable[Tool[Any]] = (),
    reviewer: Reviewer | None = None,
    show: Callable[[RunEvent], None] = lambda event: None,
    workspace: Path | None = None,
    files: FileAccess | None = None,
    elsewhere: Sandboxes | None = None,
    judging: Judging = lambda rulebook: rulebook,
) -> contextlib.AbstractContextManager[Run]:
    """A run that can act, in the workspace (the current directory unless another is given). `elsewhere`: how somebody else
    starts its commands, outside our sandbox."""
    directory = str((workspace or Path.cwd()).resolve())
    equip = functools.partial(_equipped, output, loaded, directory, tuple(tools), elsewhere)
    return door(
        output,
        loaded,
        command,
        equip=equip,
        reviewer=reviewer,
        show=show,
        guarded=elsewhere is None,
        workspace=workspace,
        files=files,
        judging=judging,
    )


@contextlib.contextmanager
def _equipped(
    output: Output,
    loaded: Configuration,
    workspace: str,
    tools: tuple[Tool[Any], ...],
    elsewhere: Sandboxes | None,
    ledger: Ledger,
    ask: Ask,
) -> Iterator[Equipment]:
    settings = loaded.settings
    profile = _with_ripgrep(resolve(settings.sandbox, workspace))
    placeheld = protected_names(profile, str(locations.home(os.environ)))
    bounds = Bounds(settings.undo.max_bytes, settings.undo.keep_days)
    undo = Undo(str(locations.undo(os.environ)), workspace, ledger.run_id, placeheld, bounds=bounds)
    registry = Registry()
    for tool in (UndoCall(undo), *tools):
        registry.add(tool)
    registry.later("codebase_search", _codebase_search)
    closing = contextlib.ExitStack()
    registry.later("update_memory", lambda: _update_memory(loaded, ledger.run_id, closing))
    attach = _attach(ask, ledger) if settings.sandbox.network is Network.LIMITED else None
    with closing, Sessions(profile, os.environ, attach=attach, say=output.warn) as sandboxes:
        for tool in job_tools(sandboxes.jobs):
            registry.add(tool)
        servers = functools.partial(tool_servers, loaded, registry, workspace, output.warn)
        yield Equipment(registry, elsewhere or sandboxes, undo, servers, sandboxes.jobs)


def _with_ripgrep(profile: Profile) -> Profile:
    """grep runs in the sandbox like any command, and the program it runs is ours."""
    program = bundled()
    return profile if program is None else msgspec.structs.replace(profile, readable=(*profile.readable, program))


def _codebase_search() -> Tool[Any]:
    from signoff.tools.codebase_search import CodebaseSearch

    return CodebaseSearch(str(locations.cache(os.environ) / "search"))


def _update_memory(loaded: Configuration, run_id: str, closing: contextlib.ExitStack) -> Tool[Any]:
    """On the memory that is configured, in a file or remote, unless memory is switched off."""
    from signoff.cli.wiring_memory import open_memory
    from signoff.memory.interface import Memory, NoMemory
    from signoff.tools.update_memory import UpdateMemory

    @functools.cache
    def memory() -> Memory:
        settings = loaded.settings.memory
        found = open_memory(settings) if settings.enabled else NoMemory()
        closing.callback(found.close)
        return found

    return UpdateMemory(memory, wiring.project_name(loaded), run_id)


def _attach(ask: Ask, ledger: Ledger) -> Attach:
    """Commands reach what the gate clears, host by host, and every connection is recorded."""
    from signoff.sandbox.limited import through_proxy

    def record(connection: "Connection") -> None:
        ledger.submit(Event("network.connection", msgspec.to_builtins(connection)))

    return through_proxy(ask, record)
