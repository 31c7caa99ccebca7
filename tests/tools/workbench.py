"""A real directory, a real gate, real tools; nobody asked unless a test brings a person."""

import asyncio
import os
import pathlib
from collections.abc import Iterable
from typing import Any

from signoff.approvals.rulebook import SessionRules
from signoff.approvals.scripted import Scripted
from signoff.domain.call import ToolCall, ToolResult
from signoff.domain.context import Context
from signoff.domain.event import RunEvent
from signoff.domain.review import ReviewDecision
from signoff.domain.settings import ApprovalPolicy, Network, SandboxMode
from signoff.gate import Gate, Sandboxes
from signoff.tools.registry import Registry
from signoff.tools.tool import FileAccess, Place, Tool
from signoff.tools.undo import UndoCall
from signoff.undo.snapshot import Undo
from tests.fakes.sandboxes import FakeSandboxes
from tests.gate.scene import MemoryFiles
from tests.ledger.books import open_ledger


class Workbench:
    def __init__(
        self,
        directory: pathlib.Path,
        *,
        approval: ApprovalPolicy = ApprovalPolicy.ON_REQUEST,
        sandbox: SandboxMode = SandboxMode.WORKSPACE_WRITE,
        answers: Iterable[ReviewDecision] = (),
        tools: Iterable[Tool[Any]] = (),
        sandboxes: Sandboxes | None = None,
        network: Network = Network.OFF,
        files: FileAccess | None = None,
    ) -> None:
        self.workspace = directory / "space"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.home = directory / "home"
        self.home.mkdir(exist_ok=True)
        self.undo = directory / "undo"
        undo = Undo(str(self.undo), str(self.workspace), "run-1")
        self.person = Scripted(answers)
        self.events: list[RunEvent] = []
        self.ledger = open_ledger(directory / "runs")
        self.place = Place(str(self.workspace), str(self.home))
        self.registry = Registry()
        for tool in (UndoCall(undo), *tools):
            self.registry.add(tool)
        context = Context(
            workspace=str(self.workspace), home=str(self.home), approval=approval, sandbox=sandbox, network=network
        )
        self.sandboxes = FakeSandboxes()
        self.gate = Gate(
            registry=self.registry,
            rulebook=SessionRules(MemoryFiles(), context),
            reviewer=self.person,
            ledger=self.ledger,
            sandboxes=sandboxes or self.sandboxes,
            place=self.place,
            approval=approval,
            show=self.events.append,
            undo=undo,
            files=files,
        )
        self._calls = 0

    def call(self, name: str, version: str = "", /, **args: Any) -> ToolResult:
        self._calls += 1
        call = ToolCall(f"call-{self._calls}", name, version, args, "turn-1", 0)
        return asyncio.run(self.gate.call(call))

    def patch(self, text: str, **args: Any) -> ToolResult:
        return self.call("apply_patch", patch_text=text, **args)

    def put(self, **files: str | bytes) -> None:
        """put(a__py="…") writes a.py; for other names use `workspace`."""
        for name, content in files.items():
            write(self.workspace / name.replace("__", "."), content)

    def tree(self) -> dict[str, bytes]:
        return tree(self.workspace)


def write(path: pathlib.Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def tree(directory: pathlib.Path) -> dict[str, bytes]:
    """Every name below, with content; directories end in a slash, links show where they point."""
    found: dict[str, bytes] = {}
    for above, directories, files in os.walk(directory):
        for name in directories + files:
            path = pathlib.Path(above) / name
            key = str(path.relative_to(directory))
            if path.is_symlink():
                found[key] = b"-> " + os.fsencode(path.readlink())
            elif path.is_dir():
                found[f"{key}/"] = b""
            else:
                found[key] = path.read_bytes()
    return found
