"""What the agent side does, for whoever operates it. Not a part of ACP: no method, no payload ever carries any of it.

An embedder hands in a sink; without one events are counted, if they are told at all: who has many to tell asks first. A sink that fails is told
once and then left alone: what is observed never changes what happens.
"""

import enum
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from signoff.acp.peer import Call


class Name(enum.StrEnum):
    SESSION_NEW = "session_new"
    SESSION_LOAD = "session_load"
    SESSION_CLOSE = "session_close"
    SESSION_DELETE = "session_delete"
    PROMPT_REQUESTED = "prompt_requested"
    PROMPT_STARTED = "prompt_started"
    PROMPT_COMPLETED = "prompt_completed"
    PROMPT_CANCELLED = "prompt_cancelled"
    PROMPT_TIMED_OUT = "prompt_timed_out"
    PROMPT_FAILED = "prompt_failed"
    PROMPT_PERMISSION_DENIED = "prompt_permission_denied"
    PROMPT_RETRY = "prompt_retry"


class TelemetryEvent(msgspec.Struct, frozen=True, rename="camel"):
    name: Name
    session_id: str
    request_id: str
    attributes: dict[str, Any]
    timestamp: float  # seconds since the epoch


Sink = Callable[[TelemetryEvent], object]


class Telemetry:
    def __init__(
        self,
        sink: Sink | None,
        *,
        warn: Callable[[str], object],
        clock: Callable[[], float] = time.time,
        counts: Counter[Name] | None = None,
    ) -> None:
        self._sink = sink
        self.heard = sink is not None
        self._warn = warn
        self._clock = clock
        self._counts = Counter[Name]() if counts is None else counts

    def tell(self, name: Name, session_id: str, call: Call, **attributes: Any) -> None:
        self._counts[name] += 1
        if self._sink is None:
            return
        try:
            self._sink(TelemetryEvent(name, session_id, call.internal_id, attributes, self._clock()))
        except Exception as error:  # a sink is somebody else's code
            self._sink, self.heard = None, False
            self._warn(f"the telemetry sink failed and is not called again: {error}")
