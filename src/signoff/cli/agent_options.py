"""The options that `run` and `chat` share, and what they stand for."""

import os
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from signoff.agent.limits import Limits
from signoff.agent.modes import MODES, PLAN, Mode, mode_of
from signoff.agent.shape import read_schema
from signoff.cli.judging import approval_option, sandbox_option
from signoff.domain.errors import NotFound, UsageError
from signoff.domain.settings import DenyExit, OnAsk

F = TypeVar("F", bound=Callable[..., Any])

LARGEST_INPUT = 64 << 20
FORMATS = ("text", "json", "stream-json")
_ID = re.compile("[0-9a-fA-F-]+")


class Chosen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The shared options as they were given."""

    model: str | None = None
    cwd: str | None = None
    add_dir: tuple[str, ...] = ()
    mode: str | None = None
    plan: bool = False
    approval: str | None = None
    sandbox: str | None = None
    on_ask: str | None = None
    as_json: bool = False
    output_format: str | None = None
    output_schema: str | None = None
    live: bool = False
    tool_calls: str = "native"
    deny_exit: DenyExit = DenyExit.DENIED
    memory: bool | None = None
    continue_: bool = False
    resume: str | None = None
    fork: bool = False
    max_turns: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    max_minutes: float | None = None
    context_tokens: int | None = None
    external_policy: bool = False

    def __post_init__(self) -> None:
        if self.resume and not _ID.fullmatch(self.resume):
            raise NotFound(
                f"no session begins with {self.resume!r}",
                hint="What follows -r is an id. To go on with the last session: -c TASK; with another: -r ID TASK.",
            )

    @property
    def format(self) -> str:
        if self.as_json and self.output_format not in (None, "json"):
            raise UsageError("--json and --output-format do not go together")
        return self.output_format or ("json" if self.as_json else "text")

    @property
    def chosen_mode(self) -> Mode | None:
        """None: as the session has it, or `ask`."""
        if self.plan and self.mode not in (None, PLAN.id):
            raise UsageError("--plan and --mode do not go together")
        if self.plan:
            return PLAN
        return None if self.mode is None else mode_of(self.mode)

    @property
    def limits(self) -> Limits:
        limits = Limits(self.max_turns, self.max_tokens, self.max_usd, self.max_minutes)
        if self.context_tokens is None:
            return limits
        return msgspec.structs.replace(limits, context_tokens=self.context_tokens)

    @property
    def flags(self) -> dict[str, str]:
        """What they say about settings, by key."""
        given = {
            "approval": self.approval,
            "sandbox.mode": self.sandbox,
            "policy.on_ask": self.on_ask,
            "model.name": self.model,
            "memory.enabled": None if self.memory is None else str(self.memory).lower(),
            "sandbox.writable_roots": msgspec.json.encode([os.path.abspath(one) for one in self.add_dir]).decode()
            if self.add_dir
            else None,
        }
        return {key: value for key, value in given.items() if value is not None}

    def schema(self) -> dict[str, Any] | None:
        if self.output_schema is None:
            return None
        return read_schema(read_bytes(self.output_schema), self.output_schema)


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("-m", "--model", metavar="PROVIDER/MODEL", help="Who answers; SIGNOFF_MODEL sets the default."),
    click.option("-C", "--cwd", metavar="DIR", help="Where to work; the current directory otherwise."),
    click.option("--add-dir", multiple=True, metavar="DIR", help="Another directory that may be written; repeatable."),
    click.option("--mode", type=click.Choice([mode.id for mode in MODES]), help="ask: as the policy says; plan: only read; auto: never ask, refuse instead."),
    click.option("--plan", is_flag=True, help="The same as --mode plan: nothing is changed."),
    approval_option,
    sandbox_option,
    click.option("--on-ask", type=click.Choice([each.value for each in OnAsk]), help="When nobody is there to ask: deny and go on, or fail the run."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout."),
    click.option("--output-format", type=click.Choice(FORMATS), help="text; json: one document at the end; stream-json: a line for each event."),
    click.option("--output-schema", metavar="FILE", help="Make the answer JSON that fits this JSON Schema."),
    click.option("--live", is_flag=True, help="Show what the agent displays in a live window."),
    click.option(
        "--tool-calls", type=click.Choice(["native", "text"]), default="native", show_default=True,
        help="How the model calls tools; text is for models that cannot do it natively.",
    ),
    click.option("--deny-exit", type=click.Choice([each.value for each in DenyExit]), default=DenyExit.DENIED.value,
                 show_default=True, help="denied: end with 40 if something was denied; child: end with 0 all the same."),
    click.option("--memory/--no-memory", default=None, help="Remember, and bring back what was remembered."),
    click.option("-c", "--continue", "continue_", is_flag=True, help="Go on with the last session of this directory."),
    click.option("-r", "--resume", metavar="ID", is_flag=False, flag_value="", help="Go on with a session; without an ID the last one."),
    click.option("--fork", is_flag=True, help="With -c or -r: in a new session that begins where that one stands."),
    click.option("--max-turns", type=click.IntRange(min=1), help="Most answers of the model, then ask or end with 42."),
    click.option("--max-tokens", type=click.IntRange(min=1), help="Most tokens, in and out, then ask or end with 42."),
    click.option("--max-usd", type=click.FloatRange(min=0, min_open=True), help="Most US dollars, then ask or end with 42."),
    click.option("--max-minutes", type=click.FloatRange(min=0, min_open=True), help="Longest time in minutes, then ask or end with 42."),
    click.option("--context-tokens", type=click.IntRange(min=1_000), help="Size of the model's context, where it is not known."),
)  # fmt: skip


def agent_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_INPUT + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > LARGEST_INPUT:
        raise UsageError(f"cannot read {path}: it is larger than {LARGEST_INPUT >> 20} MiB")
    return data


def piped() -> str:
    """What stands on standard input, if it is no terminal and holds anything."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    try:
        data = sys.stdin.buffer.read()
    except OSError:
        return ""
    return data.decode("utf-8", "replace").strip()


def enter(cwd: str | None) -> None:
    if cwd is None:
        return
    try:
        os.chdir(cwd)
    except OSError as error:
        raise UsageError(f"cannot work in {cwd}: {error.strerror}") from error
