"""signoff tools: what an agent may do, and one call of it by hand."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import click
import msgspec

from signoff.cli import completing, wiring
from signoff.cli.app import Group, complain
from signoff.cli.judging import approval_option, sandbox_option
from signoff.cli.output import Output, json_option
from signoff.cli.wiring_door import Run
from signoff.cli.wiring_gate import opened
from signoff.cli.wiring_servers import tool_servers
from signoff.config.layers import Configuration
from signoff.domain.call import ToolResult
from signoff.domain.errors import Exit, InvalidArguments, ToolUnknown, UsageError, exit_of
from signoff.domain.event import CallProgress, Display, RunEvent, Warned
from signoff.domain.settings import Audit
from signoff.domain.unreadable import UNREADABLE
from signoff.domain.visible import visible
from signoff.sandbox.jobs import Jobs
from signoff.tools.describe import Description, describe
from signoff.tools.jobs import job_tools
from signoff.tools.mcp_tool import PREFIX
from signoff.tools.registry import Registry
from signoff.tools.tool import Tool
from signoff.tools.undo import UndoCall
from signoff.undo.snapshot import Undo

_HINTS = {
    ToolUnknown.code: '"signoff tools list" shows those there are.',
    InvalidArguments.code: '"signoff tools schema {0}" shows what it takes.',
}


@click.group(cls=Group)
def tools() -> None:
    """See the tools an agent has, and call one through the gate.

    \b
    Examples:
      signoff tools list
      signoff tools schema apply_patch
      signoff tools call read_file --args '{"path": "README.md"}'
    """


@tools.command("list")
@click.option("--servers", is_flag=True, help="Also start the tool servers (MCP) that are configured, and ask them.")
@json_option
@click.pass_obj
def list_(output: Output, servers: bool, as_json: bool) -> None:
    """List every tool: name, version, what it does.

    With --json also schemas, permissions and side effects.

    \b
    Examples:
      signoff tools list
      signoff tools list --servers --json
    """
    found = _described(output, servers)
    if as_json:
        output.json({"tools": found})
        return
    for one in found:
        output.text(f"{one.name:18} {one.version}  {visible(' '.join(one.description.split()))}", 26)


@tools.command()
@click.argument("name", shell_complete=completing.tools)
@click.pass_obj
def schema(output: Output, name: str) -> None:
    """Print the JSON Schemas of a tool's arguments and result, and what it needs.

    \b
    Examples:
      signoff tools schema run_terminal_cmd
    """
    found = {one.name: one for one in _described(output, True)} if name.startswith(PREFIX) else {}
    output.json(found.get(name) or describe(_registry().find(name)))


@tools.command()
@approval_option
@sandbox_option
@json_option
@click.option("--args", "text", default="{}", show_default=True, help="The arguments, as one JSON object.")
@click.argument("name", shell_complete=completing.tools)
@click.pass_obj
def call(output: Output, name: str, text: str, approval: str | None, sandbox: str | None, as_json: bool) -> int:
    """Call a tool in the current directory.

    The call is judged, asked about, confined and recorded like an agent's. What it shows goes to stdout; with --json
    the whole result does. The exit status is 0, or that of the error.

    \b
    Examples:
      signoff tools call list_dir
      signoff tools call grep --args '{"pattern": "TODO"}' --json
    """
    args = _arguments(text)
    flags = {"approval": approval, "sandbox.mode": sandbox}
    chosen = {**output.flags, **{key: value for key, value in flags.items() if value}}
    loaded = wiring.configuration(msgspec.structs.replace(output, flags=chosen))
    command = ("signoff", "tools", "call", name)
    extra = _asking(loaded) if name == "ask_user" else ()
    with opened(output, loaded, command, tools=extra, show=lambda event: _show(output, event)) as run:
        result = asyncio.run(_call(run, name, args))
        run.status = Exit.OK if result.error is None else exit_of(result.error.code)
    _print(output, name, result, as_json)
    return run.status


def _asking(loaded: Configuration) -> tuple[Tool[Any], ...]:
    """The question is put on the terminal in front of which we run; without one nobody is there."""
    from signoff.cli.typed import Typist
    from signoff.cli.wiring_door import controlling_terminal
    from signoff.tools.ask_user import AskUser

    policy = loaded.settings.policy
    terminal = controlling_terminal() if policy.audit is Audit.PROMPT else None
    return () if terminal is None else (AskUser(Typist(terminal, policy.decision_timeout_ms / 1_000).ask),)


async def _call(run: Run, name: str, args: dict[str, Any]) -> ToolResult:
    async with run.tool_servers() if name.startswith(PREFIX) else contextlib.nullcontext():
        return await run.gate.call(run.call(name, args), source="shell")


def _described(output: Output, servers: bool) -> list[Description]:
    registry = _registry()

    async def asked() -> list[Description]:
        loaded = wiring.configuration(output)
        async with tool_servers(loaded, registry, str(Path.cwd().resolve()), output.warn):
            return [describe(registry.find(name)) for name in registry.names()]

    return asyncio.run(asked()) if servers else [describe(registry.find(name)) for name in registry.names()]


def _print(output: Output, name: str, result: ToolResult, as_json: bool) -> None:
    if as_json:
        output.json(result)
    elif result.error is not None:
        hint = _HINTS.get(result.error.code)
        complain(result.error.message, hint and hint.format(name), exit_of(result.error.code))
    elif result.display is not None:
        for line in result.display.splitlines():
            output.text("\t".join(map(visible, line.split("\t"))))


def _show(output: Output, event: RunEvent) -> None:
    match event:
        case Warned(message=message):
            output.warn(message)
        case CallProgress(text=text):
            output.say(visible(text.rstrip("\n")))
        case Display(content=content, level=level):
            output.say(visible(f"[{level}] {content[:200]}"))
        case _:
            pass


def _arguments(text: str) -> dict[str, Any]:
    with contextlib.suppress(*UNREADABLE):
        return msgspec.json.decode(text.encode(), type=dict[str, Any])
    raise UsageError("--args is not a JSON object", hint="""For example: --args '{"path": "README.md"}'""")


def _registry() -> Registry:
    """Every tool, for looking at; `opened` makes those that run."""
    registry = Registry()
    for tool in (UndoCall(Undo("", str(Path.cwd()), "")), *job_tools(Jobs())):
        registry.add(tool)
    return registry
