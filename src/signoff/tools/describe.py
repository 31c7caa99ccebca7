"""What a tool says of itself, for models and people. The schemas come from the types."""

from typing import Any

import msgspec

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
