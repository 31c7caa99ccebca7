"""Put the agent's side of ACP together: sessions, engines, permission, transport."""

import asyncio
import contextlib
import functools
import importlib
import os
import resource
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.acp.engine import Engine, Setup, Surroundings
from signoff.acp.failures import RequestFailed
from signoff.acp.peer import Limits, Outlet, Peer
from signoff.acp.server import AgentSide, Profile, offered
from signoff.acp.telemetry import Sink, Telemetry, TelemetryEvent
from signoff.acp.transports import loop
from signoff.agent.modes import Option, mode_of, options, settings_of
from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.cli.story import Story
from signoff.config import locations
from signoff.config.layers import Configuration
from signoff.domain.errors import ConfigUnreadable, Exit, SignoffError, UpstreamError
from signoff.domain.settings import Audit, Redact
from signoff.wire import acp_schema as schema
from signoff.wire import jsonrpc

if TYPE_CHECKING:
    from signoff.acp.directory import Directory
    from signoff.acp.prompting import Prompting
    from signoff.agent.event import TurnEnd
    from signoff.agent.session_log import SessionLog
    from signoff.agent.sessions import Sessions
    from signoff.ledger.redact import Redactor
    from signoff.providers.provider import Image, Text

COMMANDS: Mapping[str, str] = {
    "compact": "Condense the conversation to make room",
    "status": "Say which model, mode and limits this session has",
    "undo": "Put back what the last call changed",
}
DESCRIPTORS = 16_384
KEY = schema.AuthMethod(
    id="model-key",
    name="Key of the model's provider",
    description="Set it in the environment or with `signoff config`, then try again.",
)


class ServeOptions(msgspec.Struct, frozen=True):
    transport: str
    host: str
    port: int
    models: tuple[str, ...]
    permission_mode: str
    permission_scope: str
    permission_timeout_ms: int
    prompt_timeout_ms: int | None
    session_ttl_ms: int | None
    max_in_flight_sends: int
    session_page_size: int
    session_titles: bool
    client_terminals: bool
    strict_version: bool
    telemetry: str | None
    token_file: str | None
    allow_origin: tuple[str, ...]
    ws_heartbeat_ms: int
    tls_cert: str | None
    tls_key: str | None


class Engines:
    """Opens the agent of `signoff run` for a session of a client."""

    commands = COMMANDS

    def __init__(self, output: Output, serving: ServeOptions) -> None:
        self._output = output
        self._serving = serving
        self._parts: asyncio.Future[None] | None = None

    def choices(self, cwd: str) -> tuple[tuple[Option, ...], Mapping[str, str]]:
        from signoff.cli.wiring_model import model_name

        loaded = self._configured(cwd, {})
        models = self._serving.models or (str(model_name(None, loaded)),)
        values = {"mode": "ask", "model": models[0], "approval": loaded.settings.approval.value}
        return options(models), values

    async def open(self, setup: Setup, log: "SessionLog", around: Surroundings) -> Engine:
        loaded = self._loaded(setup)
        if self._parts is None:
            self._parts = asyncio.ensure_future(asyncio.to_thread(_import_parts, loaded))
        if not self._parts.done():
            await asyncio.wait({self._parts})  # and whoever stops waiting does not stop it
        return await _Opened.of(self._output, loaded, setup, log, around)

    def check(self, cwd: str) -> None:
        """Could a model be asked here? Raises SignoffError where not."""
        from signoff.cli.wiring_model import provider_for

        loaded = self._configured(cwd, {})
        provider_for(self._serving.models[0] if self._serving.models else None, loaded, os.environ)

    def _loaded(self, setup: Setup) -> Configuration:
        chosen = settings_of(mode_of(setup.values["mode"]), setup.values)
        chosen["policy.decision_timeout_ms"] = str(self._serving.permission_timeout_ms)
        loaded = self._configured(setup.cwd, chosen)
        if not setup.directories:
            return loaded
        roots = [*loaded.settings.sandbox.writable_roots, *setup.directories]
        return self._configured(setup.cwd, {**chosen, "sandbox.writable_roots": msgspec.json.encode(roots).decode()})

    def _configured(self, cwd: str, flags: Mapping[str, str]) -> Configuration:
        return wiring.configuration(self._output, flags, workspace=Path(cwd))


