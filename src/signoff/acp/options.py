"""What can be chosen in a session, in the three ways clients know it: modes, config options, and the models of old. Pure.

The options are the truth; modes and models are two of them under other names, so the three never disagree.
"""

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from signoff.agent.modes import MODES, Option
from signoff.domain.errors import UsageError
from signoff.wire import acp_schema as schema

MODE, MODEL = "mode", "model"


class Chosen(msgspec.Struct, frozen=True):
    """The options of a session and the value each has now."""

    options: tuple[Option, ...]
    values: Mapping[str, str]

    def choose(self, option_id: str, value: object) -> "Chosen":
        """Raises UsageError for what is not offered."""
        option = next((each for each in self.options if each.id == option_id), None)
        if option is None:
            known = ", ".join(each.id for each in self.options)
            raise UsageError(f"there is no option {option_id!r}", hint=f"One of: {known}.")
        offered = [choice.value for choice in option.choices]
        if value not in offered:
            raise UsageError(f"{option_id} cannot be {value!r}", hint=f"One of: {', '.join(offered)}.")
        return msgspec.structs.replace(self, values={**self.values, option_id: str(value)})

    @property
    def modes(self) -> schema.SessionModeState:
        available = [schema.SessionMode(id=mode.id, name=mode.name, description=mode.description) for mode in MODES]
        return schema.SessionModeState(currentModeId=self.values[MODE], availableModes=available)

    @property
    def models(self) -> schema.SessionModelState:
        option = next(each for each in self.options if each.id == MODEL)
        available = [schema.ModelInfo(modelId=choice.value, name=choice.name) for choice in option.choices]
        return schema.SessionModelState(currentModelId=self.values[MODEL], availableModels=available)

    @property
    def config(self) -> list[schema.SessionConfigOption]:
        return [_select(option, self.values[option.id]) for option in self.options]

    def states(self) -> dict[str, Any]:
        """For the answers to new, load, resume and fork."""
        return {"modes": self.modes, "configOptions": self.config, "models": self.models}


@functools.lru_cache(maxsize=64)  # told again and again, with every change of any of them
def _select(option: Option, value: str) -> schema.SessionConfigOption:
    return schema.SessionConfigOptionSelect(
        id=option.id,
        name=option.name,
        description=option.description,
        category=option.category,
        currentValue=value,
        options=[
            schema.SessionConfigSelectEntry(
                value=choice.value, name=choice.name, description=choice.description or msgspec.UNSET
            )
            for choice in option.choices
        ],
    )
