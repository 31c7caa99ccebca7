"""Open the door for a run: rules, reviewer and ledger around a gate. For whoever only judges, as `wrap` does, that is all;
`wiring_gate` equips it with tools, sandboxes and a way back, which take longer to load."""

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from signoff.approvals.case import Rulebook
from signoff.approvals.masked import Masked
from signoff.approvals.review import Reviewer
from signoff.approvals.rulebook import SessionRules
from signoff.approvals.silence import Silence
from signoff.approvals.unattended import Unattended
from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.config import locations
from signoff.config.judging import judging_context
from signoff.config.layers import Configuration
from signoff.config.rules import Places, RuleBook
from signoff.domain.call import ToolCall
from signoff.domain.errors import Exit, NotEnforceable, SignoffError
from signoff.domain.event import RunEvent
from signoff.domain.settings import Audit, PolicySettings
from signoff.gate import Gate, Sandboxes
from signoff.ledger.log import Ledger
from signoff.ledger.redact import Redactor
from signoff.tools.registry import Registry
from signoff.tools.tool import FileAccess, Place

if TYPE_CHECKING:
    from signoff.sandbox.jobs import Jobs
    from signoff.undo.snapshot import Undo


class Run:
    """One stretch of work with one ledger. What stands in `status` at the end is recorded as its exit status."""

    def __init__(self, gate: Gate, ledger: Ledger, equipment: "Equipment") -> None:
        self.gate = gate
        self.registry = equipment.registry
        self.tool_servers = equipment.servers  # async with run.tool_servers(extra): their tools are in the registry
        self.jobs = equipment.jobs
        self.ledger = ledger
        self.file = locations.runs(os.environ) / f"{ledger.run_id}.jsonl"
        self.run_id = ledger.run_id
        self.status: int = Exit.INTERRUPTED

    def call(self, name: str, args: dict[str, Any]) -> ToolCall:
        return ToolCall(f"call-{uuid.uuid4().hex[:12]}", name, "", args, self.run_id, time.time_ns() // 1_000_000)


class NoSandboxes:
    """Of somebody who starts nothing."""

    confined = False

    async def start(self, *_: object) -> Any:
        raise NotEnforceable("this run starts no commands")

    begin = start


def _no_servers(*_: object) -> Any:
    raise NotEnforceable("this run has no tools")


class Equipment(NamedTuple):
    """What a gate acts with."""

    registry: Registry
    sandboxes: Sandboxes
    undo: "Undo | None" = None
    servers: Callable[..., contextlib.AbstractAsyncContextManager[object]] = _no_servers
    jobs: "Jobs | None" = None


Ask = Callable[[str, int], bool]
Judging = Callable[[Rulebook], Rulebook]
Equip = Callable[[Ledger, Ask], AbstractContextManager[Equipment]]


@contextlib.contextmanager
def door(
    output: Output,
    loaded: Configuration,
    command: tuple[str, ...],
    *,
    equip: Equip | None = None,
    reviewer: Reviewer | None = None,
    show: Callable[[RunEvent], None] = lambda event: None,
    guarded: bool = True,
    workspace: Path | None = None,
    files: FileAccess | None = None,
    judging: Judging = lambda rulebook: rulebook,
) -> Iterator[Run]:
    """A run in the workspace (the current directory unless another is given), from its first record to its last.

    Not `guarded`: commands are judged here, but somebody else starts them, outside our sandbox. `judging` may put something
    stricter before the rules.
    """
    settings, workspace = loaded.settings, (workspace or Path.cwd()).resolve()
    context = judging_context(settings, os.environ, workspace, now_ms=0)
    context = msgspec.structs.replace(context, sandbox_available=guarded)
    rules = RuleBook(Places(dict(os.environ), loaded.project, wiring.project_name(loaded)), warn=output.warn)
    ledger = wiring.open_ledger(loaded, command, policy_sha256=rules.sha256, guarded=guarded, workspace=workspace)
    gates: list[Gate] = []  # a proxy asks the gate, and the gate needs the sandboxes that the proxy serves

    def may_connect(host: str, port: int) -> bool:
        return bool(gates) and gates[0].may_connect(host, port)

    run: Run | None = None
    try:
        with contextlib.ExitStack() as stack:
            bare = Equipment(Registry(), NoSandboxes())
            equipment = bare if equip is None else stack.enter_context(equip(ledger, may_connect))
            gate = Gate(
                registry=equipment.registry,
                rulebook=judging(SessionRules(rules, context, audit=settings.policy.audit)),
                reviewer=Masked(
                    reviewer or reviewer_of(output, settings.policy), Redactor(settings.ledger.redact, reversible=False)
                ),
                ledger=ledger,
                sandboxes=equipment.sandboxes,
                place=Place(workspace=str(workspace), home=str(locations.home(os.environ))),
                approval=settings.approval,
                limit_s=settings.policy.decision_timeout_ms / 1_000,
                show=show,
                undo=equipment.undo,
                files=files,
            )
            gates.append(gate)
            run = Run(gate, ledger, equipment)
            yield run
    except SignoffError as error:
        if run is not None:
            run.status = error.exit
        raise
    finally:
        ledger.close(run.status if run else Exit.INTERNAL)


def reviewer_of(output: Output, settings: PolicySettings, silence: Silence | None = None) -> Reviewer:
    """`silence` is shared with whoever writes to the same terminal while a question may stand there."""
    terminal = controlling_terminal() if settings.audit is Audit.PROMPT else None
    if terminal is None:
        return Unattended(settings.default_action, settings.on_ask)
    from signoff.cli.terminal import TerminalReviewer

    return TerminalReviewer.on(terminal, colour=output.colourful(err=True), silence=silence)


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
