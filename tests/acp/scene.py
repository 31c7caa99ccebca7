"""An agent's side with everything real but the model and the sandbox, and clients that speak to it without a transport.

Every frame either side writes is looked at by an independent validator.
"""

import asyncio
import contextlib
import json
import pathlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

from signoff.acp.directory import Directory
from signoff.acp.engine import Engine, Setup, Surroundings
from signoff.acp.live import Manner
from signoff.acp.memory_link import Link, join
from signoff.acp.peer import Call, Handler, Peer
from signoff.acp.prompting import Prompting, Terms
from signoff.acp.server import AgentSide, Profile, offered
from signoff.acp.telemetry import Sink, Telemetry
from signoff.agent.asking import Terms as AgentTerms
from signoff.agent.conversation import Conversation
from signoff.agent.event import TurnEnd
from signoff.agent.loop import Agent
from signoff.agent.modes import Option, options
from signoff.agent.session_log import SessionLog
from signoff.agent.sessions import Sessions
from signoff.agent.toolbox import Toolbox
from signoff.agent.watch import Watch
from signoff.approvals.masked import Masked
from signoff.approvals.rulebook import SessionRules
from signoff.domain.context import Context
from signoff.domain.settings import Redact
from signoff.gate import Gate
from signoff.ledger.redact import Redactor
from signoff.providers.provider import Image, Provider, Text
from signoff.providers.script import Call as ScriptedCall
from signoff.providers.script import Turn
from signoff.providers.scripted import Scripted
from signoff.tools.ask_user import AskUser
from signoff.tools.registry import Registry
from signoff.tools.tool import Place
from signoff.wire import acp_schema as schema
from tests.acp.validator import validate
from tests.fakes.sandboxes import FakeSandboxes
from tests.gate.scene import MemoryFiles
from tests.ledger.books import open_ledger

LIMIT = 300.0  # seconds no test comes near, however busy the machine
MASKS = Redactor(Redact.BASIC, reversible=False)


def says(text: str) -> Turn:
    return Turn(text=text)


def hangs(text: str) -> Turn:
    return Turn(text=text, hang=True)


def calls(name: str, **args: Any) -> Turn:
    return Turn(tools=(ScriptedCall(name, args),))


class Bench:
    """An engine: the real agent and gate on a scripted model."""

    def __init__(
        self, engines: "Benches", setup: Setup, log: SessionLog, around: Surroundings, directory: pathlib.Path
    ) -> None:
        self._conversation = Conversation.resumed(log)
        place = Place(setup.cwd, str(directory))
        registry = Registry()
        registry.add(AskUser(around.ask))
        watch = Watch(around.show)
        context = Context(workspace=setup.cwd, home=str(directory))
        self._ledger = open_ledger(directory / f"runs-{len(engines.opened)}")
        gate = Gate(
            registry=registry,
            rulebook=SessionRules(MemoryFiles(), context),
            reviewer=Masked(around.reviewer, MASKS),
            ledger=self._ledger,
            sandboxes=around.terminals or engines.sandboxes,
            place=place,
            approval=context.approval,
            limit_s=engines.limit_s,
            show=watch,
            files=around.files,
        )
        terms = AgentTerms(model="m", workspace=setup.cwd, trace_id="t")
        self._agent = Agent(
            engines.provider,
            gate,
            Toolbox(registry, place),
            watch,
            terms,
            ask=around.go_on,
            breathe=around.breathe,
        )
        self.closed = False

    async def turn(self, parts: tuple[Text | Image, ...]) -> TurnEnd:
        return await self._agent.turn(self._conversation, parts)

    async def command(self, name: str, rest: str) -> str | None:
        return f"pong {rest}".strip() if name == "ping" else None

    async def aclose(self) -> None:
        self.closed = True
        self._ledger.close()


class Benches:
    commands: Mapping[str, str] = {"ping": "Answers"}

    def __init__(self, directory: pathlib.Path, provider: Provider, limit_s: float = 30.0) -> None:
        self._directory = directory
        self.provider = provider
        self.limit_s = limit_s
        self.sandboxes = FakeSandboxes()
        self.opened: list[Setup] = []

    def choices(self, cwd: str) -> tuple[tuple[Option, ...], Mapping[str, str]]:
        return options(("echo/echo", "echo/other")), {"mode": "ask", "model": "echo/echo", "approval": "on-request"}

    async def open(self, setup: Setup, log: SessionLog, around: Surroundings) -> Engine:
        self.opened.append(setup)
        return Bench(self, setup, log, around, self._directory)


