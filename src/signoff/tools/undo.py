"""undo: put back what an earlier call of this run changed."""

import os

import msgspec

from signoff.domain.call import Artifacts
from signoff.domain.intent import Action, FileWrite, Intent, Permission
from signoff.tools.tool import Attempt, Done, Place, Tool
from signoff.undo.records import Snapshot, history
from signoff.undo.restore import chosen, restore, steps
from signoff.undo.snapshot import Undo


class UndoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    call_id: str | None = None  # the last call that changed something and is not undone


class UndoResult(msgspec.Struct, frozen=True):
    call_id: str
    restored: tuple[str, ...]


class UndoCall(Tool[UndoArguments]):
    """Only calls of its own run: what other runs did is for the person to take back."""

    name = "undo"
    version = "1.0.0"
    description = (
        "Put back what a call of this run changed: the one with this id, or the last one that is not undone yet."
    )
    permissions = (Permission.FS_WRITE,)
    side_effects = ("changes, makes and deletes files",)
    arguments = UndoArguments
    returns = UndoResult

    def __init__(self, undo: Undo) -> None:
        self._undo = undo

    def intent(self, arguments: UndoArguments, place: Place) -> Intent:
        paths = (os.path.join(place.workspace, step.path) for step in steps(self._chosen(arguments, place)))
        return Intent(self.name, Action.WRITE, tuple(map(FileWrite, paths)))

    async def run(self, arguments: UndoArguments, attempt: Attempt) -> Done:
        found = self._chosen(arguments, attempt.place)
        restored = tuple(restore(self._undo.directory, attempt.place.workspace, found, force=False, by=None))
        self._undo.took_back(attempt.call_id, found)
        return Done(
            payload=msgspec.to_builtins(UndoResult(found[-1].call_id, restored)),
            artifacts=Artifacts(files_changed=restored),
            display="\n".join(f"put back {path}" for path in restored),
        )

    def _chosen(self, arguments: UndoArguments, place: Place) -> list[Snapshot]:
        """Not the snapshot of this very call, which is the youngest while it runs."""
        snapshots = history(self._undo.directory, place.workspace)
        own = [one for one in snapshots if one.run_id == self._undo.run_id and (one.tool != self.name or one.undoes)]
        found = chosen(own, arguments.call_id)
        return [one for one in found if one.call_id == found[-1].call_id]
