"""Editors and other clients, over the Agent Client Protocol."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signoff.acp import blocks as blocks
    from signoff.acp.client import Client as Client
    from signoff.acp.client import Handlers as Handlers
    from signoff.acp.connecting import address as address
    from signoff.acp.connecting import program as program

_HOMES = {"Client": "client", "Handlers": "client", "address": "connecting", "program": "connecting"}


def __getattr__(name: str) -> Any:
    """What others use of this package, loaded when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"signoff.acp.{_HOMES[name]}"), name)
