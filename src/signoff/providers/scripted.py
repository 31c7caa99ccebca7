"""A model that reads its answers from a file: for demonstrations, tests and replayed recordings.

In a conversation that already ends with answers of its script it goes on after them.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from signoff.domain.errors import ConfigUnreadable, ModelBadResponse, ModelError, kind_of
from signoff.files import regular
from signoff.providers import pieces, script
from signoff.providers.names import REPLAY, SCRIPTED
from signoff.providers.provider import (
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    Role,
    Stopped,
    TextDelta,
    ToolRequested,
    Usage,
)
from signoff.providers.script import Failure, Turn

LARGEST_SCRIPT = 64 * 1024 * 1024


class Scripted:
    """`faithful`: as a replay, which ends where the run goes another way than the recorded one."""

    def __init__(self, turns: tuple[Turn, ...], source: str = "the script", *, faithful: bool = False) -> None:
        self.name = REPLAY if faithful else SCRIPTED
        self._turns = turns
        self._source = source
        self._faithful = faithful
        self._next: int | None = None

    @classmethod
    def read(cls, path: str, *, faithful: bool = False) -> "Scripted":
        """Raises ConfigError where there is no script."""
        try:
            data = regular.content(Path(path).expanduser(), LARGEST_SCRIPT)
        except OSError as error:
            raise ConfigUnreadable(f"the script {path} cannot be read: {error.strerror}") from error
        return cls(script.parse(data, path), path, faithful=faithful)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        position, turn = self._take(request)
        for piece in pieces.words(turn.reasoning):
            yield ReasoningDelta(piece)
        for piece in pieces.words(turn.text):
            if turn.delay_ms:
                await asyncio.sleep(turn.delay_ms / 1_000)
            yield TextDelta(piece)
        if turn.hang:
            await asyncio.Event().wait()
        if turn.error is not None:
            raise _raised(turn.error)
        for number, call in enumerate(turn.tools, 1):
            yield ToolRequested(call.request(position, number))
        yield _usage(turn, request)
        yield Stopped(turn.reason())

    async def models(self) -> tuple[str, ...]:
        return (self._source,)

    async def aclose(self) -> None:
        return None

    def _take(self, request: ModelRequest) -> tuple[int, Turn]:
        """The turn that is next, and its place in the script, from 1."""
        place = script.played(self._turns, request.messages) if self._next is None else self._next
        while place < len(self._turns) and script.missing(self._turns[place].when, request.messages):
            place += 1
        if place >= len(self._turns):
            raise ModelBadResponse(f"{self._source} has no turn left: it holds {len(self._turns)}")
        turn = self._turns[place]
        self._next = place + 1
        if lacking := script.missing(turn.expect, request.messages):
            raise ModelBadResponse(f"turn {place + 1} of {self._source} expected to hear {lacking[0]!r} and did not")
        if self._faithful and turn.heard:
            self._compare(place + 1, turn, request)
        return place + 1, turn

    def _compare(self, position: int, turn: Turn, request: ModelRequest) -> None:
        recorded = [(heard.role, heard.is_error) for heard in turn.heard]
        now = [(message.role, message.is_error) for message in script.told(request.messages)]
        if recorded != now:
            raise ModelBadResponse(
                f"the run went another way than {self._source} at turn {position}: {_said(recorded)} then, {_said(now)} now"
            )


def _said(messages: Sequence[tuple[Role, bool]]) -> str:
    return ", ".join(f"{role} (failed)" if failed else role for role, failed in messages) or "nothing"


def _usage(turn: Turn, request: ModelRequest) -> Usage:
    told = turn.usage
    if told is None:
        return Usage(pieces.tokens(request), len(turn.text.split()), cost_usd=0.0)
    return Usage(told.input_tokens, told.output_tokens, told.cached_tokens, told.reasoning_tokens, told.cost_usd)


def _raised(failure: Failure) -> ModelError:
    kind = kind_of(failure.code)
    if kind is None or not issubclass(kind, ModelError):
        return ModelBadResponse(f"the script names {failure.code!r}, which no model can fail with")
    return kind(failure.message)
