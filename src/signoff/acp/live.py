"""A session at work: its log, what was chosen for it, who owns it, and the one turn it may be in.

It outlives connections: a turn whose client has gone runs on to its end, unseen (what would be asked then is a no), and
whoever loads the session later sees all of it.
"""

import asyncio
import enum
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from signoff.acp.editor import EditorFiles, EditorForms, EditorTerminals, current_call
from signoff.acp.engine import Engine, Engines, Setup, Surroundings
from signoff.acp.failures import ConnectionLost
from signoff.acp.link import Link, heading
from signoff.acp.options import MODE, Chosen
from signoff.acp.permission import ClientReviewer, Memory, Mode, Permission
from signoff.acp.question import choices
from signoff.acp.updates import TELLING, Masks, Narration, commands, offered
from signoff.agent.conversation import first_line
from signoff.agent.event import AgentEvent, Reason, TurnEnd
from signoff.agent.session_log import Configured, SessionLog
from signoff.domain.errors import PeerError, UsageError
from signoff.domain.event import CallStarted
from signoff.domain.review import Denied, ReviewDecision, TimedOut
from signoff.policy.fingerprint import fingerprint
from signoff.providers.provider import Image, Message, Retrying, Text
from signoff.wire import acp_schema as schema
from signoff.wire.acp import encode


class Interruption(enum.Enum):
    """Why a turn was ended before its time."""

    STOPPED = enum.auto()  # by the client, or because the session is closed
    WITHDRAWN = enum.auto()  # nobody wants an answer to the prompt any more
    TIMED_OUT = enum.auto()


class Manner(msgspec.Struct, frozen=True):
    """How the server deals with its sessions."""

    permission: Mode = Mode.REQUIRED
    asks_about_calls: bool = True  # False: a yes to the prompt is a yes to what it needs
    client_terminals: bool = False
    permission_timeout_s: float = 300.0
    warn: Callable[[str], object] = lambda message: None


