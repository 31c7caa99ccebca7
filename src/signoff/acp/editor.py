"""The client's own files, forms and terminals, for an agent that may use them. Each asks only what the client offered, of
whoever owns the session at that moment."""

import asyncio
import contextlib
import contextvars
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.acp.failures import ConnectionLost, RequestTimedOut
from signoff.acp.link import Link
from signoff.domain.errors import PeerError
from signoff.sandbox.jobs import Job
from signoff.sandbox.outcome import Allowance, Backend, OnOutput, Outcome, Output, Request
from signoff.wire import acp_schema as schema

if TYPE_CHECKING:
    from signoff.tools.ask_user import AskArguments

Owner = Callable[[], Link | None]
ANSWER = "answer"
OUTPUT_BYTES = 1_048_576
LONGEST_MS = 300_000
FILE_S = 60.0  # for an editor to give or take a text
current_call: contextvars.ContextVar[str] = contextvars.ContextVar("current_call", default="")
"""The call that runs in this task, so that a terminal can be shown where it belongs."""


class EditorFiles:
    """Unsaved buffers. What the client does not have, or cannot give, is read from and written to the disk."""

    def __init__(self, session_id: str, owner: Owner) -> None:
        self._session_id = session_id
        self._owner = owner

    async def read(self, path: str) -> str | None:
        link = self._owner()
        if link is None or link.capabilities is None or not link.capabilities.fs.readTextFile:
            return None
        asked = schema.ReadTextFileRequest(sessionId=self._session_id, path=path)
        try:
            found = await link.request("fs/read_text_file", asked, schema.ReadTextFileResponse, within=FILE_S)
        except RequestTimedOut:
            raise  # it may hold newer text: what the disk has is no answer
        except PeerError:
            return None
        return found.content

    async def write(self, path: str, text: str) -> bool:
        link = self._owner()
        if link is None or link.capabilities is None or not link.capabilities.fs.writeTextFile:
            return False
        told = schema.WriteTextFileRequest(sessionId=self._session_id, path=path, content=text)
        await link.request("fs/write_text_file", told, schema.WriteTextFileResponse, within=FILE_S)
        return True


class EditorForms:
    """Questions of the agent's own, as a form with one field."""

    def __init__(self, session_id: str, owner: Owner) -> None:
        self._session_id = session_id
        self._owner = owner

    async def ask(self, question: "AskArguments") -> str | None:
        choices = [schema.EnumOption(const=option, title=option) for option in question.options]
        answer = schema.StringPropertySchema(title="Answer", oneOf=choices or msgspec.UNSET)
        return await self._filled(question.question, answer)

    async def go_on(self, question: str) -> bool:
        return await self._filled(question, schema.BooleanPropertySchema(title="Go on")) == "True"

    async def _filled(self, message: str, field: schema.ElicitationPropertySchema) -> str | None:
        link = self._owner()
        if link is None or not link.forms:
            return None
        form = schema.ElicitationSchema(properties={ANSWER: field}, required=[ANSWER])
        asked = schema.ElicitationForm(message=message, requestedSchema=form, sessionId=self._session_id)
        try:
            answered = await link.request("elicitation/create", asked, object)
        except PeerError:
            return None
        if not isinstance(answered, schema.ElicitationAccept) or not isinstance(answered.content, dict):
            return None
        given = answered.content.get(ANSWER)
        return None if given is None else str(given)


class EditorTerminals:
    """Commands in terminals of the client instead of our sandbox. The gate knows that nothing holds them back there."""

    confined = False

    def __init__(self, session_id: str, owner: Owner, opened: Callable[[str, str], object]) -> None:
        self._session_id = session_id
        self._owner = owner
        self._opened = opened

    async def start(self, request: Request, allowance: Allowance, on_output: OnOutput | None = None) -> Outcome:
        link = self._link()
        made = await link.request("terminal/create", self._wanted(request), schema.CreateTerminalResponse)
        named: dict[str, Any] = {"sessionId": self._session_id, "terminalId": made.terminalId}
        self._opened(current_call.get(), made.terminalId)
        try:
            ended, timed_out = await self._ended(link, named, request.timeout_ms)
            said = await link.request(
                "terminal/output", schema.TerminalOutputRequest(**named), schema.TerminalOutputResponse
            )
        finally:
            await self._release(link, named)
        if on_output is not None:
            on_output(1, said.output.encode())
        return _outcome(ended, said, timed_out)

    async def _ended(
        self, link: Link, named: dict[str, Any], limit_ms: int | None
    ) -> tuple[schema.WaitForTerminalExitResponse, bool]:
        """How the command ended, and whether that was because its time was up."""
        waiting = schema.WaitForTerminalExitRequest(**named)
        try:
            async with asyncio.timeout((limit_ms or LONGEST_MS) / 1_000):
                ended = await link.request("terminal/wait_for_exit", waiting, schema.WaitForTerminalExitResponse)
                return ended, False
        except TimeoutError:
            await link.request("terminal/kill", schema.KillTerminalRequest(**named), schema.KillTerminalResponse)
            return schema.WaitForTerminalExitResponse(signal="SIGKILL"), True

    async def begin(self, request: Request, allowance: Allowance) -> Job:
        raise PeerError("a command cannot go on in the background of the client's terminals", hint="Run it in front.")

    def _link(self) -> Link:
        link = self._owner()
        if link is None:
            raise ConnectionLost("nobody is connected")
        if link.capabilities is None or not link.capabilities.terminal:
            raise PeerError("the client has no terminals", hint="Serve without --client-terminals.")
        return link

    def _wanted(self, request: Request) -> schema.CreateTerminalRequest:
        return schema.CreateTerminalRequest(
            sessionId=self._session_id,
            command=request.argv[0],
            args=list(request.argv[1:]),
            cwd=request.cwd if request.cwd is not None else msgspec.UNSET,
            outputByteLimit=request.max_output_bytes or OUTPUT_BYTES,
        )

    async def _release(self, link: Link, named: dict[str, Any]) -> None:
        """Also ends the command, where it still runs because nobody waits for it any more."""
        with contextlib.suppress(PeerError):  # with the connection the client's terminals are gone as well
            released = link.request(
                "terminal/release", schema.ReleaseTerminalRequest(**named), schema.ReleaseTerminalResponse
            )
            await asyncio.shield(asyncio.ensure_future(released))


def _outcome(
    ended: schema.WaitForTerminalExitResponse, said: schema.TerminalOutputResponse, timed_out: bool
) -> Outcome:
    code = ended.exitCode if isinstance(ended.exitCode, int) else None
    data = said.output.encode()
    return Outcome(
        exit_code=code if code is not None else (None if ended.signal else 0),
        signal=_number(ended.signal) if isinstance(ended.signal, str) else None,
        timed_out=timed_out,
        stdout=Output(data, 1 if said.truncated else 0),
        stderr=Output(),
        backend=Backend.NONE,
        duration_ms=0.0,
    )


def _number(name: str) -> int:
    wanted = name.upper() if name.upper().startswith("SIG") else f"SIG{name.upper()}"
    return next((number.value for number in signal.Signals if number.name == wanted), signal.SIGKILL.value)
