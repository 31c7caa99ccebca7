"""The memory a command talks to: the file here, or the service that was configured."""

import os

from signoff.config import locations
from signoff.domain.errors import ConfigError
from signoff.domain.settings import MemorySettings
from signoff.memory.embedded import Embedded
from signoff.memory.embedding import load
from signoff.memory.interface import Memory
from signoff.providers.endpoint import private_text


def open_local() -> Embedded:
    return Embedded(locations.memory_database(os.environ), embedding=load())


def open_memory(settings: MemorySettings) -> Memory:
    """As `memory.url` says. Raises MemoryFailed where there is none to be had."""
    if settings.url is None:
        return open_local()
    from signoff.memory.client import Client

    token = settings.token or (read_token(settings.token_file) if settings.token_file else "")
    return Client(settings.url, token=token, timeout=settings.timeout_ms / 1_000)


def read_token(path: str) -> str:
    """Of a file that nobody else may read: whoever has the token can have commands run, or plant memories."""
    token = private_text(path, "token file").strip()
    if not token:
        raise ConfigError(f"the token file {path} is empty")
    return token
