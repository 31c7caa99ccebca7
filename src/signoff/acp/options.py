"""What can be chosen in a session, in the three ways clients know it: modes, config options, and the models of old. Pure.

The options are the truth; modes and models are two of them under other names, so the three never disagree.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from signoff.agent.modes import MODES, Option
from signoff.domain.errors import UsageError
from signoff.wire import acp_schema as schema

MODE, MODEL = "mode", "model"


class Chosen:
    """The options of a session and the value each has now. Never changed: a choice gives another one."""

    __slots__ = ("_config", "_told", "options", "values")

    def __init__(
        self,
        options: tuple[Option, ...],
        values: Mapping[str, str],
        told: dict[tuple[str, str], Any] | None = None,
    ) -> None:
        self.options = options
        self.values = values
        # By option and value, encoded: each is told again with every change of any of them.
        self._told = {} if told is None else told
        self._config: list[schema.SessionConfigOption] | None = None

    def choose(self, option_id: str, value: object) -> "Chosen":
        """Raises UsageError for what is not offered."""
        option = self._option(option_id)
        for choice in option.choices:
            if choice.value == value:
                return Chosen(self.options, {**self.values, option_id: choice.value}, self._told)
        offered = ", ".join(choice.value for choice in option.choices)
        raise UsageError(f"{option_id} cannot be {value!r}", hint=f"One of: {offered}.")

    def _option(self, option_id: str) -> Option:
        for option in self.options:
            if option.id == option_id:
                return option
        known = ", ".join(option.id for option in self.options)
        raise UsageError(f"there is no option {option_id!r}", hint=f"One of: {known}.")

    @property
    def modes(self) -> schema.SessionModeState:
        available = [schema.SessionMode(id=mode.id, name=mode.name, description=mode.description) for mode in MODES]
        return schema.SessionModeState(currentModeId=self.values[MODE], availableModes=available)

    @property
    def models(self) -> schema.SessionModelState:
        option = self._option(MODEL)
        available = [schema.ModelInfo(modelId=choice.value, name=choice.name) for choice in option.choices]
        return schema.SessionModelState(currentModelId=self.values[MODEL], availableModels=available)

    @property
    def config(self) -> list[schema.SessionConfigOption]:
        if self._config is None:  # an update and an answer both carry it
            self._config = [self._row(option) for option in self.options]
        return self._config

    def _row(self, option: Option) -> Any:
        key = (option.id, self.values[option.id])
        if key not in self._told:
            self._told[key] = msgspec.Raw(msgspec.json.encode(_select(option, key[1])))
        return self._told[key]

    def states(self) -> dict[str, Any]:
        """For the answers to new, load, resume and fork."""
        return {"modes": self.modes, "configOptions": self.config, "models": self.models}


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