class ClientPeer:
    """A client: keeps the updates, answers permission requests from a list."""

    def __init__(self, scene: "Scene", answers: Iterable[str | None], handlers: Mapping[str, Handler]) -> None:
        self._answers = iter(tuple(answers))
        self.updates: list[schema.SessionNotification] = []
        self.asked: list[schema.RequestPermissionRequest] = []
        self.outlet, self.far = Link(), Link()
        table: dict[str, Handler] = {
            "session/update": lambda call, params: self.updates.append(params),
            "session/request_permission": self._permission,
            **handlers,
        }
        self.peer = Peer(self.outlet, "client", table)
        self.agent_peer = scene.agent.connect(self.far)
        join(self.peer, self.agent_peer)

    async def _permission(self, call: Call, request: schema.RequestPermissionRequest) -> object:
        self.asked.append(request)
        answer = next(self._answers)
        if answer is None:
            await asyncio.Event().wait()
        if answer == "cancelled":
            return schema.RequestPermissionResponse(outcome=schema.CancelledPermissionOutcome())
        return schema.RequestPermissionResponse(outcome=schema.SelectedPermissionOutcome(optionId=str(answer)))

    async def request(self, method: str, **params: Any) -> Any:
        async with asyncio.timeout(LIMIT):
            return await self.peer.request(method, params)

    async def initialize(self, **capabilities: Any) -> schema.InitializeResponse:
        return await self.request("initialize", protocolVersion=1, clientCapabilities=capabilities)

    async def prompt(self, session_id: str, text: str) -> str:
        content = [{"type": "text", "text": text}]
        answer = await self.request("session/prompt", sessionId=session_id, prompt=content)
        return str(answer.stopReason)

    def kinds(self, session_id: str | None = None) -> list[str]:
        """The kinds of updates, chunks of one message counted once."""
        found: list[str] = []
        for update in self.updates:
            if session_id in (None, update.sessionId):
                tag = str(type(update.update).__struct_config__.tag)
                if not (found and found[-1] == tag and tag.endswith("_chunk")):
                    found.append(tag)
        return found

    def text(self) -> str:
        parts = [one.update for one in self.updates if isinstance(one.update, schema.AgentMessageChunk)]
        return "".join(part.content.text for part in parts if isinstance(part.content, schema.TextContent))


class Scene:
    def __init__(
        self,
        directory: pathlib.Path,
        turns: Iterable[Turn] = (),
        *,
        provider: Provider | None = None,
        manner: Manner | None = None,
        terms: Terms | None = None,
        profile: Profile | None = None,
        sink: Sink | None = None,
        idle_s: float | None = None,
        limit_s: float = 30.0,
    ) -> None:
        self.workspace = directory / "space"
        self.workspace.mkdir(exist_ok=True)
        self.warned: list[str] = []
        self.engines = Benches(directory, provider or Scripted(tuple(turns)), limit_s)
        telemetry = Telemetry(sink, warn=self.warned.append)
        self.directory = Directory(
            lambda: Sessions(str(directory / "sessions")), self.engines, MASKS, manner or Manner(), idle_s=idle_s
        )
        prompting = Prompting(terms or Terms(), telemetry)
        self.agent = AgentSide(lambda: self.directory, lambda: prompting, profile or Profile(offered()), telemetry)
        self.clients: list[ClientPeer] = []

    async def client(
        self, answers: Iterable[str | None] = (), handlers: Mapping[str, Handler] | None = None, **capabilities: Any
    ) -> ClientPeer:
        client = ClientPeer(self, answers, handlers or {})
        self.clients.append(client)
        await client.initialize(**capabilities)
        return client

    async def session(self, client: ClientPeer) -> str:
        made = await client.request("session/new", cwd=str(self.workspace), mcpServers=[])
        return str(made.sessionId)

    def part(self, client: ClientPeer) -> None:
        """The client is gone from one moment to the next."""
        client.peer.end("gone")
        client.agent_peer.end("gone")


@contextlib.asynccontextmanager
async def playing(scene: Scene) -> AsyncIterator[Scene]:
    try:
        yield scene
    finally:
        for client in scene.clients:
            client.peer.end("over")
            client.agent_peer.end("over")
            await client.agent_peer.finished()
            await client.peer.finished()
        await scene.agent.aclose()
        for client in scene.clients:
            validate(_frames(client.far), _frames(client.outlet))  # what tests send may be wrong on purpose


def _frames(link: Link) -> list[dict[str, Any]]:
    return [json.loads(frame) for frame in link.sent]


def play(make: Callable[[], Scene], act: Callable[[Scene], Any]) -> None:
    async def run() -> None:
        async with asyncio.timeout(LIMIT), playing(make()) as scene:
            await act(scene)

    asyncio.run(run())


async def until_told(client: ClientPeer, text: str) -> None:
    while text not in client.text():
        await asyncio.sleep(0)
