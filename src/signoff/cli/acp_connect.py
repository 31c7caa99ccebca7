"""The client of `signoff acp connect`: what is sent, what is shown, how questions are answered."""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from signoff.acp.answering import answering
from signoff.acp.client import Client, Connect, Handlers, Session
from signoff.acp.failures import RequestFailed
from signoff.acp.forms import Field, Value, filling
from signoff.acp.peer import Limits
from signoff.acp.transports import loop
from signoff.approvals.silence import A_FEW, Silence
from signoff.cli.output import Output, Style
from signoff.cli.talk import missed
from signoff.cli.wiring_acp_client import decided_by, desk_of
from signoff.domain.errors import Exit, UsageError
from signoff.domain.visible import visible
from signoff.wire import acp_schema as schema
from signoff.wire import jsonrpc

NOBODY = "nobody is at a terminal to answer"
_SIGNS = {"pending": "…", "in_progress": "·", "completed": "✓", "failed": "✗"}


class ConnectOptions(msgspec.Struct, frozen=True):
    command: tuple[str, ...] | None
    endpoint: str | None
    cwd: str | None
    prompts: tuple[str, ...]
    session_id: str | None
    permission_decision: str | None
    permission_message: str | None
    as_json: bool
    request_timeout_ms: int
    ws_heartbeat_ms: int
    ws_reconnect_attempts: int
    ws_reconnect_base_delay_ms: int
    max_in_flight_sends: int
    token_file: str | None

    @property
    def workspace(self) -> Path:
        return Path(self.cwd or os.getcwd()).resolve()


def talk(output: Output, options: ConnectOptions) -> int:
    interactive = not options.prompts and sys.stdin is not None and sys.stdin.isatty() and not options.as_json
    prompts = options.prompts or (() if interactive else (_piped(),))
    return loop.run(_talk(output, options, prompts, interactive))


def _piped() -> str:
    text = "" if sys.stdin is None else sys.stdin.read().strip()
    if not text:
        raise UsageError("there is no prompt", hint="Give --prompt TEXT, or write it to standard input.")
    return text


async def _talk(output: Output, options: ConnectOptions, prompts: tuple[str, ...], interactive: bool) -> int:
    silence = Silence()
    screen = Screen(output, options.as_json, silence)
    with desk_of(output, options.workspace, silence) as run:
        decided = decided_by(run, options.permission_decision, options.workspace)

        async def decide(request: schema.RequestPermissionRequest) -> schema.RequestPermissionOutcome:
            outcome = await decided(request)
            screen.decided(request, outcome, options.permission_message)
            return outcome

        async def fill(form: schema.ElicitationForm, fields: tuple[Field, ...]) -> Mapping[str, Value] | None:
            content = None if run.person is None else await run.person.fill(form.message, fields)
            screen.filled(form, content, NOBODY if run.person is None else "the person did not answer")
            return content

        handlers = Handlers(update=screen.update, permission=answering(decide), elicit=filling(fill))
        handlers = run.desk.serving(handlers)
        limit_s = options.request_timeout_ms / 1_000 or None
        limits = Limits(in_flight_sends=options.max_in_flight_sends)
        if interactive:
            output.say(f"connecting to {visible(options.endpoint or shlex.join(options.command or ()))} …")
        async with Client.over(_connection(options), handlers, limit_s=limit_s, limits=limits) as client:
            session = await _session(client, options)
            screen.stop = Exit.OK
            if interactive:
                output.say(_greeting(client))
            async for prompt in _asked(prompts, interactive):
                await _prompt(screen, session, prompt)
            if interactive:  # a prompt that was stopped is no failure of the conversation
                screen.stop = Exit.OK
        run.status = screen.stop
    return screen.stop


def _connection(options: ConnectOptions) -> Connect:
    from signoff.acp.connecting import address, program

    if options.command is not None:
        return program(options.command, cwd=str(options.workspace), environ=os.environ)
    from signoff.acp.transports.socket_client import Reconnecting, SocketClient, dial
    from signoff.cli.wiring_memory import read_token

    token = read_token(options.token_file) if options.token_file else None
    factory = dial(str(options.endpoint), token=token, heartbeat=options.ws_heartbeat_ms / 1_000)
    policy = Reconnecting(options.ws_reconnect_attempts, options.ws_reconnect_base_delay_ms / 1_000)
    return address(lambda: SocketClient(factory, policy))


def _greeting(client: Client) -> str:
    known = client.agent.agentInfo if client.agent else None
    name = visible(f"{known.title or known.name} {known.version}".strip()) if known else "the agent"
    return f"connected to {name}; /quit or Ctrl-D leaves"


async def _session(client: Client, options: ConnectOptions) -> Session:
    """The session to talk in. An agent that wants to know who we are first is told once."""
    try:
        return await _opened(client, options)
    except RequestFailed as error:
        methods = [each for each in client.agent.authMethods if not each.type] if client.agent else []
        if error.rpc_code != jsonrpc.AUTH_REQUIRED or not methods:
            raise
        await client.authenticate(methods[0].id)
        return await _opened(client, options)


