"""The agent's side of the protocol: one object for all connections, a peer for each.

agent = AgentSide(lambda: directory, lambda: prompting, profile, telemetry)
peer = agent.connect(outlet)        # a transport does this for every connection, then feeds `peer.receive`

What works behind sessions is made with the first request for one: a client that only says hello does not wait for it.
"""

import datetime
import functools
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from signoff import __version__
from signoff.acp.failures import RequestFailed, invalid_params, method_not_found
from signoff.acp.link import Link
from signoff.acp.options import MODE, MODEL
from signoff.acp.peer import Call, Handler, Limits, Outlet, Peer, Report, nowhere
from signoff.acp.telemetry import Name, Telemetry
from signoff.domain.errors import NoModel, NotFound, SignoffError, ToolConflict, UsageError
from signoff.wire import acp_schema as schema
from signoff.wire import jsonrpc

if TYPE_CHECKING:
    from signoff.acp.directory import Directory
    from signoff.acp.live import Live
    from signoff.acp.prompting import Prompting

PAGE = 50
Authenticate = Callable[[str], Awaitable[None]]
"""Try a method of authentication; raises RequestFailed where it does not work."""


async def nothing_to_do(method: str) -> None:
    """There is no account of ours to sign in to."""


class Profile(msgspec.Struct, frozen=True):
    """What this agent offers. What is not offered is answered as if there were no such method."""

    capabilities: schema.AgentCapabilities
    strict_version: bool = False
    page_size: int = PAGE
    tells_title: bool = False  # after the first prompt that went well
    auth_methods: tuple[schema.AuthMethod, ...] = ()
    authenticate: Authenticate = nothing_to_do


def offered() -> schema.AgentCapabilities:
    """Everything we can do."""
    return schema.AgentCapabilities(
        loadSession=True,
        promptCapabilities=schema.PromptCapabilities(image=True, embeddedContext=True),
        mcpCapabilities=schema.McpCapabilities(http=True),
        sessionCapabilities=schema.SessionCapabilities(
            list=schema.SessionListCapabilities(),
            delete=schema.SessionDeleteCapabilities(),
            additionalDirectories=schema.SessionAdditionalDirectoriesCapabilities(),
            resume=schema.SessionResumeCapabilities(),
            close=schema.SessionCloseCapabilities(),
            fork=schema.SessionForkCapabilities(),
        ),
        auth=schema.AgentAuthCapabilities(logout=schema.LogoutCapabilities()),
    )


