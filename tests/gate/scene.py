"""A gate with everything real but the sandbox and the person, and the history it leaves."""

import asyncio
import pathlib
from collections.abc import Iterable
from typing import Any

import msgspec

from signoff.approvals.case import Rulebook
from signoff.approvals.review import Reviewer
from signoff.approvals.rulebook import SessionRules
from signoff.approvals.scripted import Scripted
from signoff.domain.call import ToolCall, ToolResult
from signoff.domain.context import Context
from signoff.domain.event import RunEvent
from signoff.domain.review import ApprovedExecpolicyAmendment, ReviewDecision
from signoff.domain.settings import ApprovalPolicy, Network, SandboxMode
from signoff.domain.verdict import Decision, Layer, Source
from signoff.gate import Gate, Sandboxes
from signoff.ledger.paper import Disk
from signoff.ledger.records import Line, Record
from signoff.policy.execpolicy.rule import PrefixRule
from signoff.policy.ruleset import Rules
from signoff.sandbox.outcome import Outcome
from signoff.tools.registry import Registry
from signoff.tools.tool import Place, Tool
from tests.fakes.sandboxes import FINE, FakeSandboxes
from tests.ledger.books import open_ledger

WORKSPACE = "/data/space"
HOME = "/home/ada"


def rule(decision: Decision, *words: str, why: str | None = None) -> PrefixRule:
    return PrefixRule(tuple((word,) for word in words), decision, Source(Layer.USER), justification=why)


class MemoryFiles:
    """Rule files that live in memory; `error` makes keeping a rule fail."""

    def __init__(self, *rules: PrefixRule, error: Exception | None = None) -> None:
        self.rules = Rules(tuple(rules))
        self.kept: list[ApprovedExecpolicyAmendment] = []
        self.error = error

    def current(self) -> Rules:
        return self.rules

    def amend(self, amendment: ApprovedExecpolicyAmendment) -> None:
        if self.error is not None:
            raise self.error
        self.kept.append(amendment)
        self.rules = self.rules.extended([rule(Decision.ALLOW, *amendment.proposed_execpolicy_amendment)])


class Scene:
    def __init__(
        self,
        directory: pathlib.Path,
        *,
        approval: ApprovalPolicy = ApprovalPolicy.ON_REQUEST,
        sandbox: SandboxMode = SandboxMode.WORKSPACE_WRITE,
        network: Network = Network.OFF,
        rules: Iterable[PrefixRule] = (),
        answers: Iterable[ReviewDecision] = (),
        reviewer: Reviewer | None = None,
        outcomes: Iterable[Outcome] = (FINE,),
        save_error: Exception | None = None,
        tools: Iterable[Tool[Any]] = (),
        rulebook: Rulebook | None = None,
        sandboxes: Sandboxes | None = None,
        place: Place | None = None,
        disk: Disk | None = None,
        limit_s: float = 60.0,
    ) -> None:
        self.files = MemoryFiles(*rules, error=save_error)
        self.person = Scripted(answers)
        self.confined = sandbox in (SandboxMode.READ_ONLY, SandboxMode.WORKSPACE_WRITE)
        self.sandboxes = FakeSandboxes(outcomes, confined=self.confined)
        self.ledger = open_ledger(directory, disk=disk)
        self.path = directory / f"{self.ledger.run_id}.jsonl"
        self.events: list[RunEvent] = []
        registry = Registry()
        for tool in tools:
            registry.add(tool)
        self.gate = Gate(
            registry=registry,
            rulebook=rulebook
            or SessionRules(
                self.files,
                Context(workspace=WORKSPACE, home=HOME, approval=approval, sandbox=sandbox, network=network),
            ),
            reviewer=reviewer or self.person,
            ledger=self.ledger,
            sandboxes=sandboxes or self.sandboxes,
            place=place or Place(workspace=WORKSPACE, home=HOME),
            approval=approval,
            limit_s=limit_s,
            show=self.events.append,
        )
        self._calls = 0
        self.current = ""  # the call that was made last

    def command(self, command: str, **arguments: Any) -> ToolCall:
        return self.call("run_terminal_cmd", {"command": command, **arguments})

    def call(self, name: str, args: dict[str, Any], version: str = "") -> ToolCall:
        self._calls += 1
        self.current = f"call-{self._calls}"
        return ToolCall(self.current, name, version, args, "turn-1", 0)

    def run(self, command: str, **arguments: Any) -> ToolResult:
        return self.go(self.command(command, **arguments))

    def go(self, call: ToolCall) -> ToolResult:
        return asyncio.run(self.gate.call(call))

    def shown(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def history(self) -> list[Record]:
        """Everything on disk, after the run."""
        self.ledger.close()
        lines = self.path.read_bytes().splitlines()
        return [msgspec.json.decode(line, type=Line).what for line in lines]
