"""nothing: touches nothing and does nothing. It shows what the way through the gate itself costs."""

import msgspec

from signoff.domain.intent import Action, Intent
from signoff.tools.tool import Attempt, Done, Place, Tool


class NothingArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    note: str = ""


class Nothing(Tool[NothingArguments]):
    name = "nothing"
    version = "1.0.0"
    description = "Do nothing and say so."
    arguments = NothingArguments

    def intent(self, arguments: NothingArguments, place: Place) -> Intent:
        return Intent(tool=self.name, action=Action.READ)

    async def run(self, arguments: NothingArguments, attempt: Attempt) -> Done:
        return Done(payload={"note": arguments.note})
