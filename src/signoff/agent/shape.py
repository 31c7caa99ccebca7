"""Does an answer have the shape a JSON Schema asks for? The part of JSON Schema that people write for answers. Pure.

What is not known here is not checked: the model gets the whole schema, and this is the second look.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from signoff.domain.errors import UsageError
from signoff.domain.unreadable import UNREADABLE

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
}
DEEPEST = 50


def read_schema(text: bytes, source: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except UNREADABLE as error:
        raise UsageError(f"{source} is no JSON Schema: {error}") from error


def problem(schema: Mapping[str, Any], text: str) -> str | None:
    """The first thing that is wrong with an answer; None if nothing is."""
    body = text.strip()
    if body.startswith("```") and body.endswith("```"):
        return "it stands in a code fence"
    try:
        value = msgspec.json.decode(body.encode())
    except UNREADABLE as error:
        return f"it is no JSON: {error}"
    return next(_problems(schema, schema, value, "$", DEEPEST), None)


def _problems(root: Mapping[str, Any], schema: Any, value: Any, place: str, depth: int) -> Iterator[str]:
    if schema is False:
        yield f"{place} must not be there"
    if not isinstance(schema, dict) or depth == 0:
        return
    if isinstance(schema.get("$ref"), str):
        yield from _problems(root, _referred(root, schema["$ref"]), value, place, depth - 1)
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if kinds and not any(_TYPES.get(kind, _anything)(value) for kind in kinds):
        yield f"{place} is not of type {' or '.join(kinds)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{place} is not {schema['const']!r}"
    for key, fits in (("anyOf", any), ("oneOf", any), ("allOf", all)):
        if key in schema and not fits(_fits(root, each, value, place, depth) for each in schema[key]):
            yield f"{place} does not fit {key}"
    yield from _bounds(schema, value, place)
    if isinstance(value, dict):
        yield from _members(root, schema, value, place, depth)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from _problems(root, schema["items"], item, f"{place}[{number}]", depth - 1)


def _members(root: Mapping[str, Any], schema: Any, value: dict[str, Any], place: str, depth: int) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place}.{name} is missing"
    for name, item in value.items():
        rule = known.get(name, schema.get("additionalProperties", True))
        yield from _problems(root, rule, item, f"{place}.{name}", depth - 1)


def _bounds(schema: dict[str, Any], value: Any, place: str) -> Iterator[str]:
    size = len(value) if isinstance(value, str | list) else value
    names = ("minLength", "maxLength") if isinstance(value, str) else ("minimum", "maximum")
    names = ("minItems", "maxItems") if isinstance(value, list) else names
    if isinstance(size, int | float) and not isinstance(size, bool):
        if names[0] in schema and size < schema[names[0]]:
            yield f"{place} is below {names[0]} {schema[names[0]]}"
        if names[1] in schema and size > schema[names[1]]:
            yield f"{place} is above {names[1]} {schema[names[1]]}"


def _fits(root: Mapping[str, Any], schema: Any, value: Any, place: str, depth: int) -> bool:
    return next(_problems(root, schema, value, place, depth - 1), None) is None


def _referred(root: Mapping[str, Any], reference: str) -> Any:
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        found = found.get(part, {}) if isinstance(found, dict) else {}
    return found


def _anything(value: Any) -> bool:
    return True
