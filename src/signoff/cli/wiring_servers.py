"""The tool servers (MCP) of a session: those that were configured, and those somebody brings along for it."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from signoff.config import locations
from signoff.config.known_tools import KnownTools
from signoff.config.layers import Configuration
from signoff.config.tool_servers import configured
from signoff.domain.tool_server import ToolServer
from signoff.tools.registry import Registry

if TYPE_CHECKING:
    from signoff.tools.mcp_servers import McpServers


def tool_servers(
    loaded: Configuration,
    registry: Registry,
    directory: str,
    warn: Callable[[str], object],
    extra: Iterable[ToolServer] = (),
) -> "McpServers":
    """For `async with`: connects to each and adds its tools to the registry. Of one name, the one brought along counts."""
    from signoff.tools.mcp_servers import McpServers, Surroundings
    from signoff.tools.mcp_tool import Memory

    found = configured(os.environ, loaded.project)
    for warning in found.warnings:
        warn(warning)
    servers = {server.name: server for server in (*found.servers, *extra)}
    known = KnownTools(locations.known_tools(os.environ), directory)
    memory = Memory(known.changed, known.keep)
    return McpServers(servers.values(), registry, Surroundings(directory, os.environ, memory, warn))
