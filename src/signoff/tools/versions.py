"""Versions of tools. The first number changes when calls that were right become wrong, the second when something is added,
the third when something is mended.

A call in an older first number is rewritten where that can be done without guessing; otherwise it is refused with what
changed since. Pure.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from signoff.domain.errors import InvalidArguments, ToolVersion


class Rewritten(msgspec.Struct, frozen=True):
    """Old names of arguments, each with its new one and, where the value changed as well, how."""

    says: str
    fields: Mapping[str, tuple[str, Callable[[Any], Any] | None]]


class Replaced(msgspec.Struct, frozen=True):
    """What the old call meant cannot be said in the new one."""

    says: str


def _milliseconds(seconds: Any) -> Any:
    return round(seconds * 1_000) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else seconds


# What tools of this kind took before there was one form for all of them; agents that learned it still send it.
PAST: Mapping[str, Mapping[int, Rewritten | Replaced]] = {
    "apply_patch": {
        0: Replaced("it took `path`, `old` and `new`; that is edit_file now, and apply_patch takes `patch_text`")
    },
    "display": {0: Rewritten("`message` is `content`", {"message": ("content", None)})},
    "grep": {
        0: Rewritten(
            "`include_glob` is `glob`, `ignore_case` is `-i`, `max_hits` is `head_limit`",
            {"include_glob": ("glob", None), "ignore_case": ("-i", None), "max_hits": ("head_limit", None)},
        )
    },
    "run_terminal_cmd": {
        0: Rewritten("`timeout_s` is `timeout_ms`, in milliseconds", {"timeout_s": ("timeout_ms", _milliseconds)})
    },
    "write_file": {0: Rewritten("`text` is `content`", {"text": ("content", None)})},
}


def numbers(version: str) -> tuple[int, int] | None:
    try:
        major, minor = (int(part) for part in version.split(".")[:2])
    except ValueError:
        return None
    return major, minor


def understands(ours: str, theirs: str) -> bool:
    """The same first number, and no newer second one than ours."""
    mine, other = numbers(ours), numbers(theirs)
    return mine is not None and other is not None and mine[0] == other[0] and other[1] <= mine[1]


def check(name: str, ours: str, theirs: str) -> None:
    """Refuse a call in a version that is neither understood nor rewritten, and say what changed."""
    if not theirs or understands(ours, theirs) or isinstance(_past(name, theirs), Rewritten):
        return
    said = f"{name} {theirs} was called, and this is {name} {ours}"
    mine, other = numbers(ours), numbers(theirs)
    past = _past(name, theirs)
    if past is not None:
        raise ToolVersion(f"{said}: {past.says}")
    if mine is not None and other is not None and other > mine:
        raise ToolVersion(f"{said}, which is older and does not know what was added since")
    raise ToolVersion(said, hint="The first number must be the same, the second not higher.")


def adapted(name: str, theirs: str, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments in today's names."""
    past = _past(name, theirs)
    if not isinstance(past, Rewritten):
        return args
    given = dict(args)
    for old, (new, convert) in past.fields.items():
        if old not in given:
            continue
        value = given.pop(old)
        if new in given:
            raise InvalidArguments(f"{name}: both `{old}` and `{new}` are given, and {past.says}")
        given[new] = value if convert is None else convert(value)
    return given


def _past(name: str, theirs: str) -> Rewritten | Replaced | None:
    other = numbers(theirs)
    return None if other is None else PAST.get(name, {}).get(other[0])
