"""The memory for other machines and programs: HTTP under /v1/qa, one store behind it.

Needs the extra `signoff[serve]`; only `signoff memory serve` imports this module.
"""

import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from signoff.domain.errors import MemoryBadRequest, MemoryFailed, NotFound
from signoff.domain.unreadable import UNREADABLE
from signoff.memory import api
from signoff.memory.embedded import Embedded
from signoff.memory.interface import Candidate, Query, Reference, Validation

LARGEST_REQUEST = 1024 * 1024

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class _Refusal(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def application(store: Embedded, version: str, token: str = "") -> Starlette:
    """An empty token lets in every program of this machine; whoever listens on more than that must have one."""
    service = _Service(store)
    document = _json(200, api.document(version, secured=bool(token)))
    posts = {
        "/v1/qa/search": service.search,
        "/v1/qa/candidates": service.candidate,
        "/v1/qa/hit": service.hit,
        "/v1/qa/validate": service.validate,
        "/v1/qa/expire": service.expire,
    }

    async def health(_request: Request) -> Response:
        return _json(200, api.Health())

    async def openapi(_request: Request) -> Response:
        return document

    routes = [
        *(Route(path, _guarded(handler, token), methods=["POST"]) for path, handler in posts.items()),
        Route("/v1/qa/health", health),
        Route("/openapi.json", openapi),
        Route("/v1/qa/{qa_id}", _guarded(service.detail, token)),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _no_such_thing})


def _guarded(handler: Handler, token: str) -> Handler:
    async def guarded(request: Request) -> Response:
        try:
            if token and not hmac.compare_digest(
                request.headers.get("authorization", "").encode(), f"Bearer {token}".encode()
            ):
                return _problem(401, "memory.unauthorized", "a bearer token is needed", {"WWW-Authenticate": "Bearer"})
            if not token and _may_be_a_page(request):
                return _problem(403, "memory.unauthorized", "without a token only programs of this machine are served")
            return await handler(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except _Refusal as refusal:
            return _problem(refusal.status, refusal.code, str(refusal))
        except MemoryBadRequest as error:
            return _problem(400, error.code, error.message)
        except NotFound as error:
            return _problem(404, "memory.not_found", error.message)
        except MemoryFailed as error:
            return _problem(503, error.code, error.message)

    return guarded


def _may_be_a_page(request: Request) -> bool:
    """A page in a browser cannot hide its Origin, nor the name it was led to this machine by."""
    host = request.headers.get("host", "").lower()
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    try:
        local = name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        local = False
    return not local or "origin" in request.headers


class _Service:
    """One method for each operation; the store works in a thread, because it may have to wait for the file."""

    def __init__(self, store: Embedded) -> None:
        self._store = store

    async def search(self, request: Request) -> Response:
        asked = await _body(request, api.SearchRequest)
        query = Query(asked.project_id, asked.query, asked.limit, asked.min_score)
        reply = await run_in_threadpool(self._store.search, query)
        return _json(reply.status, reply.value)

    async def candidate(self, request: Request) -> Response:
        asked = await _body(request, api.CandidateRequest)
        reply = await run_in_threadpool(self._store.candidate, msgspec.convert(asked, Candidate, from_attributes=True))
        return _json(reply.status, api.Accepted(task_id=reply.value, qa_id=reply.value))

    async def hit(self, request: Request) -> Response:
        asked = await _body(request, api.HitRequest)
        references = tuple(msgspec.convert(one, Reference, from_attributes=True) for one in asked.references)
        reply = await run_in_threadpool(self._store.hit, asked.project_id, references)
        return _json(reply.status, api.Done())

    async def validate(self, request: Request) -> Response:
        asked = await _body(request, api.ValidateRequest)
        if await run_in_threadpool(self._store.get, asked.qa_id, asked.project_id) is None:
            raise NotFound(f"nothing is remembered as {asked.qa_id!r}")
        result = asked.result
        if result is None:
            if asked.success is None:
                raise _Refusal(400, "memory.bad_request", "say result, or success")
            result = "pass" if asked.success else "fail"
        strength = asked.signal_strength or ("strong" if asked.strong_signal else "weak")
        told = Validation(asked.project_id, asked.qa_id, result, strength, asked.source, asked.context, asked.payload)
        reply = await run_in_threadpool(self._store.validate, told)
        item = await run_in_threadpool(self._store.get, asked.qa_id)
        return _json(reply.status, {"record": item})

    async def expire(self, request: Request) -> Response:
        asked = await _body(request, api.ExpireRequest)
        return _json(200, api.Expired(await run_in_threadpool(self._store.expire, asked.batch_size)))

    async def detail(self, request: Request) -> Response:
        qa_id = request.path_params["qa_id"]
        item = await run_in_threadpool(self._store.get, qa_id, request.query_params.get("project_id"))
        if item is None:
            raise NotFound(f"nothing is remembered as {qa_id!r}")
        return _json(200, item)


async def _body(request: Request, kind: type[T]) -> T:
    """A JSON body of this kind. Only JSON: a web page somewhere can make a browser send anything else unasked."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _Refusal(415, "memory.bad_request", "the request must be application/json")
    data = bytearray()
    announced = request.headers.get("content-length", "")
    too_large = _Refusal(413, "memory.bad_request", f"the request has more than {LARGEST_REQUEST} bytes")
    if announced.isdecimal() and int(announced[:20]) > LARGEST_REQUEST:
        raise too_large  # before waiting for it
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST_REQUEST:
            raise too_large
    try:
        told = msgspec.json.decode(data)
        if isinstance(told, dict):
            whole = {name: told[name] for name in api.WHOLE if isinstance(told.get(name), float)}
            told |= {name: int(value) for name, value in whole.items() if value.is_integer()}
        return msgspec.convert(told, kind)
    except UNREADABLE as error:
        raise _Refusal(422, "memory.bad_request", str(error)) from error


def _json(status: int, value: Any) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _problem(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    response = _json(status, api.Problem(message, code))
    response.headers.update(headers or {})
    return response


async def _no_such_thing(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _problem(error.status_code, "memory.bad_request", error.detail, dict(error.headers or {}))
