"""Put a gate together from the configuration: rules, reviewer, sandboxes, ledger. Apart from `wiring`, because it imports
all of them."""

import contextlib
import functools
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.approvals.masked import Masked
from signoff.approvals.review import Reviewer
from signoff.approvals.rulebook import SessionRules
from signoff.approvals.unattended import Unattended
from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.cli.wiring_servers import tool_servers
from signoff.config import locations
from signoff.config.judging import judging_context
from signoff.config.layers import Configuration
from signoff.config.rules import Places, RuleBook
from signoff.domain.call import ToolCall
from signoff.domain.errors import Exit
from signoff.domain.event import RunEvent
from signoff.domain.settings import Audit, Network, PolicySettings
from signoff.gate import Gate, Sandboxes
from signoff.ledger.log import Ledger
from signoff.ledger.records import Event
from signoff.ledger.redact import Redactor
from signoff.sandbox.jobs import Jobs
from signoff.sandbox.plan import protected_names
from signoff.sandbox.profile import resolve
from signoff.sandbox.session import Attach
from signoff.sandbox.sessions import Sessions
from signoff.tools.jobs import job_tools
from signoff.tools.registry import Registry
from signoff.tools.tool import FileAccess, Place, Tool
from signoff.tools.undo import UndoCall
from signoff.undo.snapshot import Undo

if TYPE_CHECKING:
    from signoff.sandbox.proxy import Connection
    from signoff.tools.mcp_servers import McpServers


class Run:
    """One stretch of work with one ledger. What stands in `status` at the end is recorded as its exit status."""

    def __init__(
        self,
        gate: Gate,
        ledger: Ledger,
        file: Path,
        registry: Registry,
        servers: "Callable[..., McpServers]",
        jobs: Jobs,
    ) -> None:
        self.gate = gate
        self.registry = registry
        self.tool_servers = servers  # async with run.tool_servers(extra): their tools are in the registry
        self.ledger = ledger
        self.file = file
        self.jobs = jobs
        self.run_id = ledger.run_id
        self.status: int = Exit.INTERRUPTED

    def call(self, name: str, args: dict[str, Any]) -> ToolCall:
        return ToolCall(f"call-{uuid.uuid4().hex[:12]}", name, "", args, self.run_id, time.time_ns() // 1_000_000)


@contextlib.contextmanager
def opened(
    output: Output,
    loaded: Configuration,
    command: tuple[str, ...],
    *,
    tools: Iterable[Tool[Any]] = (),
    reviewer: Reviewer | None = None,
    show: Callable[[RunEvent], None] = lambda event: None,
    guarded: bool = True,
    workspace: Path | None = None,
    files: FileAccess | None = None,
    elsewhere: Sandboxes | None = None,
) -> Iterator[Run]:
    """A run in the workspace (the current directory unless another is given), from its first record to its last. Not
    `guarded`: commands are judged here, but somebody else starts them, outside our sandbox; `elsewhere` is how."""
    settings, workspace = loaded.settings, (workspace or Path.cwd()).resolve()
    context = judging_context(settings, os.environ, workspace, now_ms=0)
    context = msgspec.structs.replace(context, sandbox_available=guarded)
    rules = RuleBook(Places(dict(os.environ), loaded.project, wiring.project_name(loaded)), warn=output.warn)
    profile = resolve(settings.sandbox, str(workspace))
    ledger = wiring.open_ledger(loaded, command, policy_sha256=rules.sha256, guarded=guarded, workspace=workspace)
    placeheld = protected_names(profile, str(locations.home(os.environ)))
    undo = Undo(str(locations.undo(os.environ)), str(workspace), ledger.run_id, placeheld)
    registry = Registry()
    for tool in (UndoCall(undo), *tools):
        registry.add(tool)
    registry.later("codebase_search", _codebase_search)
    registry.later("update_memory", lambda: _update_memory(loaded, ledger.run_id))
    run: Run | None = None
    try:
        doors: list[Gate] = []  # the proxy asks the gate, and the gate needs the sandboxes that the proxy serves
        attach = _attach(doors, ledger) if settings.sandbox.network is Network.LIMITED else None
        with Sessions(profile, os.environ, attach=attach) as sandboxes:
            for tool in job_tools(sandboxes.jobs):
                registry.add(tool)
            gate = Gate(
                registry=registry,
                rulebook=SessionRules(rules, context, audit=settings.policy.audit),
                reviewer=Masked(
                    reviewer or reviewer_of(output, settings.policy), Redactor(settings.ledger.redact, reversible=False)
                ),
                ledger=ledger,
                sandboxes=elsewhere or sandboxes,
                place=Place(workspace=str(workspace), home=str(locations.home(os.environ))),
                approval=settings.approval,
                limit_s=settings.policy.decision_timeout_ms / 1_000,
                show=show,
                undo=undo,
                files=files,
            )
            doors.append(gate)
            servers = functools.partial(tool_servers, loaded, registry, str(workspace), output.warn)
            file = locations.runs(os.environ) / f"{ledger.run_id}.jsonl"
            run = Run(gate, ledger, file, registry, servers, sandboxes.jobs)
            yield run
    finally:
        ledger.close(run.status if run else Exit.INTERNAL)


def _codebase_search() -> Tool[Any]:
    from signoff.tools.codebase_search import CodebaseSearch

    return CodebaseSearch(str(locations.cache(os.environ) / "search"))


def _update_memory(loaded: Configuration, run_id: str) -> Tool[Any]:
    """On the embedded memory, unless memory is switched off or lives elsewhere."""
    from signoff.memory.embedded import Embedded
    from signoff.memory.interface import Memory, NoMemory
    from signoff.tools.update_memory import UpdateMemory

    @functools.cache
    def memory() -> Memory:
        settings = loaded.settings.memory
        return Embedded(locations.memory_database(os.environ)) if settings.enabled and not settings.url else NoMemory()

    return UpdateMemory(memory, wiring.project_name(loaded), run_id)


def _attach(doors: list[Gate], ledger: Ledger) -> Attach:
    """Commands reach what the gate clears, host by host, and every connection is recorded."""
    from signoff.sandbox.limited import through_proxy

    def record(connection: "Connection") -> None:
        ledger.submit(Event("network.connection", msgspec.to_builtins(connection)))

    return through_proxy(lambda host, port: bool(doors) and doors[0].may_connect(host, port), record)


def reviewer_of(output: Output, settings: PolicySettings) -> Reviewer:
    terminal = controlling_terminal() if settings.audit is Audit.PROMPT else None
    if terminal is None:
        return Unattended(settings.default_action, settings.on_ask)
    from signoff.cli.terminal import TerminalReviewer

    return TerminalReviewer.on(terminal, colour=output.colourful(err=True))


def controlling_terminal() -> int | None:
    """A descriptor of the terminal we are in front of; None where there is none, or where we run in its background."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    if os.tcgetpgrp(terminal) != os.getpgrp():
        os.close(terminal)
        return None
    return terminal
