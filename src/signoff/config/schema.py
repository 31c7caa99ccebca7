"""The keys of the configuration, made from the settings themselves: which exist, what they take, how they are written."""

import enum
import types
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args, get_origin

import msgspec

from signoff.domain.late import late
from signoff.domain.settings import SECRETS, Settings

if TYPE_CHECKING:
    import difflib
    import tomllib
else:
    tomllib = late("tomllib")
    difflib = late("difflib")

_SWITCH = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


class Key(msgspec.Struct, frozen=True):
    name: str
    type: Any
    default: Any

    @property
    def variable(self) -> str:
        """The environment variable of the same meaning."""
        return "SIGNOFF_" + self.name.upper().replace(".", "_")


class Invalid(ValueError):
    """A value that does not fit its key; the message is the part of the sentence after the key's name."""


def _walk(struct: type[msgspec.Struct], prefix: str = "") -> Iterator[Key]:
    for field in msgspec.structs.fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _walk(field.type, f"{prefix}{field.name}.")
        else:
            yield Key(prefix + field.name, field.type, field.default)


KEYS: Mapping[str, Key] = {key.name: key for key in _walk(Settings)}
GROUPS = frozenset(name.partition(".")[0] for name in KEYS if "." in name)


def build(values: Mapping[str, Any]) -> Settings:
    """Settings from converted values; what is missing keeps its default."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        group, _, leaf = name.rpartition(".")
        (tree.setdefault(group, {}) if group else tree)[leaf] = msgspec.to_builtins(value)
    return msgspec.convert(tree, Settings)


def convert(key: Key, value: object) -> Any:
    """A value as TOML gave it, checked."""
    try:
        return msgspec.convert(value, key.type)
    except msgspec.ValidationError as error:
        raise Invalid(_complaint(key, value, str(error))) from error


def convert_text(key: Key, text: str) -> Any:
    """A value as a flag, a variable or a person at the command line spells it."""
    kinds = _kinds(key.type)
    if tuple in kinds:
        return convert(key, _list(text))
    if bool in kinds:
        return convert(key, _SWITCH.get(text.lower(), text))
    if str in kinds or any(issubclass(kind, enum.Enum) for kind in kinds):
        return convert(key, text)
    try:
        return msgspec.convert(text, key.type, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid(_complaint(key, text, str(error))) from error


def nearest(name: str, known: Mapping[str, object]) -> str | None:
    """The key that was probably meant: by the whole name, or by its last word alone."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return near[0]
    leaf = name.rpartition(".")[2]
    last_words = {key.rpartition(".")[2]: key for key in known}
    return next((last_words[word] for word in difflib.get_close_matches(leaf, last_words, n=1, cutoff=0.8)), None)


def json_schema() -> dict[str, Any]:
    """What an editor needs to complete and check config.toml."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Settings)}


def _kinds(annotation: Any) -> tuple[type, ...]:
    origin = get_origin(annotation)
    if origin is types.UnionType:
        return tuple(kind for argument in get_args(annotation) for kind in _kinds(argument))
    if origin is not None and origin is not tuple:  # Annotated
        return _kinds(get_args(annotation)[0])
    return (origin or annotation,)


def _list(text: str) -> list[object]:
    """`a,b`, or a TOML array for items that contain commas."""
    if not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    try:
        items: list[object] = tomllib.loads(f"items = {text}")["items"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise Invalid('takes a list: a,b or ["a", "b"]') from error
    return items


def _complaint(key: Key, value: object, error: str) -> str:
    choices = [str(member) for kind in _kinds(key.type) if issubclass(kind, enum.Enum) for member in kind]
    if choices:
        meant = difflib.get_close_matches(str(value), choices, n=1)
        suggestion = f"; did you mean {meant[0]}?" if meant else ""
        return f"takes one of {', '.join(choices)}, not {value!r}{suggestion}"
    reason = error.partition(" - at ")[0].replace("`", "")
    shown = "" if key.name in SECRETS else f" (it is {value!r})"
    return f"does not fit: {reason[:1].lower()}{reason[1:]}{shown}"
