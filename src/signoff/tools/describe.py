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
    return Description(
        name=tool.name,
        version=tool.version,
        description=tool.description,
        args_schema=_schema(tool.arguments),
        return_schema=_schema(tool.returns),
        required_permissions=tuple(permission.value for permission in tool.permissions),
        side_effects=tool.side_effects,
    )


def _schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """With the outermost type in place: not every model follows a reference at the top."""
    schema = msgspec.json.schema(kind)
    definitions = schema["$defs"]
    top = definitions.pop(schema["$ref"].removeprefix("#/$defs/"))
    return {**top, "$defs": definitions} if definitions else dict(top)
