"""Tool servers (MCP): connect to those that are configured, and put what they offer among the tools.

    async with McpServers(servers, registry, settings):
        …                                   # registry.find("mcp__SERVER__TOOL")

One that cannot be reached, or says nothing in time, is warned about, and the others are there all the same. The protocol
library is imported when there is a server to talk to, and only then. A program that ends is started again.
"""

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import msgspec

from signoff.domain.errors import ChildLost, ConfigError, SignoffError, ToolError, ToolTimeout
from signoff.domain.late import late
from signoff.domain.tool_server import LocalServer, ToolServer
from signoff.tools.mcp_pipes import Talk, piped
from signoff.tools.mcp_tool import McpTool, Memory, Offer, Reply, answer_of
from signoff.tools.registry import Registry
from signoff.tools.tool import Attempt

if TYPE_CHECKING:
    import anyio
    import mcp
    from mcp import types as mcp_types

    from signoff.tools import mcp_http
else:
    anyio, mcp, mcp_types = late("anyio"), late("mcp"), late("mcp.types")
    mcp_http = late("signoff.tools.mcp_http")

START_SECONDS = 30.0
CALL_SECONDS = 300.0
MOST_RESTARTS = 3  # of one server
MOST_TOOLS = 256  # of one server
_MOST_PAGES = 20


class Surroundings(msgspec.Struct, frozen=True):
    """What servers are given of the session they serve."""

    directory: str
    environ: Mapping[str, str]
    memory: Memory
    warn: Callable[[str], object]
    start_seconds: float = START_SECONDS
    call_seconds: float = CALL_SECONDS


