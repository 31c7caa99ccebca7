"""JSON that means one thing only.

Two readers of one line must never see two different objects, so what readers are known to disagree on is refused:
duplicate keys, NaN and infinities, numbers nobody can hold, lone surrogates, bottomless nesting, bytes that are no UTF-8.
"""

import functools
from typing import TYPE_CHECKING, Any, NoReturn

from signoff.domain.errors import InvalidJson
from signoff.domain.late import late, late_pattern

if TYPE_CHECKING:
    import json
else:
    json = late("json")

MAX_DIGITS = 400
MAX_DEPTH = 64

_SURROGATE_ESCAPE = late_pattern(rb"\\u[dD][89a-fA-F]")


def loads(data: bytes) -> Any:
    """Decode one JSON value, or raise InvalidJson with the reason."""
    try:
        text = data.decode("utf-8")
        value = _decoder().decode(text)
    except UnicodeDecodeError as error:
        raise InvalidJson("the line is not UTF-8") from error
    except RecursionError as error:
        raise InvalidJson("nested too deeply") from error
    except json.JSONDecodeError as error:
        raise InvalidJson(f"{error.msg} at column {error.colno}") from error
    if _SURROGATE_ESCAPE.search(data):
        _refuse_lone_surrogates(value)
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH:
        _refuse_depth(value, MAX_DEPTH)
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        raise InvalidJson(f"key given twice: {next(key for key in keys if keys.count(key) > 1)!r}")
    return result


def _constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise InvalidJson("number too long")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits) if len(digits) <= MAX_DIGITS else float("inf")
    if value in (float("inf"), float("-inf")):
        raise InvalidJson("number too large")
    return value


@functools.cache
def _decoder() -> "json.JSONDecoder":
    return json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_integer, parse_float=_float)


def _refuse_lone_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidJson("lone surrogate in a string") from error


def _refuse_depth(value: Any, left: int) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        if left == 0:
            raise InvalidJson("nested too deeply")
        for item in value:
            _refuse_depth(item, left - 1)
