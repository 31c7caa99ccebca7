"""Asking the memory service against asking a Starlette application that only echoes: same server, same request, same
connection kept open. What the store itself takes to answer is measured beside it and not counted as the service's."""

import http.client
import pathlib
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.figure import Figure, Unavailable, at_most, medians
from signoff.memory.embedded import Embedded
from signoff.memory.interface import Candidate, Query

ASKED = 100
QUESTION = b'{"project_id": "p", "query": "how to build the documentation"}'


@contextmanager
def serving(app: Any) -> Iterator[http.client.HTTPConnection]:
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    connection = http.client.HTTPConnection("127.0.0.1", listening.getsockname()[1], timeout=30)
    try:
        yield connection
    finally:
        connection.close()
        server.should_exit = True
        thread.join(10)
        listening.close()


def echo() -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    async def answer(request: Request) -> Response:
        return JSONResponse(await request.json())

    return Starlette(routes=[Route("/v1/qa/search", answer, methods=["POST"])])


def asking(connection: http.client.HTTPConnection, token: str) -> Callable[[], None]:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}

    def ask() -> None:
        for _ in range(ASKED):
            connection.request("POST", "/v1/qa/search", QUESTION, headers)
            response = connection.getresponse()
            response.read()
            assert response.status == 200

    return ask


def measure() -> list[Figure]:
    try:
        from signoff.memory.service import application
    except ImportError as error:
        raise Unavailable("the extra `serve` is not installed") from error
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        store = Embedded(pathlib.Path(directory) / "memory.db")
        store.add(Candidate("p", f"How to build part {n}?", f"Run make part{n}.") for n in range(100))

        def straight() -> None:
            for _ in range(ASKED):
                store.search(Query("p", "how to build the documentation"))

        with serving(application(store, "1.0", "token")) as service, serving(echo()) as bare:
            arms = {"service": asking(service, "token"), "echo": asking(bare, "token"), "store": straight}
            seconds = medians(arms, rounds=11)
    ratio = (seconds["service"] - seconds["store"]) / seconds["echo"]
    return [at_most("memory service, overhead of a search", ratio, 3, reference="a bare Starlette echo")]


if __name__ == "__main__":
    print(*measure())
