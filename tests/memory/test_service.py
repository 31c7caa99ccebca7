"""The service and its client: the same interface over HTTP, described by its own document."""

import contextlib
import pathlib
import select
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import msgspec
import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, settings
from starlette.applications import Starlette

from signoff.domain.errors import (
    ConfigError,
    MemoryBadRequest,
    MemoryFailed,
    MemoryRateLimited,
    MemoryTimeout,
    MemoryUnauthorized,
    MemoryUnavailable,
    MemoryUndecodable,
)
from signoff.memory.api import OPERATIONS, document
from signoff.memory.client import Client
from signoff.memory.embedded import Embedded
from signoff.memory.interface import Candidate, Match, Memory, Query, Reference, Reply, Validation
from signoff.memory.item import identity
from signoff.memory.service import LARGEST_REQUEST, application
from tests.clauses import requirement

TOKEN = "open-sesame"


@pytest.fixture
def store(tmp_path: pathlib.Path) -> Embedded:
    return Embedded(tmp_path / "memory.db")


@pytest.fixture
def url(store: Embedded) -> Iterator[str]:
    yield from served(application(store, "1.0", TOKEN))


def served(service: Starlette) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(service, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(60)
    listening.close()


@pytest.fixture
def open_url(store: Embedded) -> Iterator[str]:
    yield from served(application(store, "1.0"))


def call(url: str, path: str, body: object = None, *, method: str = "POST", **headers: str) -> tuple[int, Any]:
    import http.client

    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    given = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", **headers}
    connection.request(method, path, None if method == "GET" else data, given)
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    return response.status, msgspec.json.decode(answer)


def still(match: Match) -> Match:
    """As it is whenever it is asked for: freshness runs."""
    return msgspec.structs.replace(
        match, freshness=round(match.freshness, 4), score=round(match.score, 4), why={**match.why, "freshness": 0.0}
    )


@requirement("MEM-128")
def test_the_client_is_a_memory_like_any_other(url: str, store: Embedded) -> None:
    memory: Memory = Client(url + "/", token=TOKEN)
    told = Candidate(
        "p", "How to build?", "Run make.", "In short: make.", ("make",), {"k": [1]}, thread="t", position=1
    )
    added = memory.candidate(told)
    assert added == Reply(202, identity(told))
    there, here = memory.search(Query("p", "build", 3, 0.1)), store.search(Query("p", "build", 3, 0.1))
    assert there.status == here.status == 200
    assert [still(match) for match in there.value] == [still(match) for match in here.value]
    assert (there.value[0].qa_id, there.value[0].tags, there.value[0].summary) == (added.value, ("make",), told.summary)
    assert memory.search(Query("stranger", "build")) == Reply(200, ())
    assert memory.hit("p", (Reference(added.value, used=True),)) == Reply(200, None)
    assert memory.validate(Validation("p", added.value, "pass", "strong")) == Reply(200, None)
    item = store.get(added.value)
    assert item is not None
    assert (item.used, item.stats.strong_pass, item.thread, item.position) == (1, 1, "t", 1)
    with pytest.raises(MemoryBadRequest, match="does not know"):
        memory.validate(Validation("p", "qa-unknown", "pass"))
    with pytest.raises(MemoryBadRequest, match="holds a secret"):
        memory.candidate(Candidate("p", "key?", "AKIAIOSFODNN7EXAMPLQ"))
    with pytest.raises(MemoryUnauthorized):
        Client(url, token="wrong").search(Query("p", "build"))


GOOD = {"project_id": "p", "qa_id": "qa-x"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/qa/search", {"project_id": "p", "query": "q"}, 200),
        ("/v1/qa/search", {"project_id": "p", "query": "q", "limit": 21}, 422),
        ("/v1/qa/search", {"query": "q"}, 422),
        ("/v1/qa/search", b"{", 422),
        ("/v1/qa/search", b"\xff", 422),
        ("/v1/qa/search", b"[" * 100_000, 422),
        ("/v1/qa/search", b" " * (LARGEST_REQUEST + 1), 413),
        ("/v1/qa/search", {"project_id": "p", "query": "q", "limit": 9.0}, 200),
        ("/v1/qa/search", {"project_id": "p", "query": "q", "limit": 9.5}, 422),
        ("/v1/qa/validate", GOOD, 404),
        ("/v1/qa/validate", {**GOOD, "success": True}, 404),
        ("/v1/qa/validate", {**GOOD, "result": "maybe"}, 422),
        ("/v1/qa/expire", {"batch_size": 0}, 422),
        ("/v1/qa/expire", {}, 200),
        ("/v1/qa/hit", {"project_id": "p", "references": [{}]}, 422),
        ("/v1/nothing", {}, 404),
    ],
)
def test_statuses(url: str, path: str, body: object, status: int) -> None:
    answered, problem = call(url, path, body)
    assert answered == status
    assert answered < 300 or set(problem) == {"error", "error_code"}


