"""The memory that the settings name."""

import os

from signoff.config import locations
from signoff.domain.errors import ConfigError
from signoff.domain.settings import MemorySettings
from signoff.memory.embedded import Embedded
from signoff.memory.interface import Memory


def open_memory(settings: MemorySettings) -> Memory:
    if settings.url is not None:
        raise ConfigError(
            "memory.url is set, and a remote memory is not supported yet", hint="signoff config unset memory.url"
        )
    return Embedded(locations.memory_database(os.environ))
