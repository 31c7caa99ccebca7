"""Recognise a tool call that was answered before: the same kind, title, places and input give the same fingerprint."""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from signoff.domain.late import late

if TYPE_CHECKING:
    import json
else:
    json = late("json")


def fingerprint(
    *, kind: str | None, title: str, locations: Sequence[dict[str, Any]] = (), raw_input: object = None
) -> str:
    """SHA-256 over a canonical form: key order and the order of locations do not matter, anything else does."""
    places = sorted(_canonical(place) for place in locations)
    content = _canonical({"kind": kind, "title": title, "locations": places, "rawInput": raw_input})
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
