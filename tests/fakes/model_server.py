"""A model server on the loopback that answers at once, in the real streaming form of each API, or as badly as it is told.

    with ModelServer(played(turns)) as server:        # the turns of a script, in any of the dialects
        … OPENAI_BASE_URL=server.openai, ANTHROPIC_BASE_URL=server.url …

`python -m tests.fakes.model_server SCRIPT` prints the address and serves until it is ended, for programs that measure.
"""

import asyncio
import itertools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from signoff.providers import script
from signoff.providers.script import Turn

STREAM = "text/event-stream; charset=utf-8"


class Asked(msgspec.Struct, frozen=True):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Reply(msgspec.Struct, frozen=True):
    """`pieces` go out as one HTTP chunk each; then the answer ends, or the line is cut, or nothing more is said."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    headers: dict[str, str] = {}
    content_type: str = STREAM
    then: Literal["end", "cut", "stall"] = "end"
    pause_s: float = 0.0  # before each piece


Handler = Callable[[Asked], Reply]


def event(value: object, name: str = "") -> bytes:
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + msgspec.json.encode(value) + b"\n\n"


def chat(turn: Turn) -> tuple[bytes, ...]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return event({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})

    parts = [chunk({"role": "assistant", "content": ""})]
    parts += [chunk({"reasoning_content": turn.reasoning})] if turn.reasoning else []
    parts += [chunk({"content": turn.text})] if turn.text else []
    for number, call in enumerate(turn.tools):
        asked = call.request(1, number + 1)
        head = {"index": number, "id": asked.id, "type": "function", "function": {"name": asked.name, "arguments": ""}}
        parts.append(chunk({"tool_calls": [head]}))
        for piece in halves(asked.arguments):
            parts.append(chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]}))
    reasons = {"end": "stop", "tool_calls": "tool_calls", "length": "length", "refused": "content_filter"}
    told = turn.usage or script.Tokens(10, 5)
    usage = {"prompt_tokens": told.input_tokens, "completion_tokens": told.output_tokens}
    parts += [chunk({}, reasons[turn.reason()]), event({"choices": [], "usage": usage}), b"data: [DONE]\n\n"]
    return tuple(parts)


def responses(turn: Turn) -> tuple[bytes, ...]:
    def said(kind: str, **more: object) -> bytes:
        return event({"type": kind, **more}, kind)

    parts = [said("response.created", response={"id": "r", "status": "in_progress"})]
    items: list[dict[str, Any]] = []
    if turn.reasoning:
        parts.append(said("response.reasoning_summary_text.delta", output_index=0, delta=turn.reasoning))
        items.append({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"})
    if turn.text:
        parts.append(said("response.output_text.delta", output_index=len(items), delta=turn.text))
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        items.append({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": content})
    for number, call in enumerate(turn.tools):
        asked = call.request(1, number + 1)
        for piece in halves(asked.arguments):
            parts.append(said("response.function_call_arguments.delta", output_index=len(items), delta=piece))
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": asked.id, "name": asked.name}
        items.append({**item, "arguments": asked.arguments, "status": "completed"})
    parts += [said("response.output_item.done", output_index=place, item=item) for place, item in enumerate(items)]
    told = turn.usage or script.Tokens(10, 5)
    usage = {"input_tokens": told.input_tokens, "output_tokens": told.output_tokens}
    whole: dict[str, Any] = {"id": "r", "status": "completed", "output": items, "usage": usage}
    if turn.reason() in ("length", "refused"):
        why = "max_output_tokens" if turn.reason() == "length" else "content_filter"
        whole = {**whole, "status": "incomplete", "incomplete_details": {"reason": why}}
    return (*parts, said(f"response.{whole['status']}", response=whole))


def messages(turn: Turn) -> tuple[bytes, ...]:
    def said(kind: str, **more: object) -> bytes:
        return event({"type": kind, **more}, kind)

    told = turn.usage or script.Tokens(10, 5)
    start = {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": told.input_tokens}}
    parts = [said("message_start", message=start), said("ping")]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if turn.reasoning:
        deltas = [
            {"type": "thinking_delta", "thinking": turn.reasoning},
            {"type": "signature_delta", "signature": "sig"},
        ]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if turn.text:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": turn.text}]))
    for number, call in enumerate(turn.tools):
        asked = call.request(1, number + 1)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in halves(asked.arguments)]
        blocks.append(({"type": "tool_use", "id": asked.id, "name": asked.name, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        parts.append(said("content_block_start", index=index, content_block=block))
        parts += [said("content_block_delta", index=index, delta=delta) for delta in deltas]
        parts.append(said("content_block_stop", index=index))
    reasons = {"end": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "refused": "refusal"}
    usage = {"output_tokens": told.output_tokens}
    parts.append(said("message_delta", delta={"stop_reason": reasons[turn.reason()]}, usage=usage))
    return (*parts, said("message_stop"))


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


DIALECTS: dict[str, Callable[[Turn], tuple[bytes, ...]]] = {
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
    "/v1/messages": messages,
}


def played(turns: Iterable[Turn], *, models: tuple[str, ...] = ("small", "large")) -> Handler:
    """Each request for an answer takes the next turn; the last one is given for ever."""
    left = iter(tuple(turns))
    last: list[Turn] = []

    def handle(asked: Asked) -> Reply:
        if asked.path.partition("?")[0] == "/v1/models":
            listed = {"data": [{"id": name} for name in models]}
            return Reply((msgspec.json.encode(listed),), content_type="application/json")
        last[:] = [turn] if (turn := next(left, None)) is not None else last
        return Reply(DIALECTS[asked.path](last[0])) if last and asked.path in DIALECTS else Reply(status=404)

    return handle


def in_turn(*replies: Reply) -> Handler:
    """One reply after the other; the last one for ever."""
    supply: Iterator[Reply] = itertools.chain(replies, itertools.repeat(replies[-1]))
    return lambda _: next(supply)


class ModelServer:
    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.asked: list[Asked] = []
        self.connections = 0
        self._port = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai(self) -> str:
        return f"{self.url}/v1"

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        assert self._ready.wait(30), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(30)

    async def _run(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            task = asyncio.create_task(self._serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=2**26)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _request(reader)) is not None:
                self.asked.append(asked)
                await self._answer(self._handler(asked), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        head = {"content-type": reply.content_type, "transfer-encoding": "chunked", **reply.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"HTTP/1.1 {reply.status} Said\r\n{lines}\r\n".encode())
        for piece in reply.pieces:
            await asyncio.sleep(reply.pause_s)
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        if reply.then == "stall":
            await self._over.wait()
        if reply.then == "cut":
            writer.close()  # what was written still arrives; the chunk that would end the answer does not
            await writer.wait_closed()
            raise ConnectionResetError
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _request(reader: asyncio.StreamReader) -> Asked | None:
    first = await reader.readline()
    if not first:
        return None
    method, path, _ = first.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return Asked(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


if __name__ == "__main__":
    with ModelServer(played(script.parse(Path(sys.argv[1]).read_bytes(), sys.argv[1]))) as running:
        print(running.url, flush=True)
        sys.stdin.read()
