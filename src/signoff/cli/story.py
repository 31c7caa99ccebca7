"""What `acp serve` tells its operator: who came and went, what failed, and what it all came to.

One line each on standard error, the single steps only with -v. Names and numbers; never the text of a prompt or an answer.
"""

import itertools
import time
import weakref
from collections import Counter
from collections.abc import Callable

from signoff.acp.peer import Call, Outlet, Peer
from signoff.acp.telemetry import Name, Sink, TelemetryEvent
from signoff.cli.output import Output, counted
from signoff.domain.errors import SignoffError

Mask = Callable[[str], str]
_TOLD = {
    Name.SESSION_NEW: "opened",
    Name.SESSION_LOAD: "taken up",
    Name.SESSION_CLOSE: "closed",
    Name.SESSION_DELETE: "deleted",
    Name.PROMPT_STARTED: "prompt started",
    Name.PROMPT_COMPLETED: "prompt ended",
    Name.PROMPT_CANCELLED: "prompt cancelled",
    Name.PROMPT_TIMED_OUT: "prompt stopped: its time was up",
    Name.PROMPT_FAILED: "prompt failed",
    Name.PROMPT_PERMISSION_DENIED: "prompt refused",
    Name.PROMPT_RETRY: "asking the model again",
}
_FAULTS = (Name.PROMPT_FAILED, Name.PROMPT_TIMED_OUT)
_SEEN_ATTRIBUTES = ("stopReason", "error", "reason", "attempt")


class Story:
    """A further sink, where one was asked for, hears everything as well."""

    def __init__(self, output: Output, mask: Mask, further: Sink | None) -> None:
        self._output, self._mask, self._further = output, mask, further
        self.counts: Counter[Name] = Counter()  # whoever tells counts
        self._clients = itertools.count(1)
        self._came = 0
        self._numbers: weakref.WeakKeyDictionary[Peer, int] = weakref.WeakKeyDictionary()
        self._began = time.monotonic()

    @property
    def sink(self) -> Sink | None:
        """None: the counts are all that is wanted."""
        return self._hear if self._output.verbose or self._further is not None else None

    def _hear(self, event: TelemetryEvent) -> None:
        if self._output.verbose and event.name in _TOLD:
            said = [f"{event.attributes[name]}" for name in _SEEN_ATTRIBUTES if event.attributes.get(name)]
            self._output.note(self._mask(f"session {event.session_id}: {': '.join((_TOLD[event.name], *said))}"))
        if self._further is not None:
            self._further(event)

    def connecting(self, connect: Callable[[Outlet], Peer]) -> Callable[[Outlet], Peer]:
        def connected(outlet: Outlet) -> Peer:
            peer = connect(outlet)
            number, parting = next(self._clients), peer.on_end
            self._came = self._numbers[peer] = number
            self._output.note(f"client {number} connected")

            def ended() -> None:
                self._output.note(f"client {number} left")
                if parting is not None:
                    parting()

            peer.on_end = ended
            return peer

        return connected

    def refused(self, call: Call, error: BaseException) -> None:
        """Why a request got no answer. A mistake of ours is told to everybody."""
        if isinstance(error, SignoffError):
            who = f"client {self._numbers.get(call.peer, '?')}"
            self._output.note(self._mask(f"{who}: {call.method} refused: {error.message}"))
        else:
            self._output.warn(f"internal error in {call.method}: {type(error).__name__}: {error}")

    def summary(self) -> str:
        faults = sum(self.counts[name] for name in _FAULTS)
        opened = self.counts[Name.SESSION_NEW] + self.counts[Name.SESSION_LOAD]
        return (
            f"served {counted(self._came, 'client')}, {counted(opened, 'session')} and"
            f" {counted(self.counts[Name.PROMPT_REQUESTED], 'prompt')} ({faults} failed) in {time.monotonic() - self._began:.0f} s"
        )
