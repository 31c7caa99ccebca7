"""update_plan: what the agent means to do, and how far it is."""

import msgspec

from signoff.domain.errors import InvalidArguments
from signoff.domain.event import PlanEntry, PlanUpdated
from signoff.domain.intent import Action, Intent
from signoff.tools.tool import Attempt, Done, Place, Tool

_BOXES = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}


class PlanArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entries: tuple[PlanEntry, ...]


class Planned(msgspec.Struct, frozen=True):
    completed: int
    total: int


class UpdatePlan(Tool[PlanArguments]):
    name = "update_plan"
    version = "1.0.0"
    description = "Replace the plan shown to the person: all its entries, at most one of them in progress."
    arguments = PlanArguments
    returns = Planned

    def intent(self, arguments: PlanArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ)

    async def run(self, arguments: PlanArguments, attempt: Attempt) -> Done:
        states = [entry.status for entry in arguments.entries]
        if states.count("in_progress") > 1:
            raise InvalidArguments("update_plan: only one entry can be in progress")
        attempt.show(PlanUpdated(arguments.entries))
        shown = "\n".join(f"{_BOXES[entry.status]} {entry.content}" for entry in arguments.entries)
        return Done(payload=msgspec.to_builtins(Planned(states.count("completed"), len(states))), display=shown)
