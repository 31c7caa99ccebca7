"""Parameters and results of the Agent Client Protocol: bytes to types and back.

Reading is strict first, at the speed of C. Only where that refuses, the value is read once more by hand with what the
protocol's schema forgives (`acp_schema.LENIENT`), so leniency costs nobody who sends what is right.
"""

import functools
from collections.abc import Callable
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from signoff.domain.errors import ParseError, SchemaMismatch, UnknownType
from signoff.domain.unreadable import UNREADABLE
from signoff.wire import acp_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

Side = Literal["agent", "client", "protocol"]  # who receives the method

TABLES: "Mapping[Side, Mapping[str, tuple[str, str | None]]]" = {
    "agent": acp_schema.AGENT_METHODS,
    "client": acp_schema.CLIENT_METHODS,
    "protocol": acp_schema.PROTOCOL_METHODS,
}

_encoder = msgspec.json.Encoder()
encode: Callable[[object], bytes] = _encoder.encode


def read_params(side: Side, method: str, data: bytes | msgspec.Raw) -> Any:
    """The parameters of a method that `side` receives. Raises ParseError with the place and the reason."""
    return read(TABLES[side][method][0], data)


def read_result(side: Side, method: str, data: bytes | msgspec.Raw) -> Any:
    """The result of a request that `side` has answered."""
    name = TABLES[side][method][1]
    if name is None:
        raise SchemaMismatch(f"{method} is a notification and has no result")
    return read(name, data)


def read(name: str, data: bytes | msgspec.Raw) -> Any:
    try:
        return _decoder(name).decode(data)
    except msgspec.ValidationError as refusal:
        return _read_again(name, data, refusal)
    except UNREADABLE as error:
        raise SchemaMismatch(str(error)) from error


@functools.cache
def _decoder(name: str) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(getattr(acp_schema, name))


def _read_again(name: str, data: bytes | msgspec.Raw, refusal: msgspec.ValidationError) -> Any:
    try:
        return build(getattr(acp_schema, name), msgspec.json.decode(data))
    except (msgspec.ValidationError, RecursionError):
        raise SchemaMismatch(str(refusal)) from refusal


@functools.cache
def _open_unions() -> frozenset[frozenset[Any]]:
    return frozenset(frozenset(get_args(getattr(acp_schema, name))) for name in acp_schema.OPEN_UNIONS)


@functools.cache
def _hints(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(kind, vars(acp_schema), include_extras=True)


def build(kind: Any, value: Any) -> Any:
    """A value of `kind` made of what JSON gave, forgiving what the schema forgives."""
    origin = get_origin(kind)
    if origin is Union or origin is UnionType:
        return _build_union(kind, value)
    if origin is list and isinstance(value, list):
        return [build(get_args(kind)[0], item) for item in value]
    if origin is dict and isinstance(value, dict):
        return {key: build(get_args(kind)[1], item) for key, item in value.items()}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _build_struct(kind, value)
    return msgspec.convert(value, kind)


def _build_union(kind: Any, value: Any) -> Any:
    options = get_args(kind)
    if value is None and NoneType in options:
        return None
    structs = [option for option in options if isinstance(option, type) and issubclass(option, msgspec.Struct)]
    tags = {option.__struct_config__.tag: option for option in structs}
    if None in tags:
        return _build_struct(structs[0], value)
    if structs:
        return _build_tagged(tags, value)
    containers = [option for option in options if get_origin(option) in (list, dict)]
    if len(containers) == 1 and isinstance(value, list | dict):
        return build(containers[0], value)
    return msgspec.convert(value, kind)


def _build_tagged(tags: dict[Any, Any], value: Any) -> Any:
    field = next(iter(tags.values())).__struct_config__.tag_field
    tag = value.get(field) if isinstance(value, dict) else None
    if not isinstance(tag, str):
        raise msgspec.ValidationError(f"needs the member {field}")
    if tag in tags:
        return _build_struct(tags[tag], value)
    if frozenset(tags.values()) in _open_unions():
        return acp_schema.Unknown(value)
    if field == "sessionUpdate":
        raise UnknownType(f"this version of the protocol has no session update {tag!r}")
    raise msgspec.ValidationError(f"{field}: {tag!r} is not one of {', '.join(map(repr, tags))}")


def _build_struct(kind: type[msgspec.Struct], value: Any) -> Any:
    if not isinstance(value, dict):
        raise msgspec.ValidationError(f"{kind.__name__} is an object")
    hints = _hints(kind)
    rules = acp_schema.LENIENT.get(kind.__name__, {})
    required = {field.name for field in msgspec.structs.fields(kind) if field.required}
    members: dict[str, Any] = {}
    for name in kind.__struct_fields__:
        if name not in value:
            continue
        rule = "e" if name == "_meta" else rules.get(name, "")
        member = _build_member(hints[name], value[name], rule)
        if member is not msgspec.UNSET:
            members[name] = member
        elif name in required:
            members[name] = []  # only lists are both needed and forgiven
    if missing := required - members.keys():
        raise msgspec.ValidationError(f"{kind.__name__} needs {', '.join(sorted(missing))}")
    try:
        return kind(**members)
    except ValueError as error:
        raise msgspec.ValidationError(f"{kind.__name__} {error}") from error


def _build_member(kind: Any, value: Any, rule: str) -> Any:
    """The member's value, or UNSET where the rule forgives it."""
    if value is None and "n" in rule:
        return msgspec.UNSET
    try:
        if "s" in rule and isinstance(value, list):
            return _valid_items(kind, value)
        return build(kind, value)
    except (msgspec.ValidationError, ParseError):
        if "e" in rule:
            return msgspec.UNSET
        raise


def _valid_items(kind: Any, items: list[Any]) -> list[Any]:
    lists = [option for option in (kind, *get_args(kind)) if get_origin(option) is list]
    kept = []
    for item in items:
        try:
            kept.append(build(get_args(lists[0])[0], item))
        except (msgspec.ValidationError, ParseError):
            continue
    return kept
