"""What everyone else needs of a memory: search, hit, candidate, validate. Embedded, remote, or none at all.

Every answer carries an HTTP status; an embedded memory gives the one a server would have given.
"""

from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

T = TypeVar("T")

Strength = Literal["strong", "medium", "weak"]


class Query(msgspec.Struct, frozen=True):
    project_id: str
    query: str
    limit: int = 6
    min_score: float = 0.2


class Match(msgspec.Struct, frozen=True):
    """One remembered answer, with everything that ranked it."""

    qa_id: str
    project_id: str
    question: str
    answer: str
    score: float = 0.0
    relevance: float = 0.0
    trust: float = 0.0
    freshness: float = 0.0
    validation_level: int = 0
    level: str = "L0"
    status: str = "active"
    summary: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    expiry_at: str | None = None
    source: str | None = None
    confidence: float = 0.5
    why: dict[str, float] = {}  # words, vector, trust, freshness


class Reference(msgspec.Struct, frozen=True):
    """That an answer was shown to a model, or relied on by it."""

    qa_id: str
    shown: bool = True
    used: bool = False
    message_id: str | None = None
    context: str | None = None


class Candidate(msgspec.Struct, frozen=True):
    """Something worth remembering. What belongs to one story shares a `thread` and is ordered by `position`."""

    project_id: str
    question: str
    answer: str
    summary: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    source: str | None = None
    author: str | None = None
    confidence: float = 0.5
    thread: str | None = None
    position: int | None = None
    occurred_at: str | None = None  # RFC 3339
    run_id: str | None = None  # the run it was learnt in
    calls: tuple[str, ...] = ()  # the calls of that run it rests on


class Validation(msgspec.Struct, frozen=True):
    """What a run says about an answer it used."""

    project_id: str
    qa_id: str
    result: Literal["pass", "fail"]
    signal_strength: Strength = "weak"
    source: str | None = None
    context: dict[str, Any] = {}
    payload: dict[str, Any] = {}


class Reply(msgspec.Struct, Generic[T], frozen=True):
    status: int
    value: T


class Memory(Protocol):
    """Raises MemoryFailed or one of its kinds; who calls decides whether that matters."""

    def search(self, query: Query) -> Reply[tuple[Match, ...]]: ...
    def hit(self, project_id: str, references: tuple[Reference, ...]) -> Reply[None]: ...
    def candidate(self, candidate: Candidate) -> Reply[str]: ...
    def validate(self, validation: Validation) -> Reply[None]: ...
    def close(self) -> None: ...


class NoMemory:
    """Remembers nothing and says so politely."""

    def search(self, query: Query) -> Reply[tuple[Match, ...]]:
        return Reply(200, ())

    def hit(self, project_id: str, references: tuple[Reference, ...]) -> Reply[None]:
        return Reply(200, None)

    def candidate(self, candidate: Candidate) -> Reply[str]:
        return Reply(202, "")

    def validate(self, validation: Validation) -> Reply[None]:
        return Reply(200, None)

    def close(self) -> None:
        return None
