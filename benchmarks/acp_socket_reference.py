"""The reference of the WebSocket figure, as a program: a bare echo server of the `websockets` library, deflate off."""

import asyncio
import logging
import sys

from websockets.asyncio.server import ServerConnection, serve


async def echo(socket: ServerConnection) -> None:
    async for message in socket:
        await socket.send(message)


async def main() -> None:
    async with serve(echo, "127.0.0.1", 0, compression=None, backlog=1_024) as server:
        print(server.sockets[0].getsockname()[1], file=sys.stderr, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    logging.disable()  # a client that hangs up is no news, and nobody reads what we say
    try:
        import uvloop

        uvloop.install()
    except ImportError:
        pass
    asyncio.run(main())