class McpServers:
    """The servers of one session, from `async with` to its end."""

    def __init__(self, servers: Iterable[ToolServer], registry: Registry, surroundings: Surroundings) -> None:
        self._connections = [_Connection(server, registry, surroundings) for server in servers]
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Returns when each server has answered, failed or taken too long."""
        self._tasks = [asyncio.create_task(one.stay(), name=f"mcp {one.server.name}") for one in self._connections]
        try:
            await asyncio.gather(*(one.settled.wait() for one in self._connections))
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for one in self._connections:
            one.leaving.set()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def failed(self) -> dict[str, str]:
        """Servers that are not there, with the reason."""
        return {one.server.name: one.failure for one in self._connections if one.failure is not None}


class _Connection:
    """One server. Everything that must be entered and left by the same task happens in `stay`."""

    def __init__(self, server: ToolServer, registry: Registry, surroundings: Surroundings) -> None:
        self.server, self._registry, self._around = server, registry, surroundings
        self.settled, self.leaving = asyncio.Event(), asyncio.Event()
        self._changed, self._wanted = asyncio.Event(), asyncio.Event()
        self.failure: str | None = None
        self._talk = Talk()
        self._session: mcp.ClientSession | None = None
        self._tools: set[str] = set()

    async def stay(self) -> None:
        """Until the session ends. A program that was there and ended is started again for its next call, a few times."""
        try:
            for _ in range(1 + MOST_RESTARTS):
                if not await self._served() or not await self._wanted_again():
                    return
            self._failed(ChildLost(f"it ended {1 + MOST_RESTARTS} times"))
        finally:
            self.settled.set()

    async def _served(self) -> bool:
        """From its first word to its last. True: it was there, and ended by itself."""
        self._talk = Talk()
        try:
            async with self._connected() as session:
                with anyio.fail_after(self._around.start_seconds):
                    await session.initialize()
                    self._offer(await _listed(session))
                self._session = session
                self.settled.set()
                await self._until_over(session)
        except (Exception, BaseExceptionGroup) as error:  # whatever a server does is its own end, not the session's
            self._failed(error)
            return False
        finally:
            self._session = None
        return not self.leaving.is_set()

    async def _wanted_again(self) -> bool:
        said = self._talk.last()
        self._around.warn(
            f"the tool server {self.server.name!r} ended; the next call starts it again{said and f'; it said: {said}'}"
        )
        await _first(self._wanted, self.leaving)
        self._wanted.clear()
        return not self.leaving.is_set()

    async def _until_over(self, session: "mcp.ClientSession") -> None:
        """List its tools again whenever it says that they changed."""
        while True:
            await _first(self.leaving, self._talk.ended, self._changed)
            if self.leaving.is_set() or self._talk.ended.is_set():
                return
            self._changed.clear()
            self._offer(await _listed(session))

    @contextlib.asynccontextmanager
    async def _connected(self) -> "AsyncIterator[mcp.ClientSession]":
        try:
            await asyncio.to_thread(importlib.import_module, "mcp")  # takes a second
        except ModuleNotFoundError as error:
            raise ConfigError("the MCP library is not installed", hint="pip install 'signoff[mcp]'") from error
        async with (
            self._transport() as (heard, asked),
            mcp.ClientSession(heard, asked, message_handler=self._hear) as session,
        ):
            yield session

    def _transport(self) -> contextlib.AbstractAsyncContextManager[Any]:
        if isinstance(self.server, LocalServer):
            return piped(self.server, self._around.environ, self._around.directory, self._talk)
        return mcp_http.over_http(self.server, self._around.call_seconds)

    async def _hear(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._changed.set()

    def _offer(self, offers: list[Offer]) -> None:
        for name in self._tools:
            self._registry.remove(name)
        made = [McpTool(self.server, offer, self._around.memory, self.send) for offer in offers]
        for tool in made:
            self._registry.add(tool)
        self._tools = {tool.name for tool in made}

    def _failed(self, error: BaseException) -> None:
        for name in self._tools:
            self._registry.remove(name)
        said = self._talk.last()
        self.failure = _reason(error) + (f"; it said: {said}" if said else "")
        self._around.warn(f"the tool server {self.server.name!r} is not there: {self.failure}")

    async def send(self, name: str, args: dict[str, Any], attempt: Attempt) -> Reply:
        """One call. Progress that the server reports is passed on."""
        if self._talk.ended.is_set() and self.failure is None and not self.leaving.is_set():
            self.settled.clear()
            self._wanted.set()
        await self.settled.wait()
        if self._session is None:
            raise ChildLost(f"the tool server {self.server.name!r} is gone: {self.failure or 'it was left'}")

        async def report(progress: float, total: float | None, message: str | None) -> None:
            part = f"{progress:g}" + ("" if total is None else f"/{total:g}")
            attempt.progress("stdout", f"{part} {message or ''}".rstrip() + "\n")

        try:
            with anyio.fail_after(self._around.call_seconds):
                result = await self._session.call_tool(name, args, progress_callback=report)
        except TimeoutError as error:
            raise ToolTimeout(f"{self.server.name} did not answer within {self._around.call_seconds:g} s") from error
        except (RuntimeError, mcp.MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise ToolError(f"{self.server.name}: {error or type(error).__name__}") from error
        return _reply(result)


async def _first(*events: asyncio.Event) -> None:
    """Until one of them has come."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()


async def _listed(session: "mcp.ClientSession") -> list[Offer]:
    offers: dict[str, Offer] = {}
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        params = None if cursor is None else mcp_types.PaginatedRequestParams(cursor=cursor)
        page = await session.list_tools(params=params)
        for tool in page.tools:
            offers[tool.name] = Offer(tool.name, tool.description or "", tool.input_schema, tool.output_schema)
        cursor = page.next_cursor
        if cursor is None:
            break
    return list(offers.values())[:MOST_TOOLS]


def _reply(result: "mcp_types.CallToolResult") -> Reply:
    texts: list[str] = []
    images: list[tuple[str, str]] = []
    for block in result.content:
        match block:
            case mcp_types.TextContent():
                texts.append(block.text)
            case mcp_types.ImageContent():
                images.append((block.mime_type, block.data))
            case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents() as resource):
                texts.append(resource.text)
            case mcp_types.ResourceLink():
                texts.append(f"{block.name}: {block.uri}")
            case _:
                texts.append(f"[{block.type}]")
    structured = result.structured_content if isinstance(result.structured_content, dict) else None
    return Reply(answer_of(texts, images, structured), bool(result.is_error))


def _reason(error: BaseException) -> str:
    """The first thing that went wrong, out of the groups it may come in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SignoffError):
        return error.message + (f" ({error.hint})" if error.hint else "")
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
