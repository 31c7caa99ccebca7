"""A child that is not there: plays a list of events, waits where a real one would wait, and remembers what it was told.

For tests of whatever embeds the supervisor, and for trying rules without an agent.
"""

import queue
from collections.abc import Sequence
from typing import TYPE_CHECKING

from signoff.domain.late import late
from signoff.supervisor.session import (
    MOST_EVENTS,
    Abort,
    ControlCommand,
    Heard,
    Output,
    ParsedEvent,
    RunnerSession,
    Spec,
    StdinJsonl,
)
from signoff.wire.tool_events import ToolEvent, ToolRequest, ToolResult

if TYPE_CHECKING:
    from concurrent import futures
else:
    futures = late("concurrent.futures")


class FakeSession:
    def __init__(self, script: Sequence[ToolEvent], exit_code: int = 0) -> None:
        self.status: futures.Future[int] = futures.Future()
        self.events: queue.Queue[ParsedEvent] = queue.Queue(MOST_EVENTS)
        self.told: list[ControlCommand] = []
        self._script = list(script)
        self._exit_code = exit_code
        self._waits_for: ToolRequest | None = None
        self._play()

    def control(self, command: ControlCommand) -> bool:
        """Always arrives. A decision for the waiting call lets the play go on; an abort ends it."""
        if self.status.done():
            return False
        self.told.append(command)
        match command:
            case Abort():
                self.status.set_result(1)
            case StdinJsonl(value) if self._waits_for is not None and value.get("id") == self._waits_for.id:
                request, self._waits_for = self._waits_for, None
                allowed = value.get("type") == "policy.decision" and value.get("decision") == "allow"
                error = None if allowed else str(value.get("reason", ""))
                self._say(ToolResult(1, request.ts, request.id, allowed, None, error))
                self._play()
            case StdinJsonl():
                pass
        return True

    def _play(self) -> None:
        while self._script and self._waits_for is None:
            event = self._script.pop(0)
            self._say(event)
            if isinstance(event, ToolRequest) and event.requires_policy:
                self._waits_for = event
        if self._waits_for is None:
            self.status.set_result(self._exit_code)

    def _say(self, event: ToolEvent) -> None:
        self.events.put_nowait(Heard("stdout", [event]))


class FakeRunner:
    """Gives out one fake session a start."""

    def __init__(self, script: Sequence[ToolEvent], exit_code: int = 0) -> None:
        self._script = script
        self._exit_code = exit_code

    def start_session(self, spec: Spec, output: Output) -> RunnerSession:
        return FakeSession(self._script, self._exit_code)
