"""Somebody else's agent: its output passed through, its requests judged, its end tidy."""

from signoff.supervisor.fake import FakeRunner
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
