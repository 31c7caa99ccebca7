"""signoff sandbox: run one command in the sandbox, without policy."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
import msgspec

from signoff.cli import wiring
from signoff.cli.output import Output, json_option
from signoff.cli.variables import variables
from signoff.domain.errors import ParseError, UsageError
from signoff.domain.late import late
from signoff.domain.settings import Network, Reads, SandboxMode
from signoff.domain.visible import visible
from signoff.sandbox import launch
from signoff.sandbox.outcome import Denial, OnOutput, Outcome, Request, Strength
from signoff.sandbox.profile import Profile, resolve
from signoff.sandbox.session import Attach, Session

if TYPE_CHECKING:
    from signoff.sandbox import terminal
    from signoff.sandbox.proxy import Connection
else:
    terminal = late("signoff.sandbox.terminal")


class Report(msgspec.Struct, frozen=True):
    """What --json prints."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    truncated: bool
    denial: Denial | None
    exhausted: str | None
    backend: str
    strength: str
    duration_ms: float
    leftovers: int
    output: dict[str, str]
    omitted_bytes: dict[str, int]
    connections: tuple["Connection", ...] = ()  # with the network limited


def _choice(kind: type[Any]) -> click.Choice[str]:
    return click.Choice([member.value for member in kind])


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--mode", type=_choice(SandboxMode), help="What may be changed; workspace-write unless configured.")
@click.option("--writable", multiple=True, metavar="DIR", help="Another directory that may be changed; repeatable.")
@click.option("--network", type=_choice(Network), help="off (default), limited to --allow-host, or on.")
@click.option(
    "--allow-host", multiple=True, metavar="HOST[:PORT]", help="Reachable with --network limited; repeatable."
)
@click.option(
    "--reads", type=_choice(Reads), help="limited (default), or all; credential stores stay hidden either way."
)
@click.option(
    "--env", multiple=True, metavar="NAME=VALUE", help="Set a variable for the command, even a secret; repeatable."
)
@click.option("--require", type=click.Choice(["none", "partial", "full"]), help="Refuse to run with less (status 44).")
@click.option("--timeout-ms", type=click.IntRange(min=1), help="Wall time; 300000 unless configured.")
@click.option("--tty", is_flag=True, help="Give the command a terminal of its own, to work in it with a keyboard.")
@click.option("--channel", metavar="NAME", hidden=True, help="With --tty: hand on the socket that this variable names.")
@json_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def sandbox(output: Output, /, command: tuple[str, ...], as_json: bool, require: str | None, **options: Any) -> int:
    """Run one command in the sandbox, without policy.

    It runs in the current directory. Standard input, output and error are the command's, and so is the exit status: 124
    when the time is up, 128+N for signal N, 20 when the program cannot be started, 44 when the sandbox is not possible
    here.

    \b
    Examples:
      signoff sandbox -- make test
      signoff sandbox --mode read-only -- rg TODO
      signoff sandbox --writable ../build --timeout-ms 60000 -- cargo build
      signoff sandbox --env CI=1 -- npm test
      signoff sandbox --network limited --allow-host pypi.org -- pip download six
      signoff sandbox --tty -- bash
      signoff sandbox --json -- sh -c 'echo x > /etc/motd'
    """
    profile = _profile(output, options)
    if options["tty"] and as_json:
        raise UsageError("--tty is for a person at the keyboard, --json is not")
    if options["allow_host"] and profile.network is not Network.LIMITED:
        raise UsageError("--allow-host opens nothing without --network limited")
    connections: list[Connection] = []
    attach = _attach(options["allow_host"], connections) if profile.network is Network.LIMITED else None
    wanted = Strength[require.upper()] if require else None
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    given = variables(options["env"])
    with Session(profile, os.environ, given=given, require=wanted, attach=attach, start=launch.fork) as session:
        if profile.confined and session.strength < Strength.FULL:
            output.warn(
                f"the sandbox is only {session.strength.name.lower()} here; `signoff doctor` says what is missing"
            )
        with _streams(command, options["tty"], options["channel"]) as (request, pass_on):
            outcome = session.run(request, on_output=None if as_json else pass_on)
    if as_json:
        output.json(_report(outcome, connections))
        return outcome.status
    for refused in dict.fromkeys(one.refused for one in connections if one.refused):
        output.warn(visible(refused))
    if outcome.timed_out:
        output.say(f"signoff: stopped after {profile.limits.timeout_ms} ms")
    return outcome.status


def _profile(output: Output, options: dict[str, Any]) -> Profile:
    settings = wiring.configuration(output).settings.sandbox
    chosen: dict[str, Any] = {"writable_roots": (*settings.writable_roots, *options["writable"])}
    for name, kind in (("mode", SandboxMode), ("network", Network), ("reads", Reads)):
        if options[name] is not None:
            chosen[name] = kind(options[name])
    if options["timeout_ms"] is not None:
        chosen["timeout_ms"] = options["timeout_ms"]
    return resolve(msgspec.structs.replace(settings, **chosen), os.getcwd())


def _attach(hosts: tuple[str, ...], connections: list["Connection"]) -> Attach:
    from signoff.sandbox.http_request import authority
    from signoff.sandbox.limited import through_proxy

    def place(text: str) -> tuple[str, int | None]:
        with contextlib.suppress(ParseError):
            return authority(text, None)
        try:
            return authority(text, 443)[0], None
        except ParseError as error:
            raise UsageError(f"--allow-host takes HOST or HOST:PORT, not {visible(text)}") from error

    allowed = {place(each) for each in hosts}

    def clear(host: str, port: int) -> bool:
        return (host, port) in allowed or (host, None) in allowed

    return through_proxy(clear, connections.append)


@contextlib.contextmanager
def _streams(command: tuple[str, ...], tty: bool, channel: str | None) -> Iterator[tuple[Request, OnOutput]]:
    """What to run, and where its output goes."""
    source = 0 if _stdin_is_open() else None
    if not tty:
        yield Request(command, stdin=source), _pass_on
        return
    socket = None if channel is None else int(os.environ[channel])
    outlets = {1: 1, 2: 2 if socket is None else socket}
    with terminal.typed(0, socket) as keys:
        request = Request(terminal.on_terminal(command, 0, channel or ""), stdin=keys)
        yield request, lambda stream, data: _pass_on(outlets[stream], data)


def _pass_on(stream: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(stream, view) :]


def _stdin_is_open() -> bool:
    try:
        os.fstat(0)
    except OSError:
        return False
    return True


def _leave(number: int, _frame: FrameType | None) -> None:
    """An orderly way out, so that nothing is left in the workspace."""
    sys.exit(128 + number)


def _report(outcome: Outcome, connections: list["Connection"]) -> Report:
    return Report(
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        timed_out=outcome.timed_out,
        truncated=outcome.stdout.truncated or outcome.stderr.truncated,
        denial=outcome.denial,
        exhausted=outcome.exhausted,
        backend=outcome.backend,
        strength=outcome.strength.name.lower(),
        duration_ms=round(outcome.duration_ms, 1),
        leftovers=outcome.leftovers,
        output={"stdout": outcome.stdout.text(), "stderr": outcome.stderr.text()},
        omitted_bytes={"stdout": outcome.stdout.omitted, "stderr": outcome.stderr.omitted},
        connections=tuple(connections),
    )
