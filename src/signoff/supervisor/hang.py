"""Is the child still doing anything? A pure judgement over clocks; acting on it is the session's business."""

import enum

import msgspec


class Signs(msgspec.Struct, frozen=True):
    """What was seen of the child, in monotonic seconds."""

    now: float
    last_output: float
    last_event: float
    oldest_execution: float | None  # since when an allowed call has been running
    waiting_for_us: bool  # a decision is owed to the child: its silence is our doing
    streams_open: int
    suspected_at: float | None = None


class Patience(msgspec.Struct, frozen=True):
    """Seconds. None switches a limit off."""

    silence: float | None = 120.0
    execution: float | None = 600.0
    grace: float = 20.0
    after_streams: float = 5.0


class Finding(enum.StrEnum):
    ALIVE = "alive"
    SUSPECTED = "suspected"
    HUNG = "hung"


def look(signs: Signs, patience: Patience) -> Finding:
    """Suspected first, hung once the suspicion has lasted; output, events and our own debts clear it."""
    if signs.streams_open == 0:
        return _confirmed(signs, patience.after_streams)
    if signs.waiting_for_us:
        return Finding.ALIVE
    quiet_since = max(signs.last_output, signs.last_event)
    silent = patience.silence is not None and signs.now - quiet_since >= patience.silence
    running = signs.oldest_execution
    if running is not None:
        silent = patience.execution is not None and silent and signs.now - running >= patience.execution
    return _confirmed(signs, patience.grace) if silent else Finding.ALIVE


def _confirmed(signs: Signs, grace: float) -> Finding:
    if signs.suspected_at is not None and signs.now - signs.suspected_at >= grace:
        return Finding.HUNG
    return Finding.SUSPECTED
