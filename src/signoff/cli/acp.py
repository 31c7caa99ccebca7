"""signoff acp: serve our agent to editors, and speak to any agent that talks the Agent Client Protocol."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from signoff.cli.app import Group
from signoff.cli.listening import PORTS
from signoff.cli.output import Output
from signoff.domain.errors import UsageError

_WS_ONLY = {
    "ws_heartbeat_ms": "--ws-heartbeat-ms",
    "ws_reconnect_attempts": "--ws-reconnect-attempts",
    "ws_reconnect_base_delay_ms": "--ws-reconnect-base-delay-ms",
    "token_file": "--token-file",
}
_MS = click.IntRange(min=1)


@click.group(cls=Group)
def acp() -> None:
    """Serve our agent to editors, or speak to another agent (ACP).

    ACP is the Agent Client Protocol.

    \b
    Examples:
      signoff acp serve
      signoff acp serve --transport ws --listen 127.0.0.1:8900
      signoff acp connect --cmd "gemini --acp" --prompt "What is this?"
    """


@acp.group(cls=Group, name="client")
def client() -> None:
    """Be the client of an agent.

    \b
    Examples:
      signoff acp client connect --cmd "gemini --acp" --prompt hello
    """


def _number(name: str, default: int, least: int, meaning: str) -> Callable[[Any], Any]:
    return click.option(name, type=click.IntRange(min=least), default=default, show_default=True, help=meaning)


def _all(options: tuple[Callable[[Any], Any], ...]) -> Callable[[Any], Any]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_SERVE_OPTIONS = (
    click.option(
        "--transport",
        type=click.Choice(["stdio", "ws"]),
        default="stdio",
        show_default=True,
        help="Standard streams for one client, or WebSocket for many.",
    ),
    click.option(
        "--listen",
        default=f"127.0.0.1:{PORTS['acp serve']}",
        show_default=True,
        metavar="HOST:PORT",
        help="For ws: where to listen; port 0 takes a free one and says which.",
    ),
    click.option(
        "-m",
        "--model",
        "models",
        multiple=True,
        metavar="PROVIDER/MODEL",
        help="Who answers; else the setting `model.name`. May be repeated: the first is used, the others can be chosen.",
    ),
    click.option(
        "--permission-mode",
        type=click.Choice(["disabled", "permissive", "required"]),
        default="required",
        show_default=True,
        help="When the client cannot be asked: required refuses, permissive lets pass; disabled never asks.",
    ),
    click.option(
        "--permission-scope",
        type=click.Choice(["tool", "prompt", "both"]),
        default="tool",
        show_default=True,
        help="Ask about single calls, about whole prompts, or both.",
    ),
    _number("--permission-timeout-ms", 300_000, 1, "How long a question may stay open in the client."),
    click.option("--prompt-timeout-ms", type=_MS, help="Stop a prompt after so long; no limit unless given."),
    click.option("--session-ttl-ms", type=_MS, help="Close sessions idle for so long; they can be taken up."),
    _number("--max-in-flight-sends", 64, 1, "Messages on their way to a slow client before the agent waits."),
    _number("--session-page-size", 50, 1, "Sessions in one page of session/list."),
    click.option("--session-titles", is_flag=True, help="Tell the title of a session after its first prompt."),
    click.option("--client-terminals", is_flag=True, help="Run commands in the client, outside our sandbox."),
    click.option("--strict-version", is_flag=True, help="Refuse clients of another protocol version."),
    click.option("--telemetry", metavar="FILE", help="Append what happens to a file, one JSON line each."),
    click.option("--token-file", metavar="FILE", help="For ws: clients must present the token in this file."),
    click.option(
        "--allow-origin",
        multiple=True,
        metavar="ORIGIN",
        help="For ws: a web page that may connect; repeatable.",
    ),
    _number("--ws-heartbeat-ms", 15_000, 0, "For ws: how often to see whether a client is there; 0 for never."),
    click.option("--tls-cert", metavar="FILE", help="For ws: the certificate chain of wss://, as PEM."),
    click.option("--tls-key", metavar="FILE", help="For ws: the private key of the certificate, as PEM."),
)


@acp.command()
@_all(_SERVE_OPTIONS)
@click.pass_context
def serve(ctx: click.Context, /, **options: Any) -> int:
    """Be an agent for editors, over standard streams or WebSocket.

    Every call of the agent goes through the gate; what the policy asks about is asked in the editor.

    \b
    Examples:
      signoff acp serve -m anthropic/claude-sonnet-4-5
      signoff acp serve --transport ws --token-file ~/.config/signoff/acp.token
      signoff acp serve -m echo/echo --permission-scope both
    """
    from signoff.cli.wiring_acp import ServeOptions, serve_over

    if options["transport"] == "stdio":
        _refuse_given(ctx, "ws", ("listen", "token_file", "allow_origin", "ws_heartbeat_ms", "tls_cert", "tls_key"))
        if sys.stdin is not None and sys.stdin.isatty():
            ctx.obj.say('An editor starts this and speaks to it; to talk yourself, use "signoff chat". Ctrl-C ends.')
    host, port = _address(options.pop("listen"))
    return serve_over(ctx.obj, ServeOptions(host=host, port=port, **options))


_CONNECT_OPTIONS = (
    click.option("--cmd", metavar="COMMAND", help='The agent to start, e.g. "gemini --acp".'),
    click.option(
        "--args",
        "more",
        multiple=True,
        metavar="WORD",
        help="A further word of the command, as in --args=--flag; repeatable.",
    ),
    click.option("--endpoint", metavar="URL", help="The agent to find, ws://… or wss://…"),
    click.option("-C", "--cwd", metavar="DIR", help="Where the session works; the current directory unless given."),
    click.option(
        "--prompt",
        "prompts",
        multiple=True,
        metavar="TEXT",
        help="What to ask the agent; repeatable, all in one session.",
    ),
    click.option("--session-id", metavar="ID", help="Take this session up instead of a new one."),
    click.option(
        "--permission-decision",
        type=click.Choice(["allow", "deny", "ask", "policy"]),
        help="How questions are answered: ask at a terminal, else by our policy.",
    ),
    click.option("--permission-message", metavar="TEXT", help="Shown with every answer; stays here."),
    click.option("--json", "as_json", is_flag=True, help="One JSON document a line on stdout."),
    _number("--request-timeout-ms", 300_000, 0, "How long a request to the agent may take; 0 for no limit."),
    _number("--ws-heartbeat-ms", 15_000, 0, "For an endpoint: how often to see whether it is there; 0 for never."),
    _number("--ws-reconnect-attempts", 2, 0, "For an endpoint: how often to look for it when it is lost."),
    _number("--ws-reconnect-base-delay-ms", 200, 0, "For an endpoint: the first pause before that; each is longer."),
    _number("--max-in-flight-sends", 64, 1, "Messages on their way to the agent before we wait."),
    click.option("--token-file", metavar="FILE", help="For an endpoint that wants a token."),
)


@acp.command()
@_all(_CONNECT_OPTIONS)
@click.pass_context
def connect(ctx: click.Context, /, **options: Any) -> int:
    """Speak to an agent: send prompts, show what it does.

    The agent is started (--cmd) or found (--endpoint). The agent's requests for files and terminals go through our gate
    and run in our sandbox, whoever the agent is. Without --prompt a terminal is a conversation; elsewhere standard
    input is the prompt.

    \b
    Examples:
      signoff acp connect --cmd "signoff acp serve -m echo/echo" --prompt hello
      signoff acp connect --endpoint ws://127.0.0.1:8900/acp --prompt hello --json
      signoff acp client connect --cmd codex-acp --permission-decision policy
    """
    from signoff.cli.acp_connect import ConnectOptions, talk

    output: Output = ctx.obj
    command = _command(ctx, options)
    return talk(output, ConnectOptions(command=command, **options))


client.add_command(connect)


def _command(ctx: click.Context, options: dict[str, Any]) -> tuple[str, ...] | None:
    """The words of --cmd; None for an endpoint. Everything that can be wrong is said before anything is opened."""
    cmd, more, endpoint = options.pop("cmd"), options.pop("more"), options["endpoint"]
    if (cmd is None) == (endpoint is None):
        raise UsageError("give --cmd or --endpoint, one of them", hint='For example: --cmd "gemini --acp"')
    if options["cwd"] is not None and not Path(options["cwd"]).is_dir():
        raise UsageError(f"--cwd: {options['cwd']} is no directory")
    if endpoint is not None:
        if more:
            raise UsageError("--args belongs to --cmd")
        if urlsplit(endpoint).scheme not in ("ws", "wss") or not urlsplit(endpoint).hostname:
            raise UsageError(f"--endpoint: {endpoint!r} is no ws:// or wss:// address")
        return None
    _refuse_given(ctx, "--endpoint", tuple(_WS_ONLY))
    try:
        words = (*shlex.split(cmd), *more)
    except ValueError as error:
        raise UsageError(f"--cmd: {error}") from error
    if not words:
        raise UsageError("--cmd names no program")
    return words


def _refuse_given(ctx: click.Context, owner: str, names: tuple[str, ...]) -> None:
    given = [name for name in names if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if given:
        raise UsageError(f"--{given[0].replace('_', '-')} belongs to {owner}")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise UsageError(
            f"--listen: {text!r} is not HOST:PORT", hint="The port is a number to 65535; 0 takes a free one."
        )
    return host.strip("[]"), int(port)
