"""display: tell the person how things stand. Touches nothing, runs nothing, waits for nobody."""

import enum
from typing import Annotated

import msgspec

from signoff.domain.event import Display
from signoff.domain.intent import Action, Intent
from signoff.tools.tool import Attempt, Done, Place, Tool

LONGEST = 10_000


class Level(enum.StrEnum):
    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"
    PROGRESS = "progress"


class DisplayArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: Annotated[str, msgspec.Meta(min_length=1)]  # Markdown
    level: Level = Level.INFO
    title: str | None = None
    thought: str | None = None
    evidence: tuple[str, ...] = ()


class Displayed(msgspec.Struct, frozen=True):
    shown: bool
    truncated: bool


class DisplayTool(Tool[DisplayArguments]):
    name = "display"
    version = "1.0.0"
    description = (
        "Show the person progress or an intermediate result (Markdown). Use it at the start of work in several steps."
    )
    arguments = DisplayArguments
    returns = Displayed

    def intent(self, arguments: DisplayArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ)

    async def run(self, arguments: DisplayArguments, attempt: Attempt) -> Done:
        content = arguments.content[:LONGEST]
        attempt.show(Display(content, arguments.level.value, arguments.title, arguments.thought, arguments.evidence))
        result = Displayed(shown=True, truncated=len(content) < len(arguments.content))
        return Done(payload=msgspec.to_builtins(result), display=content)
