"""When an agent has to stop and ask: what it may spend, and when it goes round in circles. Pure but for the clock given."""

import hashlib
from collections import deque
from collections.abc import Callable

import msgspec

from signoff.agent.event import Spent
from signoff.domain.call import ToolResult
from signoff.providers.provider import ToolRequest, Usage

WINDOW = 20
REPEATS = 4


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """None: no limit. A turn here is one answer of the model."""

    max_turns: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    max_minutes: float | None = None
    context_tokens: int = 128_000
    output_tokens: int | None = None

    @property
    def unlimited(self) -> bool:
        """Nothing here ever stops a turn."""
        return self.max_turns is self.max_tokens is self.max_usd is self.max_minutes is None


class Pause(msgspec.Struct, frozen=True):
    """Why the agent stopped, as a question: go on?"""

    reason: str
    question: str


class Budget:
    """What a session may take before a person is asked; a yes gives the same amount once more."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self.unlimited = limits.unlimited
        self._clock = clock
        self._started = clock()
        self._allowed = 1
        self.spent = Spent()

    def reached(self) -> Pause | None:
        used: tuple[tuple[str, float | None, float], ...] = (
            ("model answers", self._limits.max_turns, self.spent.requests),
            ("tokens", self._limits.max_tokens, self.spent.tokens),
            ("US dollars", self._limits.max_usd, self.spent.cost_usd or 0.0),
            ("minutes", self._limits.max_minutes, (self._clock() - self._started) / 60),
        )
        for name, limit, amount in used:
            if limit is not None and amount >= limit * self._allowed:
                whole = f"the budget of {limit * self._allowed:g} {name} is used up"
                return Pause(whole, f"{whole}. Go on for {limit:g} more?")
        return None

    def spend(self, usage: Usage) -> None:
        self.spent = self.spent.plus(usage)

    def carry_on(self, before: "Budget") -> None:
        """The same session goes on under other terms: what it took is not forgotten."""
        self.spent, self._started, self._allowed = before.spent, before._started, before._allowed

    def extend(self) -> None:
        self._allowed += 1


class Repeats:
    """Notices the same call with the same result, again and again."""

    def __init__(self, most: int = REPEATS) -> None:
        self._most = most
        self._seen: deque[bytes] = deque(maxlen=WINDOW)

    def note(self, request: ToolRequest, result: ToolResult) -> Pause | None:
        outcome = (request.name, request.arguments, result.ok, result.payload, result.error)
        mark = hashlib.blake2b(msgspec.json.encode(outcome), digest_size=16).digest()
        self._seen.append(mark)
        times = self._seen.count(mark)
        if times < self._most:
            return None
        says = f"{request.name} was called {times} times with the same arguments and the same result"
        return Pause(says, f"{says}. Go on?")

    def forget(self) -> None:
        self._seen.clear()
