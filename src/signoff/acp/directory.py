"""The sessions of a server: those at work here, and all that are kept. One for all connections."""

import asyncio
import contextlib
import functools
import os.path
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

import msgspec

from signoff.acp.engine import Engines, Setup
from signoff.acp.failures import RequestFailed, not_found
from signoff.acp.history import replayed
from signoff.acp.link import Link
from signoff.acp.live import Live, Manner
from signoff.acp.options import Chosen
from signoff.acp.servers import tool_servers
from signoff.acp.updates import Masks
from signoff.agent.session_log import Configured, Entry, SessionLog
from signoff.domain.errors import NotFound, UsageError
from signoff.wire import acp_schema as schema
from signoff.wire import jsonrpc

if TYPE_CHECKING:  # opened when there is a session
    from signoff.agent.sessions import Page, Sessions


MOST_OPEN = 4_096  # each takes a descriptor, and one client must not take them all
MOST_WAITING = 512  # idle sessions without a connection that stay open; the others are taken up from disk


class Place(Protocol):
    """What new, load, resume and fork have in common."""

    @property
    def cwd(self) -> str: ...
    @property
    def additionalDirectories(self) -> list[str] | msgspec.UnsetType: ...  # the name on the wire
    @property
    def mcpServers(self) -> list[schema.McpServer] | msgspec.UnsetType: ...


class Directory:
    def __init__(
        self,
        open_kept: "Callable[[], Sessions]",
        engines: Engines,
        masks: Masks,
        manner: Manner,
        *,
        idle_s: float | None = None,
    ) -> None:
        self._open_kept = open_kept
        self._engines = engines
        self._masks = masks
        self._manner = manner
        self._idle_s = idle_s
        self._live: dict[str, Live] = {}
        self._leaving: dict[str, asyncio.Task[None]] = {}  # being closed: who takes one up waits for that
        self._sweeping: asyncio.Task[None] | None = None

    @functools.cached_property
    def _kept(self) -> "Sessions":
        return self._open_kept()

    def __len__(self) -> int:
        return len(self._live)

    def busy(self, session_id: str) -> bool:
        live = self._live.get(session_id)
        return live is not None and live.turn is not None

    def owned(self, link: Link, session_id: str) -> Live:
        """The session, if this connection opened it; another has to take it up first."""
        live = self._live.get(session_id)
        if live is None or live.owner is not link:
            raise not_found(f"session {session_id} is not open here; take it up with session/load or session/resume")
        return live

    def create(self, place: Place, link: Link) -> Live:
        setup = self._admitted("", place)
        options, values = self._engines.choices(setup.cwd)
        log = self._kept.create(setup.cwd, values["model"], values["mode"])
        return self._opened(log, setup, Chosen(options, values), link)

    async def take_up(self, session_id: str, place: Place, link: Link) -> Live:
        """Load or resume: from another connection, or from disk."""
        setup = self._admitted(session_id, place)
        while True:
            if (leaving := self._leaving.get(session_id)) is not None:
                await asyncio.wait({leaving})
            if (live := self._live.get(session_id)) is None:
                break
            await live.move(setup)
            if self._live.get(session_id) is live:  # nobody closed it meanwhile
                live.own(link)
                return live
        log = self._kept.open(session_id)
        return self._opened(log, setup, self._chosen(setup.cwd, log.events()), link)

    def fork(self, session_id: str, place: Place, link: Link) -> Live:
        """A new session that begins where this one stands, with what was chosen for it."""
        setup = self._admitted("", place)
        chosen = self._chosen(setup.cwd, self._kept.read(session_id))
        log = self._kept.fork(session_id, setup.cwd)
        for option, value in chosen.values.items():
            log.append(Configured(option, value))
        return self._opened(log, setup, chosen, link)

    def history(self, live: Live) -> Iterator[schema.SessionUpdate]:
        """What its client would have been told so far."""
        return replayed(live.log.events(), live.setup.cwd, self._masks)

    def page(self, cwd: str | None, cursor: str | None, limit: int) -> "Page":
        return self._kept.list(cwd, cursor, limit)

    async def close(self, session_id: str) -> None:
        """Also waits for one that is being closed. Whoever stops waiting does not stop the closing."""
        self._begin_closing(session_id)
        if session_id in self._leaving:
            await asyncio.shield(self._leaving[session_id])

    async def delete(self, session_id: str) -> None:
        """Also if it is not there, or not any more."""
        await self.close(session_id)
        with contextlib.suppress(NotFound):
            self._kept.delete(session_id)

    async def leave(self, link: Link) -> None:
        """Close everything this connection has open."""
        for session_id in tuple(link.sessions):
            await self.close(session_id)

    def part(self, link: Link) -> None:
        """The connection is gone; its sessions wait for another, and their turns run on."""
        for session_id in tuple(link.sessions):
            live = self._live.get(session_id)
            if live is not None and live.owner is link:
                live.owner = None
                live.touched = time.monotonic()
        link.sessions.clear()
        if len(self._live) > MOST_WAITING:
            waiting = [live for live in self._live.values() if live.owner is None and live.turn is None]
            for live in sorted(waiting, key=lambda each: each.touched)[:-MOST_WAITING]:
                self._begin_closing(live.id)

    def _begin_closing(self, session_id: str) -> None:
        live = self._live.pop(session_id, None)
        if live is not None:
            self._leaving[session_id] = leaving = asyncio.create_task(live.aclose())
            leaving.add_done_callback(lambda _: self._leaving.pop(session_id, None))

    async def aclose(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        for session_id in (*self._live, *self._leaving):
            await self.close(session_id)
        if "_kept" in self.__dict__:
            self._kept.close()

    def _admitted(self, session_id: str, place: Place) -> Setup:
        """Where the session is to work, if there is room for one more. Raises UsageError or RequestFailed."""
        if len(self._live) >= MOST_OPEN and session_id not in self._live:
            raise RequestFailed(jsonrpc.INTERNAL_ERROR, "too many sessions are open; close some", {"code": "overload"})
        return _setup(session_id, place)

    def _opened(self, log: SessionLog, setup: Setup, chosen: Chosen, link: Link) -> Live:
        setup = msgspec.structs.replace(setup, session_id=log.id, values=chosen.values)
        live = Live(log, setup, chosen, self._engines, self._masks, self._manner)
        self._live[log.id] = live
        live.own(link)
        if self._idle_s is not None and self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep(self._idle_s))
        return live

    def _chosen(self, cwd: str, entries: Iterable[Entry]) -> Chosen:
        """What was chosen for a kept session, as far as it is still offered."""
        options, values = self._engines.choices(cwd)
        chosen = Chosen(options, values)
        for entry in entries:
            if isinstance(entry.what, Configured):
                try:
                    chosen = chosen.choose(entry.what.option, entry.what.value)
                except UsageError:
                    continue
        return chosen

    async def _sweep(self, idle_s: float) -> None:
        """Close what nobody has used for so long. It stays on disk and can be taken up again."""
        while True:
            now = time.monotonic()
            for session_id, live in tuple(self._live.items()):
                if live.turn is None and now - live.touched >= idle_s:
                    await self.close(session_id)
            await asyncio.sleep(idle_s / 4)


def _setup(session_id: str, place: Place) -> Setup:
    further = place.additionalDirectories or []
    for path in (place.cwd, *further):
        if not os.path.isabs(path):
            raise UsageError(f"{path!r} is not an absolute path")
        if not os.path.isdir(path):
            raise UsageError(f"{path} is no directory here")
    return Setup(session_id, os.path.normpath(place.cwd), tuple(further), tool_servers(place.mcpServers or ()))
