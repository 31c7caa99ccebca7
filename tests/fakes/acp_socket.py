"""The fake agent behind a WebSocket, on a free port of this machine."""

import asyncio
import sys
from typing import TYPE_CHECKING

from signoff.acp.transports.websocket import Listen, listen

if TYPE_CHECKING:
    from tests.fakes.acp_agent import Agent


async def serve(agent: "Agent") -> None:
    async with listen(agent.make_peer, Listen(port=0)) as (_, port):
        print(port, file=sys.stderr, flush=True)
        await asyncio.Event().wait()
