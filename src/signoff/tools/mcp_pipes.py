"""The two streams of a tool server that runs as a program here. `sandbox/child` starts and ends it; the protocol library
only gets messages."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from signoff.domain.late import late
from signoff.domain.tool_server import LocalServer
from signoff.sandbox import child
from signoff.sandbox.environment import Setting, command_environment

if TYPE_CHECKING:
    import anyio
    from mcp import types as mcp_types
    from mcp.shared import message as mcp_message
else:
    anyio, mcp_types, mcp_message = late("anyio"), late("mcp.types"), late("mcp.shared.message")

LONGEST_LINE = 16 << 20
_TAIL_LINES = 5


class Talk:
    """What a program says beside the protocol: the last lines of its stderr, and that it has ended."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._lines: deque[str] = deque(maxlen=_TAIL_LINES)

    def hear(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        if text:
            self._lines.append(text[:300])

    def last(self) -> str:
        return "\n".join(self._lines)


@contextlib.asynccontextmanager
async def piped(
    server: LocalServer, environ: Mapping[str, str], directory: str, talk: Talk
) -> AsyncIterator[tuple[Any, Any]]:
    """Start it and give what it says and what it is told, as streams of messages. Leaving ends it and its family."""
    surroundings = {**command_environment(environ, Setting(backend=None)), **server.env}
    program = child.start((server.command, *server.args), environ=surroundings, cwd=directory)
    try:
        stdin, stdout, stderr = program.hand_over()
        assert stdin is not None and stdout is not None and stderr is not None
        async with _reading(stdout) as said, _reading(stderr) as complained, _writing(stdin) as told:
            heard_in, heard = anyio.create_memory_object_stream[Any](0)
            asked, asked_out = anyio.create_memory_object_stream[Any](0)
            async with anyio.create_task_group() as group:
                group.start_soon(_listen, said, heard_in, talk)
                group.start_soon(_speak, asked_out, told)
                group.start_soon(_overhear, complained, talk)
                try:
                    yield heard, asked
                finally:
                    group.cancel_scope.cancel()
                    for stream in (heard, asked, heard_in, asked_out):
                        stream.close()
    finally:
        await asyncio.to_thread(program.close)


async def _listen(said: asyncio.StreamReader, heard: Any, talk: Talk) -> None:
    """One message a line. The end of the program, or a line beyond all measure, ends the conversation."""
    async with heard:
        with contextlib.suppress(ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while line := await said.readline():
                if line.strip():
                    await heard.send(_message(line))
        talk.ended.set()


def _message(line: bytes) -> Any:
    try:
        return mcp_message.SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:  # for the session to count, as its own transport does
        return error


async def _speak(asked: Any, told: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        async for message in asked:
            told.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await told.drain()


async def _overhear(complained: asyncio.StreamReader, talk: Talk) -> None:
    while True:
        try:
            line = await complained.readline()
        except ValueError:  # longer than anybody reads
            continue
        if not line:
            return
        talk.hear(line)


@contextlib.asynccontextmanager
async def _reading(descriptor: int) -> AsyncIterator[asyncio.StreamReader]:
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    try:
        yield reader
    finally:
        transport.close()


@contextlib.asynccontextmanager
async def _writing(descriptor: int) -> AsyncIterator[asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(descriptor, "wb", buffering=0)
    )
    try:
        yield asyncio.StreamWriter(transport, protocol, None, loop)
    finally:
        if not transport.is_closing():  # the program has not ended before us
            transport.abort()