class AgentSide:
    def __init__(
        self,
        open_directory: "Callable[[], Directory]",
        open_prompting: "Callable[[], Prompting]",
        profile: Profile,
        telemetry: Telemetry,
        *,
        limits: Limits | None = None,
        report: Report | None = None,
    ) -> None:
        self._open_directory = open_directory
        self._open_prompting = open_prompting
        self._profile = profile
        self._telemetry = telemetry
        self._limits = limits
        self._report = report
        self._missing = _missing(profile.capabilities)
        self._numbers: Iterator[int] = itertools.count(1)
        self._links: dict[Peer, Link] = {}

    @functools.cached_property
    def _directory(self) -> "Directory":
        return self._open_directory()

    @property
    def _opened(self) -> bool:
        return "_directory" in self.__dict__

    @functools.cached_property
    def _prompting(self) -> "Prompting":
        return self._open_prompting()

    def connect(self, outlet: Outlet) -> Peer:
        link = Link()
        link.peer = Peer(
            outlet,
            "agent",
            self.handlers(link),
            limits=self._limits,
            numbers=self._numbers,
            report=self._report,
            translate=_in_their_words,
        )
        link.post = link.peer.post
        link.peer.on_end = lambda: self._parted(link)
        self._links[link.peer] = link
        return link.peer

    def link(self, peer: Peer) -> Link:
        return self._links[peer]

    def _parted(self, link: Link) -> None:
        if self._opened:
            self._directory.part(link)
        if link.peer is not None:
            self._links.pop(link.peer, None)
            link.peer, link.post = None, nowhere  # the handlers of the one hold the link

    async def aclose(self) -> None:
        if self._opened:
            await self._directory.aclose()

    def handlers(self, link: Link) -> Mapping[str, Handler]:
        """Every method of an agent, as this connection gets it."""
        table: dict[str, Callable[[Link, Call, Any], object]] = {
            "authenticate": self._authenticate,
            "logout": self._logout,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
            "session/set_model": self._set_model,
        }
        bound: dict[str, Handler] = {name: self._guarded(link, handler) for name, handler in table.items()}
        bound["initialize"] = lambda call, request: self._initialize(link, request)
        bound["session/cancel"] = lambda call, request: self._cancel(link, request)
        return bound

    def _guarded(self, link: Link, handler: Callable[[Link, Call, Any], object]) -> Handler:
        def answer(call: Call, request: Any) -> object:
            if link.capabilities is None:
                raise RequestFailed(jsonrpc.INVALID_REQUEST, "initialize comes first")
            if call.method in self._missing:
                raise method_not_found(call.method)
            return handler(link, call, request)

        return answer

    def _initialize(self, link: Link, request: schema.InitializeRequest) -> schema.InitializeResponse:
        if link.capabilities is not None:
            raise RequestFailed(jsonrpc.INVALID_REQUEST, "this connection is initialized already")
        if self._profile.strict_version and request.protocolVersion != schema.PROTOCOL_VERSION:
            raise invalid_params(f"this agent speaks version {schema.PROTOCOL_VERSION} only")
        link.capabilities = request.clientCapabilities
        return schema.InitializeResponse(
            protocolVersion=schema.PROTOCOL_VERSION,
            agentCapabilities=self._profile.capabilities,
            authMethods=list(self._profile.auth_methods),
            agentInfo=schema.Implementation(name="signoff", title="signoff", version=__version__),
        )

    async def _authenticate(self, link: Link, call: Call, request: schema.AuthenticateRequest) -> object:
        if request.methodId not in [method.id for method in self._profile.auth_methods]:
            raise invalid_params(f"there is no method {request.methodId!r} to authenticate with")
        await self._profile.authenticate(request.methodId)
        link.signed_out = False
        return schema.AuthenticateResponse()

    async def _logout(self, link: Link, call: Call, request: schema.LogoutRequest) -> object:
        await self._directory.leave(link)
        link.signed_out = bool(self._profile.auth_methods)
        return schema.LogoutResponse()

    async def _new(self, link: Link, call: Call, request: schema.NewSessionRequest) -> object:
        _signed_in(link)
        live = self._directory.create(request, link)
        self._telemetry.tell(Name.SESSION_NEW, live.id, call)
        return schema.NewSessionResponse(sessionId=live.id, **live.chosen.states())

    async def _load(self, link: Link, call: Call, request: schema.LoadSessionRequest) -> object:
        _signed_in(link)
        live = await self._directory.take_up(request.sessionId, request, link)
        for update in self._directory.history(live):
            live.tell(update)
            if (congestion := link.breathe()) is not None:
                await congestion
        self._telemetry.tell(Name.SESSION_LOAD, live.id, call)
        return schema.LoadSessionResponse(**live.chosen.states())

    async def _resume(self, link: Link, call: Call, request: schema.ResumeSessionRequest) -> object:
        _signed_in(link)
        live = await self._directory.take_up(request.sessionId, request, link)
        self._telemetry.tell(Name.SESSION_LOAD, live.id, call, resumed=True)
        return schema.ResumeSessionResponse(**live.chosen.states())

    async def _fork(self, link: Link, call: Call, request: schema.ForkSessionRequest) -> object:
        _signed_in(link)
        live = self._directory.fork(request.sessionId, request, link)
        self._telemetry.tell(Name.SESSION_NEW, live.id, call, forkedFrom=request.sessionId)
        return schema.ForkSessionResponse(sessionId=live.id, **live.chosen.states())

    async def _list(self, link: Link, call: Call, request: schema.ListSessionsRequest) -> object:
        page = self._directory.page(request.cwd or None, request.cursor or None, self._profile.page_size)
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(
                    sessionId=each.id, cwd=each.cwd, title=each.title or UNSET, updatedAt=_when(each.updated_ms)
                )
                for each in page.sessions
            ],
            nextCursor=page.next_cursor or UNSET,
        )

    async def _close(self, link: Link, call: Call, request: schema.CloseSessionRequest) -> object:
        self._directory.owned(link, request.sessionId)
        await self._directory.close(request.sessionId)
        self._telemetry.tell(Name.SESSION_CLOSE, request.sessionId, call)
        return schema.CloseSessionResponse()

    async def _delete(self, link: Link, call: Call, request: schema.DeleteSessionRequest) -> object:
        await self._directory.delete(request.sessionId)
        self._telemetry.tell(Name.SESSION_DELETE, request.sessionId, call)
        return schema.DeleteSessionResponse()

    def _set_mode(self, link: Link, call: Call, request: schema.SetSessionModeRequest) -> object:
        self._chosen(link, request.sessionId, MODE, request.modeId)
        return schema.SetSessionModeResponse()

    def _set_model(self, link: Link, call: Call, request: schema.SetSessionModelRequest) -> object:
        self._chosen(link, request.sessionId, MODEL, request.modelId)
        return schema.SetSessionModelResponse()

    def _set_config_option(self, link: Link, call: Call, request: schema.SetSessionConfigOptionRequest) -> object:
        live = self._chosen(link, request.sessionId, request.configId, request.value)
        return schema.SetSessionConfigOptionResponse(configOptions=live.chosen.config)

    def _chosen(self, link: Link, session_id: str, option: str, value: object) -> "Live":
        live = self._directory.owned(link, session_id)
        live.choose(option, value)
        for update in live.changes(option):
            live.tell(update)
        return live

    def _prompt(self, link: Link, call: Call, request: schema.PromptRequest) -> object:
        _signed_in(link)
        live = self._directory.owned(link, request.sessionId)
        prompting = self._prompting.prompt(live, call, request)
        return self._titled(live, prompting) if self._profile.tells_title and not live.told_title else prompting

    async def _titled(self, live: "Live", prompting: Awaitable[schema.PromptResponse]) -> schema.PromptResponse:
        answer = await prompting
        if answer.stopReason == "end_turn" and not live.told_title:
            live.told_title = True
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
            live.tell(schema.SessionInfoUpdate(title=live.title, updatedAt=now))
        return answer

    async def _cancel(self, link: Link, request: schema.CancelNotification) -> None:
        try:
            live = self._directory.owned(link, request.sessionId)
        except SignoffError:
            return  # it has ended already, or was never ours
        await live.stop()


