"""The real `signoff acp serve` behind a WebSocket or on pipes, and clients of bytes whose every frame is kept.

What the agent sent is held against the protocol's schema when a client goes.
"""

import asyncio
import contextlib
import itertools
import json
import os
import pathlib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.acp.served import COMMAND, environment
from tests.acp.validator import validate

LIMIT = 600.0  # seconds no test comes near, however busy the machine
MODES = ("ask", "plan", "auto")
MOST_CHECKED = 2_000  # of one client's frames; a race repeats the same few ten thousand times
Answer = Callable[[dict[str, Any]], dict[str, Any] | None]
"""What the client says to a request of the agent's; None: nothing, ever."""


def script(folder: pathlib.Path, *turns: Mapping[str, Any]) -> list[str]:
    path = folder / "script.json"
    path.write_text(json.dumps(turns), encoding="utf-8")
    return ["-m", f"scripted/{path}"]


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, **more}


def calls(name: str, **args: Any) -> dict[str, Any]:
    return {"tools": [{"name": name, "args": args}]}


def silent(request: dict[str, Any]) -> None:
    return None


def chooses(option: str) -> Answer:
    return lambda request: {"outcome": {"outcome": "selected", "optionId": option}}


class Client:
    """Reads all the time; an answer goes to who asked, everything else is kept in its order."""

    def __init__(self, send: Callable[[str], Any], answer: Answer = silent) -> None:
        self._send = send
        self._answer = answer
        self._numbers = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._news = asyncio.Event()
        self.knows_what_it_asked = True  # else no answer can be held against a question
        self.sent: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []

    async def take(self, data: str | bytes) -> None:
        frame = json.loads(data)
        self.received.append(frame)
        self._news.set()
        if "method" in frame and "id" in frame:
            result = self._answer(frame)
            if result is not None:
                await self.send({"jsonrpc": "2.0", "id": frame["id"], "result": result})
        elif "method" not in frame and frame.get("id") in self._waiting:
            self._waiting.pop(frame["id"]).set_result(frame)

    async def send(self, frame: dict[str, Any]) -> None:
        self.sent.append(frame)
        await self._send(json.dumps(frame))

    async def raw(self, data: str) -> None:
        await self._send(data)

    async def begin(self, method: str, request_id: Any = None, **params: Any) -> "asyncio.Future[dict[str, Any]]":
        number = next(self._numbers) if request_id is None else request_id
        self._waiting[number] = asyncio.get_running_loop().create_future()
        answer = self._waiting[number]
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return answer

    async def ask(self, method: str, request_id: Any = None, **params: Any) -> dict[str, Any]:
        return await (await self.begin(method, request_id, **params))

    async def notify(self, method: str, **params: Any) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first frame of which this is true, also if it has come already."""
        seen = 0
        while True:
            for frame in self.received[seen:]:
                if condition(frame):
                    return frame
            seen = len(self.received)
            self._news.clear()
            await self._news.wait()

    async def asked(self) -> dict[str, Any]:
        return await self.until(lambda frame: frame.get("method") == "session/request_permission")

    async def session(self, cwd: pathlib.Path) -> str:
        made = await self.ask("session/new", cwd=str(cwd), mcpServers=[])
        return str(made["result"]["sessionId"])

    async def prompt(self, session: str, text: str, request_id: Any = None) -> "asyncio.Future[dict[str, Any]]":
        content = [{"type": "text", "text": text}]
        return await self.begin("session/prompt", request_id, sessionId=session, prompt=content)

    def updates(self, session: str | None = None) -> list[dict[str, Any]]:
        told = [frame["params"] for frame in self.received if frame.get("method") == "session/update"]
        return [one["update"] for one in told if session in (None, one["sessionId"])]

    def end(self) -> None:
        """Nothing comes any more: whoever waits for an answer learns it."""
        for waiting in self._waiting.values():
            waiting.cancel()

    def check(self) -> None:
        ours = self.received if self.knows_what_it_asked else [frame for frame in self.received if "method" in frame]
        validate(ours[:MOST_CHECKED], self.sent)


class Served:
    def __init__(self, process: asyncio.subprocess.Process, port: int, said: list[str]) -> None:
        self.process = process
        self.port = port
        self.said = said  # on stderr

    @property
    def endpoint(self) -> str:
        return f"ws://127.0.0.1:{self.port}/acp"

    @property
    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @contextlib.asynccontextmanager
    async def client(self, answer: Answer = silent, *, port: int = 0, **capabilities: Any) -> AsyncIterator[Client]:
        async with self.connected(answer, port=port) as (client, _):
            await client.ask("initialize", protocolVersion=1, clientCapabilities=capabilities)
            yield client

    @contextlib.asynccontextmanager
    async def connected(
        self, answer: Answer = silent, *, port: int = 0
    ) -> AsyncIterator[tuple[Client, ClientConnection]]:
        url = f"ws://127.0.0.1:{port or self.port}/acp"
        options: dict[str, Any] = {
            "compression": None,
            "open_timeout": LIMIT,
            "ping_interval": None,
            "close_timeout": 1,
        }
        async with connect(url, max_size=None, **options) as socket_:
            client = Client(socket_.send, answer)
            reading = asyncio.create_task(_read(socket_, client))
            try:
                yield client, socket_
            finally:
                reading.cancel()
                await asyncio.wait({reading})
                client.check()


async def _read(socket_: ClientConnection, client: Client) -> None:
    try:
        async for message in socket_:
            await client.take(message)
    finally:
        client.end()


@contextlib.asynccontextmanager
async def websocket(folder: pathlib.Path, *options: str) -> AsyncIterator[Served]:
    """`options` name the model too; without one it is the echo model."""
    command = [*(COMMAND if "-m" not in options else COMMAND[:-2]), "--transport", "ws"]
    process = await asyncio.create_subprocess_exec(
        *command, "--listen", "127.0.0.1:0", *options, env=environment(folder), stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    said: list[str] = []
    try:
        async with asyncio.timeout(LIMIT):
            while not (serving := re.search(r"serving ws://127.0.0.1:(\d+)/", said[-1] if said else "")):
                line = await process.stderr.readline()
                assert line, said
                said.append(line.decode())
            listening = asyncio.create_task(_listen(process.stderr, said))
            yield Served(process, int(serving[1]), said)
    finally:
        if process.returncode is None:
            process.terminate()
        status = await asyncio.wait_for(process.wait(), LIMIT)
    await listening
    assert status == 0, said


async def _listen(stream: asyncio.StreamReader, said: list[str]) -> None:
    async for line in stream:
        said.append(line.decode())


@contextlib.asynccontextmanager
async def stdio(folder: pathlib.Path, *options: str, answer: Answer = silent) -> AsyncIterator[Client]:
    """A client on the pipes of a server of its own, which ends when its stdin does."""
    command = [*(COMMAND if "-m" not in options else COMMAND[:-2]), *options]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, env=environment(folder), stdin=pipe, stdout=pipe, limit=64 * 1024 * 1024
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def send(data: str) -> None:
        stdin.write(data.encode("utf-8", "surrogateescape") + b"\n")
        await stdin.drain()

    async def read() -> None:
        async for line in stdout:
            await client.take(line)

    client = Client(send, answer)
    reading = asyncio.create_task(read())
    try:
        async with asyncio.timeout(LIMIT):
            await client.ask("initialize", protocolVersion=1)
            yield client
    finally:
        stdin.close()
        status = await asyncio.wait_for(process.wait(), LIMIT)
        await reading
    assert status == 0
    client.check()


class Line:
    """A wire between a client and the server that can be cut without either end hearing of it."""

    def __init__(self) -> None:
        self.port = 0
        self._open = asyncio.Event()
        self._open.set()

    def cut(self) -> None:
        """From now on nothing arrives, in either direction, and nothing is closed."""
        self._open.clear()

    def mend(self) -> None:
        self._open.set()

    @contextlib.asynccontextmanager
    async def to(self, port: int) -> AsyncIterator["Line"]:
        writers: list[asyncio.StreamWriter] = []

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                while data := await reader.read(65_536):
                    await self._open.wait()
                    writer.write(data)
                writer.close()

        async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection("127.0.0.1", port)
            writers.extend((writer, back))
            await asyncio.gather(carry(reader, back), carry(there, writer))

        server = await asyncio.start_server(joined, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self._open.set()
            for writer in writers:
                writer.close()
            server.close()