def _import_parts(loaded: Configuration) -> None:
    """What an agent is made of takes a while to read, and other clients are served meanwhile."""
    importlib.import_module("signoff.cli.wiring_agent")
    if loaded.settings.memory.enabled:
        importlib.import_module("signoff.cli.wiring_recall")


class _Opened:
    def __init__(self, closing: contextlib.AsyncExitStack, wired: Any, setup: Setup) -> None:
        self._closing = closing
        self._wired = wired
        self._setup = setup
        self.turn: Callable[[tuple[Text | Image, ...]], Awaitable[TurnEnd]] = wired.turn

    @classmethod
    async def of(
        cls, output: Output, loaded: Configuration, setup: Setup, log: "SessionLog", around: Surroundings
    ) -> "_Opened":
        from signoff.cli.wiring_agent import Wants, opened_agent

        asks = loaded.settings.policy.audit is Audit.PROMPT
        async with contextlib.AsyncExitStack() as stack:
            wired = stack.enter_context(
                opened_agent(
                    output,
                    loaded,
                    log,
                    Wants(model=setup.values["model"], mode=mode_of(setup.values["mode"])),
                    command=("signoff", "acp", "serve"),
                    show=around.show,
                    reviewer=around.reviewer if asks else None,
                    asker=around.ask,
                    ask=around.go_on,
                    workspace=Path(setup.cwd),
                    files=around.files,
                    elsewhere=around.terminals,
                    breathe=around.breathe,
                )
            )
            stack.push_async_callback(wired.provider.aclose)
            if setup.servers:
                await stack.enter_async_context(wired.run.tool_servers(setup.servers))
            wired.run.status = Exit.OK
            return cls(stack.pop_all(), wired, setup)
        raise AssertionError("unreachable")

    async def command(self, name: str, rest: str) -> str | None:
        match name:
            case "compact":
                await self._wired.agent.model.compact(self._wired.conversation)
                return "The conversation was condensed."
            case "status":
                return self._status()
            case "undo":
                run = self._wired.run
                result = await run.gate.call(run.call("undo", {}), source="person")
                return result.error.message if result.error else result.display or "nothing to put back"
            case _:
                return None

    async def aclose(self) -> None:
        await self._closing.aclose()

    def _status(self) -> str:
        spent = self._wired.agent.budget.spent
        values = ", ".join(f"{option} {value}" for option, value in self._setup.values.items())
        return f"{values}; {spent.requests} answers, {spent.tokens} tokens; run {self._wired.run.run_id}"


def serve_over(output: Output, serving: ServeOptions) -> int:
    with _sink(serving.telemetry) as sink:
        loop.run(_serve(output, serving, sink))
    return Exit.OK


def agent_side(output: Output, serving: ServeOptions, story: Story) -> AgentSide:
    telemetry = Telemetry(story.sink, warn=output.warn, counts=story.counts)
    engines = Engines(output, serving)
    profile = Profile(
        offered(),
        strict_version=serving.strict_version,
        page_size=serving.session_page_size,
        tells_title=serving.session_titles,
        auth_methods=(KEY,),
        authenticate=lambda method: _authenticate(engines),
    )

    return AgentSide(
        lambda: _directory(output, serving, engines),
        lambda: _prompting(serving, telemetry),
        profile,
        telemetry,
        limits=Limits(in_flight_sends=serving.max_in_flight_sends),
        report=story.refused,
    )


def _directory(output: Output, serving: ServeOptions, engines: Engines) -> "Directory":
    from signoff.acp.directory import Directory
    from signoff.acp.live import Manner
    from signoff.acp.permission import Mode, Scope

    manner = Manner(
        permission=Mode(serving.permission_mode),
        asks_about_calls=Scope(serving.permission_scope).tools,
        client_terminals=serving.client_terminals,
        permission_timeout_s=serving.permission_timeout_ms / 1_000,
        warn=output.warn,
    )
    masks = _Masks(wiring.configuration(output).settings.ledger.redact)
    return Directory(_sessions, engines, masks, manner, idle_s=_seconds(serving.session_ttl_ms))


