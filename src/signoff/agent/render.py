"""A tool's result as the model reads it: plain lines, long text as it is, the middle of too much text left out. Pure."""

from typing import Any

import msgspec

from signoff.domain.call import ToolResult
from signoff.providers.provider import Image

LONGEST = 30_000
_PICTURES = "images"


def for_model(result: ToolResult, longest: int = LONGEST) -> str:
    parts = []
    if result.error is not None:
        parts.append(f"error {result.error.code}: {result.error.message}")
    parts += _fields({key: value for key, value in (result.payload or {}).items() if key != _PICTURES})
    return cut("\n".join(parts) or "done", longest)


def pictures(result: ToolResult) -> tuple[Image, ...]:
    """Pictures that the tool found, for a model to look at."""
    found = (result.payload or {}).get(_PICTURES) or ()
    return tuple(Image(one["media_type"], one["data"]) for one in found)


def cut(text: str, longest: int) -> str:
    """Both ends of a text that is too long: what matters is mostly there."""
    if len(text) <= longest:
        return text
    head, tail = longest * 2 // 3, longest // 3
    return f"{text[:head]}\n… {len(text) - head - tail} characters left out …\n{text[-tail:]}"


def _fields(payload: dict[str, Any]) -> list[str]:
    short, long = [], []
    for key, value in payload.items():
        if value is None or value is False or value in ("", [], {}):
            continue
        if isinstance(value, str) and ("\n" in value or len(value) > 200):
            long.append(f"{key}:\n{value}")
        elif isinstance(value, str):
            short.append(f"{key}: {value}")
        else:
            short.append(f"{key}: {msgspec.json.encode(value).decode()}")
    return short + long