def test_who_may_ask_and_how(url: str, store: Embedded) -> None:
    (qa_id,) = store.add((Candidate("p", "How to build?", "Run make."),))
    assert call(url, "/v1/qa/health", method="GET", Authorization="") == (200, {"status": "ok"})
    assert call(url, "/v1/qa/search", {}, Authorization="")[0] == 401
    assert call(url, "/v1/qa/search", {}, **{"Content-Type": "text/plain"})[0] == 415
    assert call(url, "/v1/qa/search", method="GET")[0] == 404  # an id nobody knows
    assert call(url, f"/v1/qa/{qa_id}", method="GET")[1]["answer"] == "Run make."
    assert call(url, f"/v1/qa/{qa_id}?project_id=p", method="GET")[0] == 200
    assert call(url, f"/v1/qa/{qa_id}?project_id=stranger", method="GET")[0] == 404
    assert call(url, "/v1/qa/validate", {"project_id": "stranger", "qa_id": qa_id, "result": "fail"})[0] == 404
    assert call(url, "/v1/qa/validate", {"project_id": "p", "qa_id": qa_id})[0] == 400
    success = {"project_id": "p", "qa_id": qa_id, "success": False, "strong_signal": True}
    assert call(url, "/v1/qa/validate", success)[1]["record"]["stats"]["strong_fail"] == 1


def test_the_document_describes_every_path(url: str) -> None:
    status, told = call(url, "/openapi.json", method="GET", Authorization="")
    assert status == 200
    assert told == msgspec.json.decode(msgspec.json.encode(document("1.0", secured=True)))
    assert set(told["paths"]) == {*(operation.path for operation in OPERATIONS), "/v1/qa/{qa_id}", "/v1/qa/health"}