class Live:
    def __init__(
        self,
        log: SessionLog,
        setup: Setup,
        chosen: Chosen,
        engines: Engines,
        masks: Masks,
        manner: Manner,
    ) -> None:
        self.id = log.id
        self._heading = heading(log.id)
        self.log = log
        self.setup = setup
        self.chosen = chosen
        self.memory = Memory()
        self.owner: Link | None = None
        self.turn: asyncio.Task[Any] | None = None  # whoever is busy with it
        self.interrupted: Interruption | None = None  # the turn, that is; it has no other ending then
        self.touched = time.monotonic()
        self.told_commands = False
        self.told_title = False
        self.title = ""
        self.on_retry: Callable[[Retrying], object] = _unheard
        self._opened_with = setup
        self._engines = engines
        self._engine: Engine | None = None
        self._manner = manner
        self._silent = True  # outside a turn, and when the turn is being stopped
        self._narration = Narration(setup.cwd, masks, time.monotonic)

    def own(self, link: Link) -> None:
        """From now on everything goes to this connection."""
        if self.owner is not None:
            self.owner.sessions.discard(self.id)
        self.owner = link
        self.told_commands = False
        self._narration.offered = offered(link.capabilities)
        link.sessions.add(self.id)
        self.touched = time.monotonic()

    def tell(self, update: schema.SessionUpdate) -> None:
        if self.owner is not None:
            self.owner.post(b"".join((self._heading, encode(update), b"}}")))

    def choose(self, option: str, value: object) -> None:
        """Raises UsageError for what is not offered. Takes effect with the next turn."""
        before = self.chosen
        self.chosen = before.choose(option, value)
        self.touched = time.monotonic()
        if self.chosen.values == before.values:
            return
        self.setup = msgspec.structs.replace(self.setup, values=self.chosen.values)
        self.log.append(Configured(option, self.chosen.values[option]))

    def changes(self, option: str) -> list[schema.SessionUpdate]:
        """What a client has to be told after `option` was chosen."""
        updates: list[schema.SessionUpdate] = [schema.ConfigOptionUpdate(configOptions=self.chosen.config)]
        if option == MODE:
            updates.insert(0, schema.CurrentModeUpdate(currentModeId=self.chosen.values[MODE]))
        return updates

    async def may_prompt(self, text: str, call_id: str) -> ReviewDecision:
        """Ask about a whole prompt, before anything of it happens."""
        heading = "Work on a prompt"
        shown = schema.ToolCallUpdate(
            toolCallId=call_id,
            title=heading,
            kind="think",
            status="pending",
            content=[schema.Content(content=schema.TextContent(text=text))],
            locations=[schema.ToolCallLocation(path=self.setup.cwd)],
        )
        print_ = fingerprint(kind="think", title=heading, locations=[{"path": self.setup.cwd}])
        try:
            async with asyncio.timeout(self._manner.permission_timeout_s):
                return await self._permission(self._manner.permission).decide(shown, print_, choices())
        except TimeoutError:
            return TimedOut()
        except PeerError as error:
            return Denied(rejection=error.message)

    def begin(self, turn: asyncio.Task[Any]) -> None:
        """The session's one turn, in the task that calls this; it awaits `work` next."""
        if self.turn is not None:
            raise UsageError("the session is busy with another prompt", hint="Wait for its end, or cancel it.")
        self.interrupted = None
        self.turn = turn

    async def work(
        self,
        parts: tuple[Text | Image, ...],
        command: tuple[str, str] | None,
        first: Callable[[], Awaitable[None]] | None = None,
    ) -> TurnEnd:
        """Do what was asked for, to the end of the turn, and tell the client what happens; `first` comes before all that.
        Where the turn was interrupted, this may raise whatever came of that."""
        try:
            if first is not None:
                await first()
            self.title = self.title or first_line(Message("user", parts).text)
            if self._engine is None or self.setup is not self._opened_with:
                self._engine = await self._fitting_engine()
            self._silent = self.interrupted is not None
            if not self.told_commands and not self._silent:
                self.told_commands = True
                self.tell(commands(self._engines.commands))
            if command is not None and (said := await self._engine.command(*command)) is not None:
                self.tell(schema.AgentMessageChunk(content=schema.TextContent(text=said)))
                return TurnEnd(Reason.END, said)
            return await self._engine.turn(parts)
        finally:
            self._silent = True
            self.turn, self.on_retry = None, _unheard
            self.touched = time.monotonic()
            if self.setup is not self._opened_with:
                await self._leave_outdated()

    def interrupt(self, why: Interruption) -> None:
        """End the turn, if there is one. Nothing of it is told any more; the first reason counts."""
        if self.turn is not None:
            self._silent = True
            self.interrupted = self.interrupted or why
            self.turn.cancel()

    def withdraw(self) -> None:
        self.interrupt(Interruption.WITHDRAWN)

    async def stop(self) -> None:
        """As the client wants it, or for it; on return the turn has ended and was answered."""
        if (turn := self.turn) is not None:
            self.interrupt(Interruption.STOPPED)
            await asyncio.wait({turn})

    async def aclose(self) -> None:
        await self.stop()
        await self._leave_engine()
        self.memory.clear()
        if self.owner is not None:
            self.owner.sessions.discard(self.id)
            self.owner = None
        self.log.close()

    async def move(self, setup: Setup) -> None:
        """Another client took the session up, perhaps elsewhere. A running turn ends where it began."""
        self.setup = msgspec.structs.replace(setup, values=self.chosen.values)
        if self.turn is None:
            await self._leave_outdated()

    async def _fitting_engine(self) -> Engine:
        await self._leave_outdated()
        if self._engine is not None:
            return self._engine
        self._opened_with = self.setup
        return await self._engines.open(self.setup, self.log, self._surroundings())

    async def _leave_outdated(self) -> None:
        """Where the engine was opened for another setup."""
        if self.setup != self._opened_with:
            await self._leave_engine()

    async def _leave_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.aclose()

    def _surroundings(self) -> Surroundings:
        """They hold the session, which does not hold them: it is gone with its last user, without a search for cycles."""
        disabled = self._manner.permission is Mode.DISABLED
        permission = self._permission(self._manner.permission if self._manner.asks_about_calls else Mode.DISABLED)
        forms = EditorForms(self.id, self._present)
        return Surroundings(
            show=self._show,
            reviewer=ClientReviewer(permission, self._narration.call, is_person=not disabled),
            ask=forms.ask,
            go_on=lambda pause: forms.go_on(pause.question),
            breathe=self._breathe,
            files=EditorFiles(self.id, self._present),
            terminals=EditorTerminals(self.id, self._present, self._terminal)
            if self._manner.client_terminals
            else None,
        )

    def _permission(self, mode: Mode) -> Permission:
        return Permission(mode, self._ask, self.memory, self._manner.warn)

    def _show(self, event: AgentEvent) -> None:
        tell = TELLING.get(type(event))  # before anything else: nearly every event is one that is told
        if tell is not None:
            update = tell(self._narration, event)
            if update is not None:
                if not self._silent and self.owner is not None:
                    self.owner.post(b"".join((self._heading, encode(update), b"}}")))  # as `tell` does
            elif isinstance(event, Retrying):
                self.on_retry(event)
        elif isinstance(event, CallStarted):
            current_call.set(event.call.tool_call_id)

    def _terminal(self, call_id: str, terminal_id: str) -> None:
        if not self._silent:
            self.tell(self._narration.terminal(call_id, terminal_id))

    def _present(self) -> Link | None:
        return self.owner if self.owner is not None and self.owner.alive else None

    def _breathe(self) -> Awaitable[None] | None:
        return None if self.owner is None else self.owner.breathe()

    async def _ask(
        self, shown: schema.ToolCallUpdate, offered: list[schema.PermissionOption]
    ) -> schema.RequestPermissionOutcome:
        link = self._present()
        if link is None:
            raise ConnectionLost("the client that owns the session is gone")
        asked = schema.RequestPermissionRequest(sessionId=self.id, toolCall=shown, options=offered)
        answer = await link.request("session/request_permission", asked, schema.RequestPermissionResponse)
        return answer.outcome


def _unheard(event: Retrying) -> None:
    """Outside a turn."""
