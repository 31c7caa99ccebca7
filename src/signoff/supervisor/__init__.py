"""Somebody else's agent: its output passed through, its requests judged, its end tidy."""

import importlib
from typing import TYPE_CHECKING, Any

from signoff.supervisor.session import (
    Abort,
    ControlCommand,
    Heard,
    Lost,
    Output,
    ParsedEvent,
    ParseFailed,
    ProcessRunner,
    Runner,
    RunnerSession,
    Spec,
    StdinJsonl,
)

if TYPE_CHECKING:
    from signoff.supervisor.fake import FakeRunner

__all__ = [
    "Abort",
    "ControlCommand",
    "FakeRunner",
    "Heard",
    "Lost",
    "Output",
    "ParseFailed",
    "ParsedEvent",
    "ProcessRunner",
    "Runner",
    "RunnerSession",
    "Spec",
    "StdinJsonl",
]


def __getattr__(name: str) -> Any:
    """The fake is for tests of those who embed us; a run does not load it."""
    if name != "FakeRunner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("signoff.supervisor.fake").FakeRunner