async def _opened(client: Client, options: ConnectOptions) -> Session:
    cwd = str(options.workspace)
    if options.session_id is None:
        return await client.new_session(cwd)
    can = client.agent.agentCapabilities if client.agent else schema.AgentCapabilities()
    if isinstance(can.sessionCapabilities.resume, msgspec.Struct):
        return await client.resume_session(options.session_id, cwd)
    return await client.load_session(options.session_id, cwd)


async def _asked(prompts: tuple[str, ...], interactive: bool) -> AsyncIterator[str]:
    for prompt in prompts:
        yield prompt
    if not interactive:
        return
    from prompt_toolkit import PromptSession
    from prompt_toolkit.patch_stdout import patch_stdout

    line: PromptSession[str] = PromptSession("> ")
    while True:
        try:
            with patch_stdout():
                text = (await line.prompt_async()).strip()
        except (EOFError, KeyboardInterrupt):
            return
        if text in ("/quit", "/exit"):
            return
        if text:
            yield text


async def _prompt(screen: "Screen", session: Session, text: str) -> None:
    """Ctrl-C stops the prompt; a second one leaves."""
    working = asyncio.ensure_future(session.prompt(text))
    try:
        answer = await asyncio.shield(working)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if working.cancelled() or task is None:
            raise
        task.uncancel()
        await session.cancel()
        answer = await working
        screen.stop = Exit.INTERRUPTED
    screen.ended(session.id, answer)


class Screen:
    """For people: words on stdout, what happens on stderr. For programs: a line of JSON for each."""

    def __init__(self, output: Output, as_json: bool, silence: Silence) -> None:
        self._output = output
        self._silence = silence  # while a question stands on the screen
        self._as_json = as_json
        self._titles: dict[str, str] = {}
        self._open = False  # a line of words has begun
        self.stop: int = Exit.INTERRUPTED

    def update(self, notification: schema.SessionNotification) -> None:
        if self._as_json and not sys.stdout.isatty():  # no question stands there, and a program wants every line
            self._update(notification)
            return
        size = A_FEW + len(_words(notification.update))
        self._silence.mention(lambda: self._update(notification), lambda count: self._say(missed(count)), size)

    def _update(self, notification: schema.SessionNotification) -> None:
        update = notification.update
        text = _words(update)
        if self._as_json:
            self._line({"type": "session_update", "sessionId": notification.sessionId, "update": update, "text": text})
            return
        match update:
            case schema.AgentMessageChunk():
                click.echo("\n".join(visible(line) for line in text.split("\n")), nl=False)
                sys.stdout.flush()
                self._open = True
            case schema.ToolCall(toolCallId=name, title=title, status=status):
                self._titles[name] = title
                self._say(f"{_SIGNS.get(str(status), '·')} {visible(title)}")
            case schema.ToolCallProgress(toolCallId=name, status="completed" | "failed" as status):
                self._say(f"{_SIGNS[status]} {visible(self._titles.pop(name, name))}")
            case _:
                pass

    def decided(
        self, request: schema.RequestPermissionRequest, outcome: schema.RequestPermissionOutcome, message: str | None
    ) -> None:
        title, answer = request.toolCall.title or request.toolCall.toolCallId, "cancelled"
        if isinstance(outcome, schema.SelectedPermissionOutcome):
            chosen = next(each for each in request.options if each.optionId == outcome.optionId)
            answer = f"{chosen.kind}, {visible(chosen.name)}"
        self._say(f"permission {answer}: {visible(str(title))}" + (f" ({visible(message)})" if message else ""))

    def filled(self, form: schema.ElicitationForm, content: object, reason: str) -> None:
        """Whether a form was answered; what was typed is the agent's alone."""
        told = {"type": "elicitation", "sessionId": form.sessionId or None, "message": form.message}
        if self._as_json:
            why = {"action": "accept"} if content is not None else {"action": "decline", "reason": reason}
            self._line(told | why)
        elif content is None:
            self._say(f"declined, {reason}: {visible(form.message)}")

    def ended(self, session_id: str, answer: schema.PromptResponse) -> None:
        if self._as_json:
            self._line({"type": "prompt_result", "sessionId": session_id, "stopReason": answer.stopReason})
            return
        if self._open:
            click.echo()
            self._open = False
        if answer.stopReason != "end_turn":
            self._say(f"the turn ended: {answer.stopReason}")

    def _say(self, words: str) -> None:
        if self._open:
            click.echo()
            self._open = False
        self._output.say(self._output.paint(words, Style.FAINT, err=True))

    def _line(self, value: dict[str, Any]) -> None:
        click.echo(msgspec.json.encode(value, order="sorted").decode())


def _words(update: schema.SessionUpdate) -> str:
    if isinstance(update, schema.AgentMessageChunk | schema.AgentThoughtChunk | schema.UserMessageChunk):
        return update.content.text if isinstance(update.content, schema.TextContent) else ""
    return ""
