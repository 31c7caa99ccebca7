"""Speak to an agent, as an editor does.

    async with Client.over(connect, handlers) as client:
        session = await client.new_session("/home/ada/project")
        answer = await session.prompt("What is this project about?")     # updates went to handlers.update
        print(answer.stopReason)

What a client can do for an agent is what it has a handler for: that is what `initialize` offers, and everything else is
answered as a method that is not there. Handlers and the runtimes behind them are local; nothing of them is in a message.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from signoff import __version__
from signoff.acp.failures import RequestFailed
from signoff.acp.peer import Call, Handler, Limits, Outlet, Peer
from signoff.domain.errors import PeerError
from signoff.wire import acp_schema as schema
from signoff.wire import jsonrpc

INITIALIZE_S = 60.0  # a cold agent may take its time
Answering: TypeAlias = Callable[[Any], Awaitable[object]]
Hello: TypeAlias = Callable[[], Awaitable[None]]
Connect: TypeAlias = Callable[[Callable[[Outlet], Peer], Hello], contextlib.AbstractAsyncContextManager[Peer]]
"""Open a connection with the peer it is given, say hello on it, and again on every one that replaces it."""


class Handlers(msgspec.Struct, frozen=True, kw_only=True):
    """One for each method of a client; each gets the typed parameters. None: not offered."""

    update: Callable[[schema.SessionNotification], object] = lambda update: None
    permission: Answering | None = None
    read_text_file: Answering | None = None
    write_text_file: Answering | None = None
    create_terminal: Answering | None = None
    terminal_output: Answering | None = None
    wait_for_terminal_exit: Answering | None = None
    kill_terminal: Answering | None = None
    release_terminal: Answering | None = None
    elicit: Answering | None = None
    elicitation_complete: Callable[[schema.CompleteElicitationNotification], object] = lambda done: None

    def table(self) -> dict[str, Handler]:
        named = {
            "session/request_permission": self.permission,
            "fs/read_text_file": self.read_text_file,
            "fs/write_text_file": self.write_text_file,
            "terminal/create": self.create_terminal,
            "terminal/output": self.terminal_output,
            "terminal/wait_for_exit": self.wait_for_terminal_exit,
            "terminal/kill": self.kill_terminal,
            "terminal/release": self.release_terminal,
            "elicitation/create": self.elicit,
        }
        found: dict[str, Handler] = {name: _answering(each) for name, each in named.items() if each is not None}
        found["session/update"] = lambda call, params: self.update(params)
        found["elicitation/complete"] = lambda call, params: self.elicitation_complete(params)
        return found

    def capabilities(self) -> schema.ClientCapabilities:
        terminal = (
            self.create_terminal,
            self.terminal_output,
            self.wait_for_terminal_exit,
            self.kill_terminal,
            self.release_terminal,
        )
        forms = schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
        return schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(
                readTextFile=self.read_text_file is not None, writeTextFile=self.write_text_file is not None
            ),
            terminal=all(terminal),
            session=schema.ClientSessionCapabilities(
                notices=schema.NoticeCapabilities(), compaction=schema.CompactionCapabilities()
            ),
            elicitation=forms if self.elicit is not None else UNSET,
        )


def _answering(handler: Answering) -> Handler:
    async def answer(call: Call, params: Any) -> object:
        return await handler(params)

    return answer


class Client:
    def __init__(self, handlers: Handlers | None = None, *, limit_s: float | None = None) -> None:
        self._handlers = handlers or Handlers()
        self._limit_s = limit_s
        self._peer: Peer | None = None
        self._held: dict[str, tuple[str, tuple[schema.McpServer, ...]]] = {}  # open sessions, to be taken up again
        self._asked: dict[asyncio.Future[object], str] = {}  # open questions for permission, with their session
        self.agent: schema.InitializeResponse | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def over(
        cls,
        connect: Connect,
        handlers: Handlers | None = None,
        *,
        limit_s: float | None = None,
        limits: Limits | None = None,
    ) -> AsyncIterator["Client"]:
        """A client that has said hello. `limit_s` is for each request, in seconds; leaving ends the connection."""
        client = cls(handlers, limit_s=limit_s)

        def make(outlet: Outlet) -> Peer:
            client._peer = Peer(outlet, "client", client._table(), limits=limits)
            return client._peer

        async with connect(make, client._hello):
            yield client

    async def authenticate(self, method: str) -> None:
        await self.request("authenticate", schema.AuthenticateRequest(methodId=method))

    async def logout(self) -> None:
        await self.request("logout", schema.LogoutRequest())
        self._held.clear()

    async def cancel_request(self, request_id: int) -> None:
        """Tell the agent that the answer to a request is not wanted any more."""
        await self._connected().notify("$/cancel_request", schema.CancelRequestNotification(requestId=request_id))

    async def new_session(
        self, cwd: str, *, mcp_servers: Sequence[schema.McpServer] = (), directories: Sequence[str] = ()
    ) -> "Session":
        request = schema.NewSessionRequest(
            cwd=cwd, mcpServers=list(mcp_servers), additionalDirectories=list(directories) or UNSET
        )
        return self._opened((await self.request("session/new", request)), cwd, mcp_servers)

    async def load_session(self, session_id: str, cwd: str) -> "Session":
        """Everything that was said comes as updates before this returns."""
        request = schema.LoadSessionRequest(sessionId=session_id, cwd=cwd, mcpServers=[])
        return self._opened(await self.request("session/load", request), cwd, (), session_id)

    async def resume_session(self, session_id: str, cwd: str) -> "Session":
        request = schema.ResumeSessionRequest(sessionId=session_id, cwd=cwd, mcpServers=[])
        return self._opened(await self.request("session/resume", request), cwd, (), session_id)

    async def fork_session(self, session_id: str, cwd: str) -> "Session":
        request = schema.ForkSessionRequest(sessionId=session_id, cwd=cwd, mcpServers=[])
        return self._opened(await self.request("session/fork", request), cwd, ())

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None) -> schema.ListSessionsResponse:
        request = schema.ListSessionsRequest(cwd=cwd or UNSET, cursor=cursor or UNSET)
        found: schema.ListSessionsResponse = await self.request("session/list", request)
        return found

    async def delete_session(self, session_id: str) -> None:
        self._held.pop(session_id, None)
        await self.request("session/delete", schema.DeleteSessionRequest(sessionId=session_id))

    async def request(self, method: str, params: object) -> Any:
        return await self._connected().request(method, params, within=self._limit_s)

    async def notify(self, method: str, params: object) -> None:
        await self._connected().notify(method, params)

    async def cancel(self, session_id: str) -> None:
        """Stop the prompt of a session; questions that are still open are answered as cancelled, as the protocol wants."""
        await self.notify("session/cancel", schema.CancelNotification(sessionId=session_id))
        for question, about in tuple(self._asked.items()):
            if about == session_id:
                question.cancel()

    def forget(self, session_id: str) -> None:
        self._held.pop(session_id, None)

    def _table(self) -> dict[str, Handler]:
        handler = self._handlers.permission
        if handler is None:
            return self._handlers.table()

        async def permission(request: schema.RequestPermissionRequest) -> object:
            question = asyncio.ensure_future(handler(request))
            self._asked[question] = request.sessionId
            try:
                return await question
            except asyncio.CancelledError:
                if not question.cancelled() or (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                return schema.RequestPermissionResponse(outcome=schema.CancelledPermissionOutcome())
            finally:
                question.cancel()
                del self._asked[question]

        return msgspec.structs.replace(self._handlers, permission=permission).table()

    def _connected(self) -> Peer:
        if self._peer is None:
            raise PeerError("there is no connection")
        return self._peer

    async def _hello(self) -> None:
        """On every new connection: say who we are, and take up what was open."""
        request = schema.InitializeRequest(
            protocolVersion=schema.PROTOCOL_VERSION,
            clientCapabilities=self._handlers.capabilities(),
            clientInfo=schema.Implementation(name="signoff", title="signoff", version=__version__),
        )
        self.agent = await self._connected().request("initialize", request, within=self._limit_s or INITIALIZE_S)
        if self.agent.protocolVersion != schema.PROTOCOL_VERSION:
            raise PeerError(f"the agent speaks version {self.agent.protocolVersion} of the protocol, and we speak 1")
        for session_id, (cwd, servers) in self._held.items():
            again = schema.ResumeSessionRequest(sessionId=session_id, cwd=cwd, mcpServers=list(servers))
            try:
                await self._connected().request("session/resume", again, within=self._limit_s)
            except RequestFailed as error:
                if error.rpc_code != jsonrpc.METHOD_NOT_FOUND:
                    raise

    def _opened(
        self, answer: Any, cwd: str, servers: Sequence[schema.McpServer], session_id: str | None = None
    ) -> "Session":
        name = session_id or str(answer.sessionId)
        self._held[name] = (cwd, tuple(servers))
        return Session(self, name, answer)


class Session:
    """A session that is open on our connection. `state` is what the agent said of it when it was opened."""

    def __init__(self, client: Client, session_id: str, state: Any) -> None:
        self._client = client
        self.id = session_id
        self.state = state

    async def prompt(self, *content: str | schema.ContentBlock) -> schema.PromptResponse:
        blocks: list[schema.ContentBlock] = [
            schema.TextContent(text=each) if isinstance(each, str) else each for each in content
        ]
        request = schema.PromptRequest(sessionId=self.id, prompt=blocks)
        answer: schema.PromptResponse = await self._client.request("session/prompt", request)
        return answer

    async def cancel(self) -> None:
        """Stop the prompt that is being worked on; it then answers `cancelled`."""
        await self._client.cancel(self.id)

    async def set_mode(self, mode: str) -> None:
        await self._client.request("session/set_mode", schema.SetSessionModeRequest(sessionId=self.id, modeId=mode))

    async def set_model(self, model: str) -> None:
        request = schema.SetSessionModelRequest(sessionId=self.id, modelId=model)
        await self._client.request("session/set_model", request)

    async def set_config_option(self, option: str, value: str | bool) -> list[schema.SessionConfigOption]:
        kind: Mapping[str, Any] = {"type": "boolean"} if isinstance(value, bool) else {}
        request = schema.SetSessionConfigOptionRequest(sessionId=self.id, configId=option, value=value, **kind)
        answer: schema.SetSessionConfigOptionResponse = await self._client.request("session/set_config_option", request)
        return answer.configOptions

    async def close(self) -> None:
        self._client.forget(self.id)
        await self._client.request("session/close", schema.CloseSessionRequest(sessionId=self.id))
