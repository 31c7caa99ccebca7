"""The reference of the ACP figures, as a program: an echo agent on the official Python SDK, on uvloop where installed.

It does for a prompt what the SDK's own example of that name does (a new block, marked twice as an echo, its source named);
what that example lacks, options that can be changed, is added.
"""

import asyncio
from typing import Any

import acp
from acp.schema import ConfigOptionUpdate, SessionConfigOptionSelect, SessionConfigSelectOption


class Echo(acp.Agent):
    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, mcp_servers: Any = None, **_: Any) -> acp.NewSessionResponse:
        session_id = f"session-{len(self._values) + 1}"
        self._values[session_id] = "low"
        return acp.NewSessionResponse(session_id=session_id, config_options=self._options(session_id))

    def _options(self, session_id: str) -> list[Any]:
        choices = [SessionConfigSelectOption(value=value, name=value) for value in ("low", "high")]
        value = self._values[session_id]
        return [
            SessionConfigOptionSelect(type="select", id="effort", name="Effort", current_value=value, options=choices)
        ]

    async def set_config_option(self, config_id: str, session_id: str, value: str | bool, **_: Any) -> Any:
        self._values[session_id] = str(value)
        options = self._options(session_id)
        update = ConfigOptionUpdate(session_update="config_option_update", config_options=options)
        await self._client.session_update(session_id, update)
        return acp.SetSessionConfigOptionResponse(config_options=options)

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> acp.PromptResponse:
        for block in prompt:
            chunk = acp.update_agent_message_text(getattr(block, "text", ""))
            chunk.field_meta = chunk.content.field_meta = {"echo": True}
            await self._client.session_update(session_id, chunk, source="echo")
        return acp.PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.install()
    except ImportError:
        pass
    asyncio.run(acp.run_agent(Echo()))
