"""What our client does for a foreign agent: files and terminals, each through the gate and, for commands, the sandbox.

A refusal is an error answer that says why. Runtimes like these are local; nothing of how they work is in a message.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import UNSET

from signoff.acp.client import Handlers
from signoff.acp.desk_tools import CREATE, READ, WRITE
from signoff.acp.failures import RequestFailed, not_found
from signoff.domain.call import ToolResult
from signoff.domain.errors import NotFound
from signoff.sandbox.jobs import Job, Jobs
from signoff.wire import acp_schema as schema
from signoff.wire import jsonrpc

Perform = Callable[[str, dict[str, Any]], Awaitable[ToolResult]]
"""Carry a call of a tool of `desk_tools` through the gate."""
OUTPUT_BYTES = 1_048_576


class _Terminal(msgspec.Struct, frozen=True):
    session_id: str
    job_id: str
    limit: int


class Desk:
    def __init__(self, perform: Perform, jobs: Jobs) -> None:
        self._perform = perform
        self._jobs = jobs
        self._terminals: dict[str, _Terminal] = {}

    def serving(self, handlers: Handlers) -> Handlers:
        """The handlers with files and terminals added."""
        return msgspec.structs.replace(
            handlers,
            read_text_file=self._read,
            write_text_file=self._write,
            create_terminal=self._create,
            terminal_output=self._output,
            wait_for_terminal_exit=self._wait,
            kill_terminal=self._kill,
            release_terminal=self._release,
        )

    async def _read(self, request: schema.ReadTextFileRequest) -> object:
        wanted = {"path": request.path, "line": request.line or None, "limit": request.limit or None}
        payload = await self._done(READ, {name: value for name, value in wanted.items() if value is not None})
        return schema.ReadTextFileResponse(content=payload["content"])

    async def _write(self, request: schema.WriteTextFileRequest) -> object:
        await self._done(WRITE, {"path": request.path, "content": request.content})
        return schema.WriteTextFileResponse()

    async def _create(self, request: schema.CreateTerminalRequest) -> object:
        args: dict[str, Any] = {"command": request.command, "args": list(request.args or ())}
        if request.env:
            args["env"] = [[each.name, each.value] for each in request.env]
        if request.cwd:
            args["cwd"] = request.cwd
        payload = await self._done(CREATE, args)
        limit = request.outputByteLimit if isinstance(request.outputByteLimit, int) else OUTPUT_BYTES
        name = f"terminal-{len(self._terminals) + 1}-{payload['job_id']}"
        self._terminals[name] = _Terminal(request.sessionId, payload["job_id"], limit)
        return schema.CreateTerminalResponse(terminalId=name)

    async def _output(self, request: schema.TerminalOutputRequest) -> object:
        terminal = self._terminal(request.sessionId, request.terminalId)
        job, piece = self._job(terminal), self._jobs.read(terminal.job_id)
        kept = piece.data[-terminal.limit :] if terminal.limit else b""
        return schema.TerminalOutputResponse(
            output=_text(kept, whole=len(kept) == len(piece.data) and piece.start == 0),
            truncated=len(kept) < job.written,
            exitStatus=UNSET if job.status is None else schema.TerminalExitStatus(**_ended(job)),
        )

    async def _wait(self, request: schema.WaitForTerminalExitRequest) -> object:
        terminal, loop = self._terminal(request.sessionId, request.terminalId), asyncio.get_running_loop()
        over: asyncio.Future[Job] = loop.create_future()

        def settle(job: Job) -> None:
            if not over.done():
                over.set_result(job)

        def tell(job: Job) -> None:
            loop.call_soon_threadsafe(settle, job)

        self._jobs.when_over(terminal.job_id, tell)
        return schema.WaitForTerminalExitResponse(**_ended(await over))

    async def _kill(self, request: schema.KillTerminalRequest) -> object:
        terminal = self._terminal(request.sessionId, request.terminalId)
        await asyncio.to_thread(self._jobs.stop, terminal.job_id)
        return schema.KillTerminalResponse()

    async def _release(self, request: schema.ReleaseTerminalRequest) -> object:
        terminal = self._terminal(request.sessionId, request.terminalId)
        del self._terminals[request.terminalId]
        await asyncio.to_thread(self._jobs.stop, terminal.job_id)
        return schema.ReleaseTerminalResponse()

    async def _done(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        result = await self._perform(tool, args)
        if result.error is None:
            return result.payload or {}
        code = jsonrpc.NOT_FOUND if result.error.code == NotFound.code else jsonrpc.INTERNAL_ERROR
        raise RequestFailed(code, result.error.message, {"code": result.error.code})

    def _terminal(self, session_id: str, terminal_id: str) -> _Terminal:
        found = self._terminals.get(terminal_id)
        if found is None or found.session_id != session_id:
            raise not_found(f"this session has no terminal {terminal_id!r}")
        return found

    def _job(self, terminal: _Terminal) -> Job:
        return next(job for job in self._jobs.list() if job.id == terminal.job_id)


def _ended(job: Job) -> dict[str, Any]:
    status = job.status or 0
    if 128 < status < 128 + signal.NSIG:
        return {"signal": signal.Signals(status - 128).name}
    return {"exitCode": status}


def _text(data: bytes, *, whole: bool) -> str:
    """Cut at a character, not in the middle of one."""
    text = data.decode("utf-8", "replace")
    return text if whole else text.lstrip("\ufffd")
