"""Does an answer have the shape a JSON Schema asks for? The part of JSON Schema that people write for answers. Pure.

A schema that says something we could not check is refused before anything is asked: an answer that was accepted fits.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from signoff.domain.errors import UsageError
from signoff.domain.unreadable import UNREADABLE


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == math.floor(value),
}
DEEPEST = 50

_ONE = ("not", "items", "additionalProperties", "propertyNames", "contains")  # a schema
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions")
_CHECKED = frozenset(
    (*_ONE, *_LISTS, *_NAMED, "$ref", "type", "enum", "const", "required", "pattern", "uniqueItems", "multipleOf")
)
_BOUNDS: Mapping[str, tuple[type | tuple[type, ...], Callable[[Any, Any], bool]]] = {
    "minLength": (str, lambda value, bound: len(value) >= bound),
    "maxLength": (str, lambda value, bound: len(value) <= bound),
    "minItems": (list, lambda value, bound: len(value) >= bound),
    "maxItems": (list, lambda value, bound: len(value) <= bound),
    "minProperties": (dict, lambda value, bound: len(value) >= bound),
    "maxProperties": (dict, lambda value, bound: len(value) <= bound),
    "minimum": ((int, float), lambda value, bound: value >= bound),
    "maximum": ((int, float), lambda value, bound: value <= bound),
    "exclusiveMinimum": ((int, float), lambda value, bound: value > bound),
    "exclusiveMaximum": ((int, float), lambda value, bound: value < bound),
}
_WORDS_ONLY = frozenset(  # they say something about a value and demand nothing
    ("$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly",
     "writeOnly", "format", "contentEncoding", "contentMediaType")
)  # fmt: skip


def read_schema(text: bytes, source: str) -> dict[str, Any]:
    try:
        schema = msgspec.json.decode(text, type=dict[str, Any])
    except UNREADABLE as error:
        raise UsageError(f"{source} is no JSON Schema: {error}") from error
    wrong = next(_unreadable(schema, schema, "#"), None)
    if wrong is not None:
        raise UsageError(f"{source} cannot be checked: {wrong}", hint="docs/run.md lists what a schema may use.")
    return schema


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


def _unreadable(root: Mapping[str, Any], schema: Any, place: str) -> Iterator[str]:
    """What in a schema is unknown here, or not as it has to be."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{place} is no schema"
        return
    for key, value in schema.items():
        if key not in _CHECKED and key not in _BOUNDS and key not in _WORDS_ONLY:
            yield f"{place} uses {key}"
        elif key in _BOUNDS and not _is_number(value):
            yield f"{place}/{key} is no number"
        elif key in _ONE:
            yield from _unreadable(root, value, f"{place}/{key}")
        elif key in _LISTS or key in _NAMED:
            yield from _unreadable_within(root, value, f"{place}/{key}", named=key in _NAMED)
    yield from _unreadable_words(root, schema, place)


def _unreadable_within(root: Mapping[str, Any], value: Any, place: str, *, named: bool) -> Iterator[str]:
    if not isinstance(value, dict if named else list):
        yield f"{place} is no {'object' if named else 'list'}"
        return
    for name, each in value.items() if isinstance(value, dict) else enumerate(value):
        if place.endswith("/patternProperties"):
            yield from _bad_pattern(name, f"{place}/{name}")
        yield from _unreadable(root, each, f"{place}/{name}")


