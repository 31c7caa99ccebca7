"""A small agent on our peer, as a program: it echoes prompts, holds options, prints where it must not.

python -m tests.fakes.acp_agent                stdio
python -m tests.fakes.acp_agent ws             WebSocket on a free port, said on stderr
"""

import asyncio
import itertools
import os
import sys
from collections.abc import Mapping
from typing import Any

from signoff.acp.peer import Call, Handler, Outlet, Peer
from signoff.acp.transports import loop, stdio
from signoff.wire import acp_schema as schema

OPTION = "effort"


class Agent:
    """One for all connections; each connection gets its own handlers."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.sessions = itertools.count(1)
        self.values: dict[str, str] = {}

    def make_peer(self, outlet: Outlet) -> Peer:
        return Peer(outlet, "agent", self.handlers(), numbers=self.numbers)

    def handlers(self) -> Mapping[str, Handler]:
        return {
            "initialize": self.initialize,
            "session/new": self.new,
            "session/prompt": self.prompt,
            "session/set_config_option": self.set_option,
            "_print": self.print,
            "_ask": self.ask,
            "_wait": self.wait,
        }

    def initialize(self, _call: Call, _params: schema.InitializeRequest) -> object:
        return schema.InitializeResponse(protocolVersion=1)

    def new(self, _call: Call, _params: schema.NewSessionRequest) -> object:
        session_id = f"session-{next(self.sessions)}"
        self.values[session_id] = "low"
        return schema.NewSessionResponse(sessionId=session_id, configOptions=self.options(session_id))

    def options(self, session_id: str) -> list[schema.SessionConfigOption]:
        choices = [schema.SessionConfigSelectEntry(value=value, name=value) for value in ("low", "high")]
        return [
            schema.SessionConfigOptionSelect(
                id=OPTION, name="Effort", currentValue=self.values[session_id], options=choices
            )
        ]

    async def prompt(self, call: Call, params: schema.PromptRequest) -> object:
        for block in params.prompt:
            update = schema.AgentMessageChunk(content=block)
            await call.peer.notify(
                "session/update", schema.SessionNotification(sessionId=params.sessionId, update=update)
            )
        return schema.PromptResponse(stopReason="end_turn")

    def set_option(self, call: Call, params: schema.SetSessionConfigOptionRequest) -> object:
        self.values[params.sessionId] = str(params.value)
        options = self.options(params.sessionId)
        update = schema.ConfigOptionUpdate(configOptions=options)
        call.peer.notify_soon("session/update", schema.SessionNotification(sessionId=params.sessionId, update=update))
        return schema.SetSessionConfigOptionResponse(configOptions=options)

    def print(self, _call: Call, params: Any) -> object:
        print(params["text"], flush=True)
        os.write(1, b"straight to the descriptor\n")
        os.system("echo from a child")
        return {"stdin": os.read(0, 10).decode()}

    async def ask(self, call: Call, params: Any) -> object:
        return {"answer": await call.peer.request("_question", params)}

    async def wait(self, _call: Call, _params: Any) -> object:
        await asyncio.Event().wait()
        return {}


if __name__ == "__main__":
    if sys.argv[1:] == ["ws"]:
        from tests.fakes.acp_socket import serve

        loop.run(serve(Agent()))
    else:
        streams = stdio.take_streams()
        loop.run(stdio.serve(Agent().make_peer, streams))
