"""Two peers without a wire between them, and frames to throw at one."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from signoff.acp.memory_link import Link, join
from signoff.acp.peer import Call, Handler, Peer

LIMIT = 120.0  # seconds no test comes near, however busy the machine


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await work()

    asyncio.run(limited())


def alone(handlers: Mapping[str, Handler] | None = None, **options: Any) -> tuple[Peer, Link]:
    link = Link()
    return Peer(link, "agent", handlers or {}, **options), link


def pair(agent: Mapping[str, Handler], client: Mapping[str, Handler] | None = None) -> tuple[Peer, Peer]:
    one, other = Peer(Link(), "agent", agent), Peer(Link(), "client", client or {})
    join(one, other)
    return one, other


def told(link: Link) -> list[Any]:
    return [json.loads(frame) for frame in link.sent]


async def settle() -> None:
    """Let everything that can run without outside events run."""
    for _ in range(20):
        await asyncio.sleep(0)


def echo(_call: Call, params: Any) -> object:
    return {"echo": params}


FRAMES: list[tuple[str, bytes, object]] = [
    ("bad JSON", b"{nope", (None, -32700)),
    ("half a frame", b'{"jsonrpc":"2.0","id":1', (None, -32700)),
    ("empty line", b"  ", (None, -32700)),
    ("array", b'[{"jsonrpc":"2.0","id":1,"method":"_echo"}]', (None, -32600)),
    ("empty array", b"[]", (None, -32600)),
    ("scalar", b"42", (None, -32600)),
    ("null", b"null", (None, -32600)),
    ("no jsonrpc", b'{"id":1,"method":"_echo"}', (1, -32600)),
    ("jsonrpc 1.0", b'{"jsonrpc":"1.0","id":1,"method":"_echo"}', (1, -32600)),
    ("id object", b'{"jsonrpc":"2.0","id":{},"method":"_echo"}', (None, -32600)),
    ("id fraction", b'{"jsonrpc":"2.0","id":1.5,"method":"_echo"}', (None, -32600)),
    ("method number", b'{"jsonrpc":"2.0","id":1,"method":7}', (1, -32600)),
    ("params scalar", b'{"jsonrpc":"2.0","id":1,"method":"_echo","params":7}', (1, -32600)),
    ("unknown method", b'{"jsonrpc":"2.0","id":1,"method":"session/dance"}', (1, -32601)),
    ("unknown extension", b'{"jsonrpc":"2.0","id":1,"method":"_dance"}', (1, -32601)),
    ("unknown notification", b'{"jsonrpc":"2.0","method":"session/dance"}', None),
    ("unknown extension notification", b'{"jsonrpc":"2.0","method":"_dance"}', None),
    ("cancel of nothing", b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}', None),
    ("cancel that cannot be read", b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}', None),
    (
        "params of the wrong shape",
        b'{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"methodId":3}}',
        (1, -32602),
    ),
    ("answer nobody asked for", b'{"jsonrpc":"2.0","id":99,"result":{}}', None),
    ("error answer without id", b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"?"}}', None),
    ("result and error", b'{"jsonrpc":"2.0","id":9,"result":1,"error":{"code":1,"message":"m"}}', (None, -32600)),
    ("not UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"_echo","params":{"a":"\xff"}}', (None, -32700)),
    ("string id", b'{"jsonrpc":"2.0","id":"a","method":"_echo"}', ("a", {"echo": {}})),
    ("null id", b'{"jsonrpc":"2.0","id":null,"method":"_echo"}', (None, {"echo": {}})),
]
