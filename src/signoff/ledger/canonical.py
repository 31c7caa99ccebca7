"""JSON with one spelling (RFC 8785), so that equal values have equal hashes, whoever computes them.

The encoder already sorts keys and writes no blanks; what it spells differently (floats, whole numbers past 2^53, keys
outside the basic plane, lone surrogates) is put right by `spell` first, and only values that need it are rebuilt.
"""

import math
from typing import Any

import msgspec

LARGEST_EXACT = 2**53  # beyond it a number would read back as another one
DEEPEST = 100

_encoder = msgspec.json.Encoder(order="sorted")


def canonical(value: Any) -> bytes:
    return _encoder.encode(spell(value))


def encode(record: msgspec.Struct) -> bytes:
    """The canonical spelling of a record whose free-form fields went through `spell`."""
    return _encoder.encode(record)


def spell(value: Any, depth: int = 0) -> Any:
    """The same value with every part replaced that the encoder would not spell as RFC 8785 does.

    What JSON cannot hold becomes a string that says so: a record is never lost over a strange argument.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, int):
        return int(value) if -LARGEST_EXACT <= value <= LARGEST_EXACT else f"{value:#x}"
    if isinstance(value, float):
        return msgspec.Raw(spell_float(value).encode())
    if isinstance(value, msgspec.Raw):
        return value
    if isinstance(value, msgspec.Struct):
        return _spell_object(msgspec.structs.asdict(value), depth)
    if depth >= DEEPEST:
        return "[nested too deeply]"
    if isinstance(value, list | tuple):
        return [spell(part, depth + 1) for part in value]
    if isinstance(value, dict):
        return _spell_object(value, depth)
    return f"[not JSON: {type(value).__name__}]"


def _spell_object(value: dict[Any, Any], depth: int) -> Any:
    spelled = {well_formed(str(key)): spell(part, depth + 1) for key, part in value.items()}
    if all(key.isascii() or max(key) <= "\uffff" for key in spelled):
        return spelled
    # RFC 8785 sorts by UTF-16 unit, the encoder by code point: they differ only for keys outside the basic plane
    ordered = sorted(spelled, key=lambda key: key.encode("utf-16-be"))
    members = [_encoder.encode(key) + b":" + _encoder.encode(spelled[key]) for key in ordered]
    return msgspec.Raw(b"{" + b",".join(members) + b"}")


def well_formed(text: str) -> str:
    """Text that has an UTF-8 form: a lone surrogate becomes the replacement character."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def spell_float(number: float) -> str:
    """As ECMAScript prints it: the shortest digits that read back, no `.0`, exponents from 1e21 and below 1e-6."""
    if not math.isfinite(number):
        return f'"{number}"'
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}e0".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent.partition("e")[0]) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"
