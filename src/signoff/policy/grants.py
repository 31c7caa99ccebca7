"""Grants for a while: the content of a `grants.toml`, read and written whole. The program owns the file."""

import datetime
from typing import TYPE_CHECKING

import msgspec

from signoff.domain.errors import RulesInvalid
from signoff.domain.late import late
from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.execpolicy.rule import PrefixRule, Words

if TYPE_CHECKING:
    import json
    import tomllib
else:
    tomllib = late("tomllib")
    json = late("json")

_HEADER = "# Written by signoff: commands that may run without a question until a moment in time.\n"


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    prefix: tuple[str, ...]
    expires: datetime.datetime

    @property
    def expires_ms(self) -> int:
        return round(self.expires.timestamp() * 1000)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    grant: tuple[Grant, ...] = ()


def read_grants(text: str, file: str) -> tuple[Grant, ...]:
    try:
        grants = msgspec.convert(tomllib.loads(text), _File).grant
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise RulesInvalid(f"{file}: {error}", hint="Remove the file; what it granted will be asked again.") from error
    if any(not grant.prefix or grant.expires.tzinfo is None for grant in grants):
        said = "a grant needs a prefix, and an end with an offset"
        raise RulesInvalid(f"{file}: {said}", hint="Remove the file; what it granted will be asked again.")
    return grants


def rules_of(grants: tuple[Grant, ...], file: str) -> tuple[PrefixRule, ...]:
    source = Source(Layer.GRANT, file)
    return tuple(
        PrefixRule(tuple((word,) for word in one.prefix), Decision.ALLOW, source, expires_ms=one.expires_ms)
        for one in grants
    )


def with_grant(grants: tuple[Grant, ...], prefix: Words, expires_ms: int, *, now_ms: int) -> tuple[Grant, ...]:
    """Those still running and this one; of two for the same prefix the longer counts."""
    latest = {one.prefix: one.expires_ms for one in grants if one.expires_ms > now_ms}
    latest[prefix] = max(expires_ms, latest.get(prefix, 0))
    return tuple(
        Grant(words, datetime.datetime.fromtimestamp(end / 1000, datetime.UTC)) for words, end in latest.items()
    )


def written(grants: tuple[Grant, ...]) -> str:
    return _HEADER + "".join(
        f"\n[[grant]]\nprefix = [{', '.join(map(_quoted, one.prefix))}]\nexpires = {one.expires.isoformat()}\n"
        for one in grants
    )


def _quoted(word: str) -> str:
    """A TOML basic string; it is a JSON one but for DEL."""
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")