def test_the_service_keeps_what_its_document_promises(store: Embedded) -> None:
    told = schemathesis.openapi.from_asgi("/openapi.json", application(store, "1.0"))
    for found in told.get_all_operations():

        @settings(max_examples=20, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
        @given(case=found.ok().as_strategy())
        def check(case: Any) -> None:
            case.call_and_validate(headers={"Host": "localhost"})

        check()


class Stub:
    """A service that answers what it is told to, and counts."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.asked = 0
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                status, body = answers[min(stub.asked, len(answers) - 1)]
                stub.asked += 1
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(60)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((401, b""), MemoryUnauthorized),
        ((403, b""), MemoryUnauthorized),
        ((429, b""), MemoryRateLimited),
        ((500, b"boom"), MemoryUnavailable),
        ((422, b"no"), MemoryBadRequest),
        ((302, b""), MemoryBadRequest),
        ((200, b"not json"), MemoryUndecodable),
        ((200, b'{"matches": []}'), MemoryUndecodable),
        ((200, b'[{"x": 1}]'), MemoryUndecodable),
        ((200, b'{"error": "sad"}'), MemoryFailed),
        ((200, b"[" + b" " * 5_000_000 + b"]"), MemoryUndecodable),
    ],
)
def test_every_bad_answer_has_its_error(answer: tuple[int, bytes], error: type[MemoryFailed]) -> None:
    stub = Stub(answer)
    with pytest.raises(error) as caught:
        Client(stub.url, timeout=120, wait=lambda _seconds: None).search(Query("p", "q"))
    assert type(caught.value) is error
    stub.close()


def test_half_an_answer_is_better_than_none() -> None:
    stub = Stub(
        (
            200,
            b'[{"qa_id": "a", "project_id": "p", "question": "q", "answer": "x", "meta": {"k": 1}, "summary": null}, 7]',
        )
    )
    (match,) = Client(stub.url).search(Query("p", "q")).value
    assert (match.qa_id, match.status, match.metadata) == ("a", "active", {"k": 1})
    stub.close()


def test_what_may_be_over_soon_is_tried_again_and_what_is_not_is_not() -> None:
    waits: list[float] = []
    stub = Stub((503, b""), (429, b""), (200, b"[]"))
    assert Client(stub.url, retries=2, backoff=0.1, wait=waits.append).search(Query("p", "q")) == Reply(200, ())
    assert stub.asked == 3
    assert 0.08 <= waits[0] <= 0.12 < 0.16 <= waits[1] <= 0.24
    stub.close()
    stub = Stub((400, b""))
    with pytest.raises(MemoryBadRequest):
        Client(stub.url, retries=2).search(Query("p", "q"))
    assert stub.asked == 1
    stub.close()


def test_a_service_that_fails_again_and_again_is_left_alone_for_a_while() -> None:
    now = [0.0]
    stub = Stub(*[(500, b"")] * 5, (200, b"[]"))
    client = Client(stub.url, retries=0, clock=lambda: now[0])
    for _ in range(7):
        with pytest.raises(MemoryUnavailable):
            client.search(Query("p", "q"))
    assert stub.asked == 5
    now[0] = 31.0
    assert client.search(Query("p", "q")) == Reply(200, ())
    stub.close()


def test_a_service_that_never_answers_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(MemoryTimeout):
        Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2, retries=3).search(Query("p", "q"))
    with socket.socket() as deaf, pytest.raises(MemoryUnavailable):
        deaf.bind(("127.0.0.1", 0))
        Client(f"http://127.0.0.1:{deaf.getsockname()[1]}", timeout=60, retries=0).hit("p", ())


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
    ],
)
def test_a_service_that_never_ends_is_not_waited_for(first: bytes, then: bytes) -> None:
    listening = socket.create_server(("127.0.0.1", 0))

    def dribble() -> None:
        line, _ = listening.accept()
        with line, contextlib.suppress(OSError):
            line.sendall(first)
            while not select.select([line], [], [], 0.02)[0] or line.recv(65_536):
                line.sendall(then)

    server = threading.Thread(target=dribble)
    server.start()
    with pytest.raises(MemoryTimeout):
        Client(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=0.5, retries=0).search(Query("p", "q"))
    server.join(60)
    listening.close()
    assert not server.is_alive()


@pytest.mark.parametrize("address", ["", "ftp://x", "localhost:1", "http://"])
def test_an_address_must_be_one(address: str) -> None:
    with pytest.raises(ConfigError):
        Client(address)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:1"}, 200),
        ({"Host": "pages.example"}, 403),  # a name that was made to point here
        ({"Host": "127.0.0.1.pages.example:1"}, 403),
        ({"Origin": "https://pages.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_without_a_token_no_page_of_a_browser_is_served(open_url: str, headers: dict[str, str], status: int) -> None:
    assert call(open_url, "/v1/qa/search", {"project_id": "p", "query": "x"}, **headers)[0] == status


def test_a_request_that_announces_too_much_is_not_waited_for(url: str) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        head = f"POST /v1/qa/search HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json"
        connection.sendall(f"{head}\r\nContent-Length: 99999999999999\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
