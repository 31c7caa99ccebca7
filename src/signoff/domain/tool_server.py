"""A server that brings tools of its own (MCP): a program that is started here, or an address."""

from collections.abc import Mapping

import msgspec


class LocalServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that speaks over its standard streams. Of our environment it sees what every command sees, and `env`."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class RemoteServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An address that speaks streamable HTTP."""

    name: str
    url: str
    headers: Mapping[str, str] = {}


ToolServer = LocalServer | RemoteServer
