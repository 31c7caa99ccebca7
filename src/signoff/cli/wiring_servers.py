"""The tool servers (MCP) of a session: those that were configured, and those somebody brings along for it."""

import contextlib
import os
from collections.abc import Callable, Iterable

from signoff.config import locations
from signoff.config.known_tools import KnownTools
from signoff.config.layers import Configuration
from signoff.config.tool_servers import configured
from signoff.domain.tool_server import ToolServer
from signoff.tools.registry import Registry

Serving = contextlib.AbstractAsyncContextManager[object]


def tool_servers(
    loaded: Configuration,
    registry: Registry,
    directory: str,
    warn: Callable[[str], object],
    extra: Iterable[ToolServer] = (),
) -> Serving:
    """For `async with`: connects to each and adds its tools to the registry. Of one name, the one brought along counts."""
    found = configured(os.environ, loaded.project)
    for warning in found.warnings:
        warn(warning)
    servers = {server.name: server for server in (*found.servers, *extra)}
    if not servers:
        return contextlib.nullcontext()  # and nothing of it is loaded
    from signoff.tools.mcp_servers import McpServers, Surroundings
    from signoff.tools.mcp_tool import Memory

    known = KnownTools(locations.known_tools(os.environ), directory)
    memory = Memory(known.changed, known.keep)
    return McpServers(servers.values(), registry, Surroundings(directory, os.environ, memory, warn))
