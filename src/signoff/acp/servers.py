"""The tool servers a client wants a session to have, as our tools know them. Pure."""

from collections.abc import Iterable

from signoff.domain.errors import UsageError
from signoff.domain.tool_server import LocalServer, RemoteServer, ToolServer
from signoff.wire import acp_schema as schema


def tool_servers(wanted: Iterable[schema.McpServer]) -> tuple[ToolServer, ...]:
    """Raises UsageError for a kind we did not say we take."""
    return tuple(_server(each) for each in wanted)


def _server(wanted: schema.McpServer) -> ToolServer:
    if isinstance(wanted.command, str):
        variables = {each.name: each.value for each in wanted.env or ()}
        return LocalServer(wanted.name, wanted.command, tuple(wanted.args or ()), variables)
    if wanted.type == "http" and isinstance(wanted.url, str):
        return RemoteServer(wanted.name, wanted.url, {each.name: each.value for each in wanted.headers or ()})
    raise UsageError(f"the MCP server {wanted.name!r} is of type {wanted.type!r}; this agent takes stdio and http")
