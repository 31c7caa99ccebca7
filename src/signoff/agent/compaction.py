"""Make room in the context: old results go first, then the middle is told in a summary. The task, the plan and the last
exchanges stay as they are. Pure; the summary itself comes from the model."""

from collections.abc import Sequence

import msgspec

from signoff.agent.render import cut
from signoff.domain.event import PlanEntry
from signoff.providers.provider import Message, Text, ToolSpec

FULL = 0.8  # of the context, then room is made
KEPT = 0.3  # of the context, for the last exchanges
ENOUGH = 0.75  # of what was full: cutting results has to free at least a quarter, else a summary is made
IMAGE_TOKENS = 1_500
SHORT_RESULT = 200
HALVED = 0.5  # of what overflowed is left after it
LONGEST_SUMMARY = 8_000
SUMMARISE = (
    "Write down for yourself what has to be known to go on with this work: what was asked, what was found out (with file"
    " names and line numbers), what was changed, what failed and why, what is left to do. Facts only, at most 400 words."
)


def tokens(messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> int:
    """About how many: four characters make one."""
    characters = sum(len(tool.description) + len(str(tool.parameters)) for tool in tools)
    return (characters + sum(map(size, messages))) // 4


def size(message: Message) -> int:
    """In characters; an image counts as many as its tokens would be."""
    characters = len(message.reasoning) + len(message.carry)
    for part in message.content:
        characters += len(part.text) if isinstance(part, Text) else 4 * IMAGE_TOKENS
    for request in message.tool_requests:
        characters += len(request.name) + len(request.arguments)
    return characters


def split(messages: Sequence[Message], room: int) -> int:
    """Where the last exchanges begin: as much as fits into `room` tokens, and never between a call and its result."""
    used, start = 0, len(messages)
    for position in range(len(messages) - 1, -1, -1):
        used += tokens(messages[position : position + 1])
        if used > room and start < len(messages):
            break
        if messages[position].role != "tool":
            start = position
    return start


def without_results(messages: Sequence[Message], kept_from: int) -> tuple[Message, ...]:
    """The results before the last exchanges, each cut to its first words."""
    return tuple(
        message
        if position >= kept_from or message.role != "tool" or len(message.text) <= SHORT_RESULT
        else _cut(message)
        for position, message in enumerate(messages)
    )


def summarised(
    messages: Sequence[Message], kept_from: int, summary: str, plan: Sequence[PlanEntry]
) -> tuple[Message, ...]:
    """The task, what is told of the middle, the plan, and the last exchanges."""
    task = next((message for message in messages if message.role == "user"), None)
    told = [f"What happened so far, in short:\n{cut(summary, LONGEST_SUMMARY)}"]
    if plan:
        told.append("The plan:\n" + "\n".join(f"- [{entry.status}] {entry.content}" for entry in plan))
    middle = Message("user", (Text("\n\n".join(told)),))
    kept = tuple(messages[kept_from:])
    head = () if task is None or task in kept else (task,)
    return (*head, middle, *kept)


def fitted(messages: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The same with ever shorter results, until they fit into `room` tokens or cannot be shorter: what is too long may be
    the very last result."""
    longest = max((len(message.text) for message in messages if message.role == "tool"), default=0)
    shorter = tuple(messages)
    while tokens(shorter) > room and longest > SHORT_RESULT:
        longest = max(longest // 2, SHORT_RESULT)
        shorter = tuple(
            msgspec.structs.replace(message, content=(Text(cut(message.text, longest)),))
            if message.role == "tool" and len(message.text) > longest
            else message
            for message in messages
        )
    return shorter


def digest(messages: Sequence[Message]) -> str:
    """What can be told without a model: who said what, each in a line."""
    lines = []
    for message in messages:
        text = " ".join(message.text.split())[:160]
        called = ", ".join(request.name for request in message.tool_requests)
        said = "; ".join(part for part in (text, f"called {called}" if called else "") if part)
        lines.append(f"{message.role}: {said}")
    return "\n".join(lines)


def _cut(message: Message) -> Message:
    said = f"{message.text[:SHORT_RESULT]}\n… {len(message.text) - SHORT_RESULT} characters of this old result left out"
    return msgspec.structs.replace(message, content=(Text(said),))
