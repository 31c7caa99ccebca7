"""What the model is shown, and the log behind it. Every message is on disk before anything follows from it."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from signoff.agent.compaction import size
from signoff.agent.event import Look, Reason, Spent
from signoff.agent.session_log import (
    CallBegan,
    Cleared,
    Condensed,
    Entry,
    Planned,
    RunOpened,
    Said,
    SessionLog,
    TurnClosed,
)
from signoff.domain.call import ToolCall
from signoff.domain.event import PlanEntry
from signoff.providers.provider import Image, Message, Text, ToolRequest

LONGEST_TITLE = 80
INTERRUPTED = "interrupted: whether it took effect is unknown"
NEVER_BEGAN = "cancelled before it began"


class Conversation:
    """`unanswered` are requests of the model that have no result yet; `settle` gives each of them one."""

    def __init__(self, log: SessionLog, entries: Iterable[Entry] = ()) -> None:
        self._log = log
        self.messages: list[Message] = []
        self._characters = 0  # of them all
        self.plan: tuple[PlanEntry, ...] = ()
        self.spent = Spent()
        self.run_id = ""  # of the run whose ledger has the session's last calls
        self._began: set[str] = set()
        for entry in entries:
            self._take(entry)

    @classmethod
    def resumed(cls, log: SessionLog) -> "Conversation":
        """As the log has it; what was running when its process died gets its answer now."""
        conversation = cls(log, log.events())
        conversation.settle()
        return conversation

    @property
    def session_id(self) -> str:
        return self._log.id

    @property
    def tokens(self) -> int:
        """About how many it is."""
        return self._characters // 4

    @property
    def unanswered(self) -> tuple[ToolRequest, ...]:
        answered: set[str] = set()
        for message in reversed(self.messages):
            if message.role == "assistant":
                return (
                    ()
                    if not message.tool_requests
                    else tuple(request for request in message.tool_requests if request.id not in answered)
                )
            answered.add(message.tool_request_id)
        return ()

    def user(self, message: Message) -> None:
        self._log.append(Said(message), sync=True)
        self._show(message)

    def add(self, message: Message) -> None:
        """An answer that asks for nothing has only the end of its turn to follow, and is written with it."""
        if message.role == "assistant" and not message.tool_requests:
            self._log.hold(Said(message))
        else:
            self._log.append(Said(message))
        self._show(message)

    def began(self, request: ToolRequest, call: ToolCall, look: Look) -> None:
        self._began.add(request.id)
        self._log.append(CallBegan(request.id, call, look))

    def answer(self, request: ToolRequest, text: str, *, is_error: bool, images: tuple[Image, ...] = ()) -> None:
        self.add(Message("tool", (Text(text), *images), tool_request_id=request.id, is_error=is_error))

    def settle(self) -> None:
        for request in self.unanswered:
            text = INTERRUPTED if request.id in self._began else NEVER_BEGAN
            self.answer(request, text, is_error=True)

    def planned(self, entries: tuple[PlanEntry, ...]) -> None:
        self.plan = entries
        self._log.append(Planned(entries))

    def condense(self, messages: tuple[Message, ...]) -> None:
        self._log.append(Condensed(messages))
        self._begin_with(messages)

    def clear(self) -> None:
        self._log.append(Cleared())
        self._begin_with(())
        self.plan = ()

    def close_turn(self, reason: Reason, spent: Spent) -> None:
        self._log.append(TurnClosed(reason, spent), sync=True)
        self.spent = spent

    def _begin_with(self, messages: tuple[Message, ...]) -> None:
        self.messages, self._characters = list(messages), sum(map(size, messages))

    def _show(self, message: Message) -> None:
        if message.role == "assistant":
            self._began.clear()  # models may use the same ids again
        self.messages.append(message)
        self._characters += size(message)

    def _take(self, entry: Entry) -> None:
        match entry.what:
            case Said(message=message):
                self._show(message)
            case CallBegan(request_id=request_id):
                self._began.add(request_id)
            case Planned(entries=entries):
                self.plan = entries
            case Condensed(messages=messages):
                self._begin_with(messages)
            case Cleared():
                self._begin_with(())
                self.plan = ()
            case TurnClosed(spent=spent):
                self.spent = spent
            case RunOpened(run_id=run_id):
                self.run_id = run_id
            case _:
                pass


class Told(Sequence[Message]):
    """What the model is told: a message, and those of a conversation as it is now. Not copied, which would cost more with every turn: messages are only
    ever added at the end."""

    __slots__ = ("_first", "_length", "_rest")

    def __init__(self, first: Message, rest: list[Message]) -> None:
        self._first, self._rest, self._length = first, rest, len(rest) + 1

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> list[Message]: ...
    def __getitem__(self, place: int | slice) -> Message | list[Message]:
        if isinstance(place, slice):
            return list(self)[place]
        index = range(self._length)[place]
        return self._rest[index - 1] if index else self._first

    def __iter__(self) -> Iterator[Message]:
        return itertools.chain((self._first,), itertools.islice(self._rest, self._length - 1))

    def __reversed__(self) -> Iterator[Message]:
        for index in range(self._length - 2, -1, -1):
            yield self._rest[index]
        yield self._first


def last_text(conversation: Conversation) -> str:
    """What the model said last since the person spoke."""
    for message in reversed(conversation.messages):
        if message.role == "user":
            break
        if message.role == "assistant" and (text := message.text):
            return text
    return ""


def first_line(text: str) -> str:
    """What a text is about, as far as its beginning says it."""
    for line in text.splitlines():
        if stripped := line.strip():
            return stripped[:LONGEST_TITLE]
    return ""
