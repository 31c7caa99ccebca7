"""What the HTTP service takes and gives, and the document that says so. Pure."""

from typing import Annotated, Any, Literal

import msgspec

from signoff.memory.interface import Match, Strength
from signoff.memory.item import Item

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Short = Annotated[str, msgspec.Meta(max_length=1_000)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=100_000, pattern=r"\S")]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Tags = Annotated[tuple[Short, ...], msgspec.Meta(max_length=100)]


class SearchRequest(msgspec.Struct, frozen=True):
    project_id: Name
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=20)] = 6
    min_score: Share = 0.2


class CandidateRequest(msgspec.Struct, frozen=True):
    project_id: Name
    question: Text
    answer: Text
    summary: Text | None = None
    tags: Tags = ()
    metadata: dict[str, Any] = {}
    source: Short | None = None
    author: Short | None = None
    confidence: Share = 0.5
    thread: Short | None = None
    position: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None
    occurred_at: Short | None = None
    run_id: Short | None = None
    calls: Tags = ()


class HitReference(msgspec.Struct, frozen=True):
    qa_id: Name
    shown: bool = True
    used: bool = False
    message_id: Short | None = None
    context: Short | None = None


class HitRequest(msgspec.Struct, frozen=True):
    project_id: Name
    references: Annotated[tuple[HitReference, ...], msgspec.Meta(max_length=1_000)]


class ValidateRequest(msgspec.Struct, frozen=True):
    project_id: Name
    qa_id: Name
    result: Literal["pass", "fail"] | None = None
    signal_strength: Strength | None = None
    success: bool | None = None
    strong_signal: bool = False
    source: Short | None = None
    context: dict[str, Any] = {}
    client: dict[str, Any] = {}
    ts: Short | None = None
    payload: dict[str, Any] = {}


class ExpireRequest(msgspec.Struct, frozen=True):
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 200


WHOLE = ("limit", "position", "batch_size")
"""Fields that are whole numbers. To JSON Schema 9.0 is one."""


class Accepted(msgspec.Struct, frozen=True):
    """A candidate is stored at once; the fields are those of a service that queues it."""

    task_id: str
    qa_id: str
    status: Literal["pending"] = "pending"
    message: str = "accepted"


class Done(msgspec.Struct, frozen=True):
    ok: bool = True


class Record(msgspec.Struct, frozen=True):
    record: Item


class Expired(msgspec.Struct, frozen=True):
    expired: int


class Health(msgspec.Struct, frozen=True):
    status: Literal["ok"] = "ok"


class Problem(msgspec.Struct, frozen=True):
    error: str
    error_code: str


class Operation(msgspec.Struct, frozen=True):
    path: str
    summary: str
    takes: Any
    gives: Any
    success: int = 200


OPERATIONS = (
    Operation("/v1/qa/search", "Find answers, the best first.", SearchRequest, tuple[Match, ...]),
    Operation("/v1/qa/candidates", "Remember an answer.", CandidateRequest, Accepted, 202),
    Operation("/v1/qa/hit", "Note which answers were shown or used.", HitRequest, Done),
    Operation("/v1/qa/validate", "Say that an answer was right or wrong.", ValidateRequest, Record),
    Operation("/v1/qa/expire", "Sweep out what was not proved in time.", ExpireRequest, Expired),
)
_PROBLEMS = {
    "400": "The request contradicts itself, or holds a secret.",
    "401": "No token, or not the right one.",
    "403": "Without a token: not a program of this machine, but maybe a page in a browser.",
    "404": "Nothing is remembered under that id.",
    "413": "The request is too large.",
    "415": "The request is not JSON.",
    "422": "The request does not have the form described here.",
    "503": "The store cannot be used now.",
}


def document(version: str, *, secured: bool) -> dict[str, Any]:
    """OpenAPI 3.1."""
    kinds = [kind for operation in OPERATIONS for kind in (operation.takes, operation.gives)]
    schemas, components = msgspec.json.schema_components(
        [*kinds, Item, Health, Problem], ref_template="#/components/schemas/{name}"
    )
    references = iter(schemas)
    problems = {status: _answer(told, schemas[-1]) for status, told in _PROBLEMS.items()}
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        takes, gives = next(references), next(references)
        paths[operation.path] = {
            "post": {
                "summary": operation.summary,
                "requestBody": {"required": True, "content": {"application/json": {"schema": takes}}},
                "responses": {str(operation.success): _answer("As asked.", gives), **problems},
            }
        }
    paths["/v1/qa/{qa_id}"] = {"get": _detail(schemas[-3], problems)}
    paths["/v1/qa/health"] = {
        "get": {"summary": "Is it there?", "security": [], "responses": {"200": _answer("Yes.", schemas[-2])}}
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "signoff memory", "version": version},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}] if secured else [],
    }


def _detail(item: Any, problems: dict[str, Any]) -> dict[str, Any]:
    return {
        "summary": "Show one answer with its story.",
        "parameters": [
            {"name": "qa_id", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "project_id", "in": "query", "schema": {"type": "string"}},
        ],
        "responses": {"200": _answer("The answer.", item), **problems},
    }


def _answer(told: str, schema: Any) -> dict[str, Any]:
    return {"description": told, "content": {"application/json": {"schema": schema}}}