def _in_their_words(error: Exception) -> Exception:
    """What went wrong, with the protocol's codes."""
    match error:
        case NotFound():
            return RequestFailed(jsonrpc.NOT_FOUND, error.message)
        case UsageError():
            return invalid_params(f"{error.message}. {error.hint}" if error.hint else error.message)
        case NoModel():
            return RequestFailed(jsonrpc.AUTH_REQUIRED, f"{error.message}. {error.hint}")
        case ToolConflict():
            return RequestFailed(jsonrpc.INVALID_REQUEST, error.message, {"code": error.code})
        case _:
            return error


def _missing(can: schema.AgentCapabilities) -> frozenset[str]:
    """The methods that these capabilities leave out."""
    gates: dict[str, object] = {
        "logout": can.auth.logout,
        "session/load": can.loadSession,
        "session/resume": can.sessionCapabilities.resume,
        "session/fork": can.sessionCapabilities.fork,
        "session/list": can.sessionCapabilities.list,
        "session/close": can.sessionCapabilities.close,
        "session/delete": can.sessionCapabilities.delete,
    }
    return frozenset(method for method, gate in gates.items() if gate in (None, False, UNSET))


def _signed_in(link: Link) -> None:
    if link.signed_out:
        raise RequestFailed(jsonrpc.AUTH_REQUIRED, "you have logged out; authenticate first")


def _when(milliseconds: int) -> str:
    return datetime.datetime.fromtimestamp(milliseconds / 1_000, datetime.UTC).isoformat(timespec="milliseconds")
