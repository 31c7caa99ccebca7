"""The file format of scripts and recordings: one turn of a model after the other. Pure: text in, turns out."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from signoff.domain.errors import ConfigError
from signoff.domain.unreadable import UNREADABLE
from signoff.providers.provider import Message, Role, StopReason, ToolRequest

LARGEST_REPEAT = 100_000
Texts = str | tuple[str, ...]


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    args: dict[str, Any] | str = {}  # text goes out as it is: arguments that are not JSON can be played too
    id: str = ""

    def request(self, position: int, number: int) -> ToolRequest:
        text = self.args if isinstance(self.args, str) else msgspec.json.encode(self.args).decode()
        return ToolRequest(self.id or f"call_{position}_{number}", self.name, text)


class Tokens(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    message: str


class Heard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A message of a recording, as the model got it."""

    role: Role
    text: str = ""
    is_error: bool = False


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    text: str = ""
    reasoning: str = ""
    tools: tuple[Call, ...] = ()
    when: Texts = ()  # left out unless all of it was said to the model since its last turn
    expect: Texts = ()  # an error unless all of it was said
    stop: StopReason | None = None
    usage: Tokens | None = None
    error: Failure | None = None
    repeat: Annotated[int, msgspec.Meta(ge=1, le=LARGEST_REPEAT)] = 1
    delay_ms: Annotated[int, msgspec.Meta(ge=0)] = 0  # before every piece of text
    hang: bool = False  # say the text, then never end
    heard: tuple[Heard, ...] = ()  # only in recordings: what was new to the model
    model: str = ""  # only in recordings

    def reason(self) -> StopReason:
        return self.stop or ("tool_calls" if self.tools else "end")

    def was(self, message: Message) -> bool:
        """Can this answer be the one this turn gave?"""
        calls = [(request.name, request.arguments) for request in message.tool_requests]
        return message.text == self.text and calls == [(call.name, call.request(0, 0).arguments) for call in self.tools]


class _Turns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    turns: tuple[Turn, ...]


def parse(data: bytes, source: str) -> tuple[Turn, ...]:
    """All turns with their repetitions. A mistake is an error that names the line, or the place in the document."""
    start = data.lstrip()[:1]
    try:
        if start == b"[":
            return tuple(_repeated(msgspec.json.decode(data, type=tuple[Turn, ...])))
        if start == b"{" and isinstance(whole := _document(data), dict) and "turns" in whole:
            return tuple(_repeated(msgspec.convert(whole, _Turns).turns))
    except UNREADABLE as error:
        raise ConfigError(
            f"{source}: this is no script: {error}", hint="docs/providers.md shows the format."
        ) from error
    return tuple(_repeated(tuple(_lines(data, source))))


def told(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What the model heard since its last answer."""
    return tuple(itertools.takewhile(lambda message: message.role != "assistant", reversed(messages)))[::-1]


def missing(wanted: Texts, messages: Sequence[Message]) -> tuple[str, ...]:
    """What should have been said and was not."""
    heard = "\n".join(message.text for message in told(messages))
    return tuple(text for text in ((wanted,) if isinstance(wanted, str) else wanted) if text not in heard)


def played(turns: tuple[Turn, ...], messages: Sequence[Message]) -> int:
    """How many turns of the script the conversation already ends with."""
    answers = [message for message in messages if message.role == "assistant"]
    for count in range(min(len(answers), len(turns)), 0, -1):
        tail = answers[len(answers) - count :]
        if all(turn.was(answer) for turn, answer in zip(turns, tail, strict=False)):
            return count
    return 0


def _document(data: bytes) -> object:
    """The whole of it as one JSON value; None where it is several."""
    try:
        return msgspec.json.decode(data)
    except UNREADABLE:
        return None


def _lines(data: bytes, source: str) -> Iterator[Turn]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield msgspec.json.decode(line, type=Turn)
            except UNREADABLE as error:
                hint = "docs/providers.md shows the format."
                raise ConfigError(f"{source}:{number}: this is no turn of a script: {error}", hint=hint) from error


def _repeated(turns: tuple[Turn, ...]) -> Iterator[Turn]:
    for turn in turns:
        yield from itertools.repeat(turn, turn.repeat)
