"""What a tool says of itself, for models and people. The schemas come from the types."""

import functools
from pathlib import Path
from typing import Any

import msgspec

from signoff.tools.registry import TOOLS, Registry
from signoff.tools.tool import Tool


class Description(msgspec.Struct, frozen=True):
    name: str
    version: str
    description: str
    args_schema: dict[str, Any]
    return_schema: dict[str, Any]
    required_permissions: tuple[str, ...]
    side_effects: tuple[str, ...]


def describe(tool: Tool[Any]) -> Description:
    arguments, returns = tool.schemas()
    return Description(
        name=tool.name,
        version=tool.version,
        description=tool.description,
        args_schema=arguments,
        return_schema=returns,
        required_permissions=tuple(permission.value for permission in tool.permissions),
        side_effects=tool.side_effects,
    )


class Offered(msgspec.Struct, frozen=True):
    """What a model has to know of a tool, and whether it changes anything."""

    description: str
    parameters: dict[str, Any]
    permissions: tuple[str, ...]


def offered(tool: Tool[Any]) -> Offered:
    described = describe(tool)
    return Offered(tool.description, described.args_schema, described.required_permissions)


@functools.cache
def shipped() -> dict[str, Offered]:
    """Our own tools as `descriptions.json` has them: to tell a model about all of them, none has to be loaded."""
    text = (Path(__file__).parent / "descriptions.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Offered])


def described() -> bytes:
    """What has to stand in `descriptions.json`."""
    registry = Registry()
    found = {name: offered(registry.find(name)) for name in sorted(TOOLS)}
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