def _prompting(serving: ServeOptions, telemetry: Telemetry) -> "Prompting":
    from signoff.acp.permission import Scope
    from signoff.acp.prompting import Prompting, Terms

    terms = Terms(asks=Scope(serving.permission_scope).prompts, timeout_s=_seconds(serving.prompt_timeout_ms))
    return Prompting(terms, telemetry)


def _sessions() -> "Sessions":
    from signoff.agent.sessions import Sessions

    return Sessions(str(locations.sessions(os.environ)))


class _Masks:
    """Loaded with the first thing there is to mask."""

    def __init__(self, level: Redact) -> None:
        self._level = level

    @functools.cached_property
    def _redactor(self) -> "Redactor":
        from signoff.ledger.redact import Redactor

        return Redactor(self._level, reversible=False)

    def text(self, text: str) -> str:
        return self._redactor.text(text)

    def value(self, value: Any) -> Any:
        return self._redactor.value(value)


async def _authenticate(engines: Engines) -> None:
    try:
        engines.check(os.getcwd())
    except SignoffError as error:
        raise RequestFailed(jsonrpc.AUTH_REQUIRED, f"{error.message}. {error.hint or ''}".strip()) from error


async def _serve(output: Output, serving: ServeOptions, sink: Sink | None) -> None:
    story = Story(output, _Masks(wiring.configuration(output).settings.ledger.redact).text, sink)
    agent = agent_side(output, serving, story)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await TRANSPORTS[serving.transport](output, serving, story.connecting(agent.connect), stop)
    finally:
        await agent.aclose()
    (output.note if serving.transport == "stdio" else output.say)(f"signoff: {story.summary()}")


async def _over_stdio(
    output: Output, serving: ServeOptions, connect: Callable[[Outlet], Peer], stop: asyncio.Event
) -> None:
    from signoff.acp.transports import stdio

    output.note("serving one client over standard streams")
    talk = asyncio.create_task(stdio.serve(connect, stdio.take_streams()))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({talk, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not talk.done():
        talk.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await talk


async def _over_websocket(
    output: Output, serving: ServeOptions, connect: Callable[[Outlet], Peer], stop: asyncio.Event
) -> None:
    from signoff.acp.transports.admission import Admission
    from signoff.acp.transports.websocket import Listen, listen
    from signoff.cli.listening import why_not
    from signoff.cli.wiring_memory import read_token

    _make_room()
    token = read_token(serving.token_file) if serving.token_file else None
    options = Listen(
        host=serving.host,
        port=serving.port,
        admission=Admission(token=token, origins=serving.allow_origin),
        certificate=serving.tls_cert,
        key=serving.tls_key,
        ping=serving.ws_heartbeat_ms / 1_000,
    )
    try:
        async with listen(connect, options) as (_, port):
            scheme = "wss" if serving.tls_cert else "ws"
            output.say(f"signoff: serving {scheme}://{serving.host}:{port}/acp")
            await stop.wait()
    except OSError as error:
        message, hint = why_not(serving.host, serving.port, error)
        raise UpstreamError(message, hint=hint) from error


def _make_room() -> None:
    """Every client and every session takes a descriptor, and many systems give a thousand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < DESCRIPTORS:
        wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


TRANSPORTS = {"stdio": _over_stdio, "ws": _over_websocket}


@contextlib.contextmanager
def _sink(path: str | None) -> Iterator[Sink | None]:
    if path is None:
        yield None
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigUnreadable(f"cannot write to {path}: {error.strerror}") from error

    def sink(event: TelemetryEvent) -> None:
        os.write(file, msgspec.json.encode(event) + b"\n")

    try:
        yield sink
    finally:
        os.close(file)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1_000
