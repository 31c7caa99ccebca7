"""update_memory: note something worth knowing next time, correct it, or say that it is wrong."""

import asyncio
import enum
from collections.abc import Callable

import msgspec

from signoff.domain.errors import InvalidArguments
from signoff.domain.intent import Action, Intent
from signoff.memory.interface import Candidate, Memory, NoMemory, Validation
from signoff.tools.tool import Attempt, Done, Place, Tool


class Change(enum.StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class MemoryArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    action: Change = Change.CREATE
    title: str | None = None
    knowledge_to_store: str | None = None
    existing_knowledge_id: str | None = None  # what is corrected or wrong


class Remembered(msgspec.Struct, frozen=True):
    """`knowledge_id` is empty where nothing was kept: no memory, or already known."""

    action: Change
    knowledge_id: str


class UpdateMemory(Tool[MemoryArguments]):
    """What it notes is a candidate: nobody relies on it before it has proved right. Nothing is erased; what is said to be
    wrong loses its trust."""

    name = "update_memory"
    version = "1.0.0"
    description = (
        "Keep knowledge for later sessions: create (title, knowledge_to_store), update (also existing_knowledge_id), or"
        " delete (existing_knowledge_id)."
    )
    side_effects = ("changes the memory of this project",)
    arguments = MemoryArguments
    returns = Remembered

    def __init__(
        self, memory: Callable[[], Memory] = NoMemory, project_id: str = "", run_id: str | None = None
    ) -> None:
        self._memory, self._project_id, self._run_id = memory, project_id, run_id

    def intent(self, arguments: MemoryArguments, place: Place) -> Intent:
        _check(arguments)
        return Intent(self.name, Action.WRITE)

    async def run(self, arguments: MemoryArguments, attempt: Attempt) -> Done:
        known = await asyncio.to_thread(self._change, arguments, attempt.call_id)
        words = {Change.CREATE: "noted", Change.UPDATE: "corrected", Change.DELETE: "marked as wrong"}
        return Done(
            payload=msgspec.to_builtins(Remembered(arguments.action, known)),
            display=f"{words[arguments.action]}: {arguments.title or arguments.existing_knowledge_id}",
        )

    def _change(self, arguments: MemoryArguments, call_id: str) -> str:
        memory = self._memory()
        existing = arguments.existing_knowledge_id
        if arguments.action is not Change.CREATE and existing is not None:
            wrong = Validation(self._project_id, existing, "fail", signal_strength="strong", source=self.name)
            if memory.validate(wrong).status == 404:
                raise InvalidArguments(f"update_memory: nothing is remembered here as {existing!r}")
        if arguments.action is Change.DELETE:
            return existing or ""
        candidate = Candidate(
            self._project_id,
            question=arguments.title or "",
            answer=arguments.knowledge_to_store or "",
            source=self.name,
            author="agent",
            run_id=self._run_id,
            calls=(call_id,),
        )
        return memory.candidate(candidate).value


def _check(arguments: MemoryArguments) -> None:
    """What each action cannot do without."""
    needed = {
        Change.CREATE: ("title", "knowledge_to_store"),
        Change.UPDATE: ("title", "knowledge_to_store", "existing_knowledge_id"),
        Change.DELETE: ("existing_knowledge_id",),
    }[arguments.action]
    missing = [name for name in needed if not (getattr(arguments, name) or "").strip()]
    if missing:
        raise InvalidArguments(f"update_memory: {arguments.action} needs `{'`, `'.join(missing)}`")
