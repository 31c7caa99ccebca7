"""What a run says about the answers it used: exit codes, test runs, tool outcomes. Words like "ok" say nothing. Pure."""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from signoff.ledger.records import Event, Record, Request, Result
from signoff.memory.interface import Strength

_RUNNERS = frozenset(
    "pytest tox nox unittest jest vitest mocha ctest phpunit rspec tsc mypy ruff eslint gcc g++ clang javac".split()
)
_SUBCOMMANDS = frozenset("test tests check build compile vet clippy lint verify ci typecheck".split())
_BUILDERS = frozenset(
    "make just cargo go npm pnpm yarn bun gradle gradlew mvn dotnet bazel ninja cmake mix swift zig uv poetry hatch".split()
)
_SEPARATOR = re.compile(r"&&|\|\||[;\n|]")


class Step(msgspec.Struct, frozen=True):
    """One finished tool call."""

    tool_call_id: str
    tool: str
    ok: bool
    command: str = ""
    files: tuple[str, ...] = ()
    error: str = ""

    @property
    def proves(self) -> bool:
        """Does its outcome say whether the work is right? Tests, builds and checks do."""
        return any(_proves(part) for part in _SEPARATOR.split(self.command))


class Observed(msgspec.Struct, frozen=True):
    """A run as it looks from outside when it is over."""

    exit_code: int
    stdout: str = ""  # the last of it
    stderr: str = ""
    steps: tuple[Step, ...] = ()
    run_id: str = ""
    duration_ms: int = 0


class Signals(msgspec.Struct, frozen=True):
    exit_code: int
    calls: int = 0
    failed_calls: int = 0
    last_proof: bool | None = None  # how the last test, build or check ended; None: there was none
    unrecovered: tuple[str, ...] = ()  # tools whose last call failed


def steps(records: Iterable[Record]) -> tuple[Step, ...]:
    """The calls of a run that have a result, in the order of their results."""
    asked: dict[str, Any] = {}
    exits: dict[str, Any] = {}
    found: list[Step] = []
    for record in records:
        if isinstance(record, Request):
            asked[record.tool_call_id] = record.args
        elif isinstance(record, Event) and record.name == "tool.exit":
            exits[record.tool_call_id] = record.data.get("exit_code")
        elif isinstance(record, Result):
            commands = "; ".join(record.artifacts.commands_run)
            exit_code = exits.pop(record.tool_call_id, 0)
            error = record.error.message if record.error else f"exit code {exit_code}" if exit_code else ""
            found.append(
                Step(
                    tool_call_id=record.tool_call_id,
                    tool=record.name,
                    ok=record.ok and not exit_code,
                    command=commands or command_in(record.args) or command_in(asked.get(record.tool_call_id)),
                    files=record.artifacts.files_changed,
                    error=error,
                )
            )
    return tuple(found)


def command_in(args: Any) -> str:
    """The command line in the arguments of a call, however its tool calls it."""
    if not isinstance(args, dict):
        return ""
    for name in ("command", "cmd", "argv", "script"):
        match args.get(name):
            case str(line):
                return line
            case list(words) if words and all(isinstance(word, str) for word in words):
                return words[2] if words[1:2] in (["-c"], ["-lc"]) and len(words) > 2 else shlex.join(words)
    return ""


def signals(run: Observed) -> Signals:
    last: dict[str, bool] = {}
    for step in run.steps:
        last[f"{step.tool} {step.command.split(' ', 1)[0]}".strip()] = step.ok
    proofs = [step.ok for step in run.steps if step.proves]
    return Signals(
        exit_code=run.exit_code,
        calls=len(run.steps),
        failed_calls=sum(not step.ok for step in run.steps),
        last_proof=proofs[-1] if proofs else None,
        unrecovered=tuple(name for name, ok in last.items() if not ok),
    )


def strength(signals: Signals, used: Sequence[str]) -> Strength:
    """How much the end of this run says. A test that passed or failed says most; a mere exit code says little."""
    if signals.exit_code == 0:
        if signals.last_proof and not signals.unrecovered:
            return "strong" if used else "medium"
        return "medium" if used and signals.calls and not signals.unrecovered and signals.last_proof is None else "weak"
    if signals.last_proof is False:
        return "strong" if used else "medium"
    return "medium" if signals.unrecovered else "weak"


def _proves(command: str) -> bool:
    words = [word.rsplit("/", 1)[-1] for word in command.split() if "=" not in word]
    if not words:
        return False
    if words[0] in ("python", "python3", "npx", "uv", "poetry", "env", "time"):
        return any(word in _RUNNERS for word in words[1:5])
    return words[0] in _RUNNERS or (
        words[0] in _BUILDERS and (any(w in _SUBCOMMANDS for w in words[1:4]) or words == ["make"])
    )
