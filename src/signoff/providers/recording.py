"""A model whose exchanges are written down as they happen, in the format scripts have, without secrets.

Every exchange is one line, appended when it is over. Headers are never seen here; keys, and all that looks like a secret,
are masked; what a vendor wants back unread is left out.
"""

import base64
import os
from collections.abc import AsyncGenerator, Iterator
from typing import Any, assert_never

import msgspec

from signoff.domain.errors import ConfigUnreadable, ModelError
from signoff.domain.settings import Redact
from signoff.domain.unreadable import UNREADABLE
from signoff.ledger.redact import Redactor
from signoff.providers import script
from signoff.providers.provider import (
    ModelEvent,
    ModelRequest,
    Provider,
    ReasoningDelta,
    Retrying,
    Stopped,
    TextDelta,
    ToolRequest,
    ToolRequested,
    Usage,
)
from signoff.providers.script import Call, Failure, Heard, Tokens, Turn

HIDDEN = "[key]"
SHORTEST = 12  # characters; what is shorter has spellings that occur by chance


class Recording:
    """`secrets` are masked wherever they occur, whatever they look like, in base64 and hexadecimal too."""

    def __init__(self, provider: Provider, path: str, level: Redact, secrets: tuple[str, ...] = ()) -> None:
        self.name = provider.name
        self._provider = provider
        self._path = os.path.expanduser(path)
        self._redactor = Redactor(Redact.STRICT if level is Redact.STRICT else Redact.BASIC, reversible=False)
        self._secrets = tuple(spelling for secret in secrets if secret for spelling in _spellings(secret))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        answer = _Answer()
        try:
            async for event in self._provider.stream(request):
                answer.note(event)
                if isinstance(event, Stopped):
                    self._write(self._turn(request, answer, None))
                yield event
        except ModelError as error:
            self._write(self._turn(request, answer, Failure(error.code, self._masked(error.message))))
            raise

    async def models(self) -> tuple[str, ...]:
        return await self._provider.models()

    async def aclose(self) -> None:
        await self._provider.aclose()

    def _turn(self, request: ModelRequest, answer: "_Answer", failure: Failure | None) -> Turn:
        told = answer.usage
        return Turn(
            text=self._masked("".join(answer.text)),
            reasoning=self._masked("".join(answer.reasoning)),
            tools=tuple(map(self._call, answer.requests)),
            stop=answer.stopped.reason if answer.stopped else None,
            usage=Tokens(**msgspec.structs.asdict(told)) if told else None,
            error=failure,
            heard=tuple(
                Heard(message.role, self._masked(message.text), message.is_error)
                for message in script.told(request.messages)
            ),
            model=request.model,
        )

    def _call(self, request: ToolRequest) -> Call:
        try:
            arguments = msgspec.json.decode(request.arguments, type=dict[str, Any])
        except UNREADABLE:
            return Call(request.name, self._masked(request.arguments), request.id)
        return Call(request.name, self._value(arguments), request.id)

    def _value(self, arguments: dict[str, Any]) -> dict[str, Any] | str:
        text = msgspec.json.encode(self._redactor.value(arguments)).decode()
        for secret in self._secrets:
            text = text.replace(msgspec.json.encode(secret).decode()[1:-1], HIDDEN)
        masked: dict[str, Any] = msgspec.json.decode(text)
        return masked

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return self._redactor.text(text)

    def _write(self, turn: Turn) -> None:
        flags = (
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        )  # a pipe nobody reads holds nobody
        try:
            file = os.open(self._path, flags, 0o600)
            with os.fdopen(file, "wb", buffering=0) as recording:
                recording.write(msgspec.json.encode(turn) + b"\n")
        except OSError as error:
            raise ConfigUnreadable(f"the recording {self._path} cannot be written: {error.strerror}") from error


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    data = secret.encode()
    if len(data) < SHORTEST:
        return
    yield from (data.hex(), data.hex().upper(), "".join(f"%{byte:02X}" for byte in data))
    for before in range(3):  # what stands in front of it shifts the digits; those at the ends belong to others as well
        digits = base64.b64encode(bytes(before) + data)[-(-before * 8 // 6) : (before + len(data)) * 8 // 6].decode()
        yield from {digits, digits.translate(str.maketrans("+/", "-_"))}


class _Answer:
    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.requests: list[ToolRequest] = []
        self.usage: Usage | None = None
        self.stopped: Stopped | None = None

    def note(self, event: ModelEvent) -> None:
        match event:
            case TextDelta(text=text):
                self.text.append(text)
            case ReasoningDelta(text=text):
                self.reasoning.append(text)
            case ToolRequested(request=request):
                self.requests.append(request)
            case Usage():
                self.usage = event
            case Retrying():
                self.text, self.reasoning = [], []
            case Stopped():
                self.stopped = event
            case _:
                assert_never(event)
