"""ask_user: a question of the agent's own, answered by the person in their own words. It approves nothing."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec

from signoff.domain.call import Failure
from signoff.domain.errors import InvalidArguments, ReviewTimeout
from signoff.domain.intent import Action, Intent
from signoff.tools.tool import Attempt, Done, Place, Tool

MOST_OPTIONS = 12


class AskArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[str, msgspec.Meta(min_length=1, max_length=4_000)]
    options: tuple[str, ...] = ()  # what can be chosen; another answer is possible all the same


class Answer(msgspec.Struct, frozen=True):
    answer: str


Asker = Callable[[AskArguments], Awaitable[str | None]]
"""Puts the question to a person. None: nobody answered."""


async def nobody(question: AskArguments) -> str | None:
    return None


class AskUser(Tool[AskArguments]):
    name = "ask_user"
    version = "1.0.0"
    description = "Ask the person a question and wait for the answer. An answer is never an approval of a call."
    arguments = AskArguments
    returns = Answer

    def __init__(self, asker: Asker = nobody) -> None:
        self._asker = asker

    def intent(self, arguments: AskArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ)

    async def run(self, arguments: AskArguments, attempt: Attempt) -> Done:
        if len(arguments.options) > MOST_OPTIONS:
            raise InvalidArguments(f"ask_user: at most {MOST_OPTIONS} options")
        answer = await self._asker(arguments)
        if answer is None:
            return Done(failure=Failure(ReviewTimeout.code, "nobody is there to answer; decide without, or stop"))
        return Done(payload={"answer": answer}, display=answer)
