"""Which tool servers (MCP) were configured: `mcp.json` of the system and of the user, `.mcp.json` of a trusted project.

The files have the form other programs use for them, `{"mcpServers": {NAME: {…}}}`, and may say `${VARIABLE}` or
`${VARIABLE:-otherwise}`. A file that cannot be read is an error; a single server that makes no sense is a warning, and the
others count. Of two servers with one name the user's comes before the system's, and both before the project's.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from signoff.config import locations, trust
from signoff.config.document import read_own
from signoff.config.locations import Environment
from signoff.domain.errors import ConfigError
from signoff.domain.late import late_pattern
from signoff.domain.tool_server import LocalServer, RemoteServer, ToolServer
from signoff.domain.unreadable import UNREADABLE

FILE = "mcp.json"
_VARIABLE = late_pattern(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.@/-]{0,63}")


class _Entry(msgspec.Struct, frozen=True):
    """One server as such files write it; what other programs keep there is passed over."""

    type: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    disabled: bool = False


class _File(msgspec.Struct, frozen=True):
    mcpServers: dict[str, Any] = {}


class Configured(msgspec.Struct, frozen=True):
    servers: tuple[ToolServer, ...] = ()
    warnings: tuple[str, ...] = ()


def configured(environ: Environment, project: Path, *, system: Path = locations.SYSTEM_CONFIG) -> Configured:
    """Every server in force in this project."""
    found: dict[str, ToolServer] = {}
    warnings: list[str] = []
    for path in (locations.user_config(environ) / FILE, system / FILE):
        content = read_own(path)
        if content is not None:
            take(path, content, environ, found, warnings)
    files = trust.contents(project)
    if trust.TOOL_SERVERS in files:
        path = project / trust.TOOL_SERVERS
        if trust.is_trusted(environ, project, files):
            take(path, files[trust.TOOL_SERVERS], environ, found, warnings)
        else:
            warnings.append(f'{path} is not in force: read it, then run "signoff config trust" in the project')
    return Configured(tuple(found.values()), tuple(warnings))


def take(
    path: Path, content: bytes, environ: Environment | None, found: dict[str, ToolServer], warnings: list[str]
) -> None:
    """Add the servers of one file to those found. No environment: variables stay as they are written."""
    try:
        written = msgspec.json.decode(content, type=_File)
    except UNREADABLE as error:
        raise ConfigError(
            f"{path}: {error}", hint='It should say {"mcpServers": {"name": {"command": "…"}}}.'
        ) from error
    for name, entry in written.mcpServers.items():
        try:
            server = read_server(name, entry, environ)
        except ConfigError as error:
            warnings.append(f"{path}: the tool server {name!r} does not count: {error.message}")
            continue
        if server is not None and name in found:
            warnings.append(f"{path}: the tool server {name!r} does not count: there is one of that name already")
        elif server is not None:
            found[name] = server


def spoken(server: ToolServer) -> str:
    """What it is, for a person who is to trust it."""
    return shlex.join((server.command, *server.args)) if isinstance(server, LocalServer) else server.url


def read_server(name: str, entry: object, environ: Environment | None) -> ToolServer | None:
    """One server from its JSON object; None: it is switched off."""
    try:
        given = msgspec.convert(entry, _Entry)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from error
    if not _NAME.fullmatch(name):
        raise ConfigError("a name has at most 64 letters, digits and - _ . @ / signs")
    if given.disabled:
        return None
    if given.type not in (None, "stdio", "http", "streamable-http"):
        raise ConfigError(f"its type is {given.type!r}; stdio and http are understood")
    if (given.command is None) == (given.url is None):
        raise ConfigError("it needs a `command` or a `url`, and not both")
    if given.command is not None:
        args = tuple(expanded(word, environ) for word in given.args)
        return LocalServer(name, expanded(given.command, environ), args, _all_expanded(given.env, environ))
    url = expanded(given.url or "", environ)
    if not url.startswith(("https://", "http://")) and environ is not None:
        raise ConfigError(f"its url is {url!r}; it must begin with https:// or http://")
    return RemoteServer(name, url, _all_expanded(given.headers, environ))


def _all_expanded(values: Mapping[str, str], environ: Environment | None) -> dict[str, str]:
    return {name: expanded(value, environ) for name, value in values.items()}


def expanded(text: str, environ: Environment | None) -> str:
    """With `${VARIABLE}` replaced; one that is not set and has no `:-otherwise` is an error."""
    if environ is None:
        return text

    def value(found: re.Match[str]) -> str:
        name, otherwise = found[1], found[2]
        if name in environ:
            return environ[name]
        if otherwise is None:
            raise ConfigError(f"the environment variable {name} is not set")
        return str(otherwise)

    return _VARIABLE.sub(value, text)