def _unreadable_words(root: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    kinds = schema.get("type", [])
    if any(kind not in _TYPES for kind in (kinds if isinstance(kinds, list) else [kinds])):
        yield f"{place}/type is {kinds!r}"
    if "$ref" in schema and _referred(root, schema["$ref"]) is None:
        yield f"{place}/$ref leads to {schema['$ref']!r}, which is not in it"
    if "pattern" in schema:
        yield from _bad_pattern(schema["pattern"], f"{place}/pattern")
    for key, kind in (("enum", list), ("required", list), ("uniqueItems", bool)):
        if not isinstance(schema.get(key, kind()), kind):
            yield f"{place}/{key} is {schema[key]!r}"
    if not _is_number(schema.get("multipleOf", 1)) or schema.get("multipleOf", 1) <= 0:
        yield f"{place}/multipleOf is {schema['multipleOf']!r}"


def _bad_pattern(pattern: Any, place: str) -> Iterator[str]:
    try:
        re.compile(pattern)
    except (re.error, TypeError) as error:
        yield f"{place} is no pattern: {error}"


def _problems(root: Mapping[str, Any], schema: Any, value: Any, place: str, depth: int) -> Iterator[str]:
    if schema is False:
        yield f"{place} must not be there"
    if not isinstance(schema, dict):
        return
    if depth == 0:
        yield f"{place} lies too deep"
        return
    if "$ref" in schema:
        yield from _problems(root, _referred(root, schema["$ref"]), value, place, depth - 1)
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if kinds and not any(_TYPES[kind](value) for kind in kinds):
        yield f"{place} is not of type {' or '.join(kinds)}"
        return
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        yield f"{place} is none of {schema['enum']}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{place} is not {schema['const']!r}"
    yield from _bounds(schema, value, place)
    yield from _combined(root, schema, value, place, depth)
    if isinstance(value, dict):
        yield from _members(root, schema, value, place, depth)
    if isinstance(value, list):
        yield from _items(root, schema, value, place, depth)


def _combined(root: Mapping[str, Any], schema: Any, value: Any, place: str, depth: int) -> Iterator[str]:
    for key, fits in (("anyOf", any), ("oneOf", _exactly_one), ("allOf", all)):
        if key in schema and not fits([_fits(root, each, value, place, depth) for each in schema[key]]):
            yield f"{place} does not fit {key}"
    if "not" in schema and _fits(root, schema["not"], value, place, depth):
        yield f"{place} fits what it must not be"


def _members(root: Mapping[str, Any], schema: Any, value: dict[str, Any], place: str, depth: int) -> Iterator[str]:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place}.{name} is missing"
    for name, item in value.items():
        rules = [known[name]] if name in known else []
        rules += [rule for pattern, rule in patterns.items() if re.search(pattern, name)]
        for rule in rules or [schema.get("additionalProperties", True)]:
            yield from _problems(root, rule, item, f"{place}.{name}", depth - 1)
        yield from _problems(root, schema.get("propertyNames", True), name, f"the name {place}.{name}", depth - 1)


def _items(root: Mapping[str, Any], schema: Any, value: list[Any], place: str, depth: int) -> Iterator[str]:
    first = schema.get("prefixItems", [])
    for number, item in enumerate(value):
        rule = first[number] if number < len(first) else schema.get("items", True)
        yield from _problems(root, rule, item, f"{place}[{number}]", depth - 1)
    if "contains" in schema and not any(_fits(root, schema["contains"], each, place, depth) for each in value):
        yield f"{place} has no item as it must contain"
    if schema.get("uniqueItems") and any(
        _same(one, other) for number, one in enumerate(value) for other in value[:number]
    ):
        yield f"{place} has the same item twice"


def _bounds(schema: dict[str, Any], value: Any, place: str) -> Iterator[str]:
    for key, (kind, holds) in _BOUNDS.items():
        if key in schema and isinstance(value, kind) and not isinstance(value, bool) and not holds(value, schema[key]):
            yield f"{place} breaks {key} {schema[key]}"
    if "multipleOf" in schema and _is_number(value) and not (value / schema["multipleOf"]).is_integer():
        yield f"{place} is no multiple of {schema['multipleOf']}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{place} does not match {schema['pattern']}"


def _fits(root: Mapping[str, Any], schema: Any, value: Any, place: str, depth: int) -> bool:
    return next(_problems(root, schema, value, place, depth - 1), None) is None


def _exactly_one(fits: list[bool]) -> bool:
    return fits.count(True) == 1


def _same(one: Any, other: Any) -> bool:
    """As JSON has it: 1 is 1.0 and never true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return bool(one == other)


def _referred(root: Mapping[str, Any], reference: Any) -> Any:
    """The schema a reference within the document leads to; None where it leads nowhere."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    found: Any = root
    for part in reference.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, dict) else None
    return found
