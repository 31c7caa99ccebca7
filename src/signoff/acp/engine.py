"""What works behind a session: a model with its tools behind a gate. Made by `cli/wiring_acp`, used by `acp/live`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from signoff.agent.asking import Breathe
    from signoff.agent.event import AgentEvent, TurnEnd
    from signoff.agent.limits import Pause
    from signoff.agent.modes import Option
    from signoff.agent.session_log import SessionLog
    from signoff.approvals.review import Reviewer
    from signoff.domain.tool_server import ToolServer
    from signoff.gate import Sandboxes
    from signoff.providers.provider import Image, Text
    from signoff.tools.ask_user import AskArguments
    from signoff.tools.tool import FileAccess


class Setup(msgspec.Struct, frozen=True):
    """Where a session works and what was chosen for it. A change of any of it needs another engine."""

    session_id: str
    cwd: str
    directories: tuple[str, ...] = ()
    servers: tuple[ToolServer, ...] = ()
    values: Mapping[str, str] = {}  # by option: mode, model, approval …


class Surroundings(msgspec.Struct, frozen=True):
    """Whom the engine can turn to while it works; all of it ends at the client that owns the session."""

    show: Callable[[AgentEvent], None]
    reviewer: Reviewer
    ask: Callable[[AskArguments], Awaitable[str | None]]
    go_on: Callable[[Pause], Awaitable[bool]]
    breathe: Breathe  # the model waits for its reader
    files: FileAccess
    terminals: Sandboxes | None  # the client's, where commands are to run there


class Engine(Protocol):
    def turn(self, parts: tuple[Text | Image, ...]) -> Awaitable[TurnEnd]: ...

    async def command(self, name: str, rest: str) -> str | None:
        """The answer to a slash command; None: it is none of ours."""
        ...

    async def aclose(self) -> None: ...


class Engines(Protocol):
    """`choices` are the options a session in this directory has, with the values they start with."""

    commands: Mapping[str, str]  # slash commands with their description

    def choices(self, cwd: str) -> tuple[tuple[Option, ...], Mapping[str, str]]: ...

    async def open(self, setup: Setup, log: SessionLog, around: Surroundings) -> Engine:
        """Goes on where the log ends."""
        ...
