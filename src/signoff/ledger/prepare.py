"""Make a record fit to be kept: secrets out, sizes bounded, canonical bytes. Never fails, never drops a record.

A field that cannot be redacted is replaced by a note; the keyed digest of the arguments is taken from the original, so
that two calls with the same secret can be compared without knowing it. The digest is keyed because a bare hash of a
short secret can be guessed.
"""

import builtins
import hashlib
import hmac
import marshal
from typing import Any, Protocol, assert_never

import msgspec

from signoff.domain.call import Failure
from signoff.ledger.canonical import canonical, encode, spell, well_formed
from signoff.ledger.records import Close, Decision, Effects, Event, Genesis, Record, Request, Result, Review

LARGEST_RECORD = 1024 * 1024  # bytes; a bigger one keeps the beginning of each string
LONGEST_STRING = 2_000  # characters kept of a string in a record that is too big
LONGEST_LIST = 200
LARGEST_KNOWN = 16 * 1024  # bytes of arguments worth remembering
MOST_KNOWN = 128
WITHHELD = "[withheld: redaction failed]"
TOO_BIG = "[left out: too big]"


class Redacts(Protocol):
    """What the ledger needs of a redactor."""

    def text(self, text: str) -> str: ...
    def value(self, value: Any) -> Any: ...


class Preparation:
    def __init__(self, redactor: Redacts, key: bytes) -> None:
        self._redactor = redactor
        self._arguments_known: dict[builtins.bytes, dict[str, Any]] = {}  # a result repeats what its request said
        self._hmac = hmac.new(key, digestmod=hashlib.sha256)
        self.key_id = hashlib.sha256(b"signoff ledger key\0" + key).hexdigest()[:16]

    def digest(self, value: Any) -> str:
        """The keyed digest of a value's canonical JSON."""
        mac = self._hmac.copy()
        mac.update(canonical(value))
        return mac.hexdigest()

    def bytes(self, record: Record) -> builtins.bytes:
        clean = self.clean(record)
        try:
            encoded = encode(clean)
        except (ValueError, TypeError):  # a lone surrogate in an id, say
            encoded = canonical({**msgspec.structs.asdict(clean), "type": clean.__struct_config__.tag})
        return encoded if len(encoded) <= LARGEST_RECORD else _shortened(encoded)

    def clean(self, record: Record) -> Record:
        """The record as it is written: free text and arguments redacted, digests filled in. Ids stay: they tie records."""
        text, replace = self._text, msgspec.structs.replace
        match record:
            case Decision(name=name, reason=reason):
                matches = tuple([self._match(match) for match in record.matches])
                if text(name) is name and text(reason) is reason and matches == record.matches:
                    return record  # as nearly always, and somebody waits for this one
                return replace(record, name=text(name), reason=text(reason), matches=matches)
            case Request():
                arguments = self._arguments(record.args)
                return replace(record, name=text(record.name), rationale=text(record.rationale), **arguments)
            case Review():
                said = {"question": text(record.question), "rejection": text(record.rejection)}
                return replace(record, **said, amendment=self._words(record.amendment))
            case Result(artifacts=effects):
                if effects.files_changed or effects.commands_run:
                    files, commands = self._texts(effects.files_changed), self._texts(effects.commands_run)
                    effects = Effects(files, commands, effects.exit_status)
                name, error, arguments = text(record.name), self._failure(record.error), self._arguments(record.args)
                return replace(record, name=name, error=error, artifacts=effects, **arguments)
            case Event():
                return replace(record, data=self._value(record.data))
            case Genesis():
                command = self._words(record.command)
                environment = {name: text(said) for name, said in record.environment.items()}  # the names are ours
                return replace(record, command=command, environment=environment, key_id=self.key_id)
            case Close():
                return replace(record, reason=text(record.reason))
            case _:
                assert_never(record)

    def _arguments(self, args: Any) -> dict[str, Any]:
        try:
            same = marshal.dumps(args, 2)  # never the same for two values that differ, in a type or in an order either
        except ValueError:  # something JSON does not have
            return self._kept(args)
        known = self._arguments_known.get(same)
        if known is None:
            known = self._kept(args)
            if len(same) <= LARGEST_KNOWN:
                if len(self._arguments_known) >= MOST_KNOWN:
                    self._arguments_known.clear()
                self._arguments_known[same] = known
        return known

    def _kept(self, args: Any) -> dict[str, Any]:
        return {"args": self._value(args), "args_hmac": self.digest(args)}

    def _match(self, match: dict[str, Any]) -> dict[str, Any]:
        """Of a rule that spoke only the reason is free text; its id and place must stay as they are."""
        reason = match.get("reason")
        if not reason or (said := self._text(str(reason))) is reason:
            return match
        return {**match, "reason": said}

    def _failure(self, error: Failure | None) -> Failure | None:
        if error is None:
            return None
        details = None if error.details is None else self._value(error.details)
        return Failure(code=self._text(error.code), message=self._text(error.message), details=details)

    def _texts(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._text(text) for text in texts)

    def _words(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """A command: an option and its value are two words, and only together a secret."""
        if not words:
            return words
        try:
            return tuple(map(well_formed, self._redactor.value(list(words))))
        except Exception:  # as below
            return (WITHHELD,)

    def _text(self, text: str) -> str:
        if not text:
            return text
        try:
            said = self._redactor.text(text)
            return said if said.isascii() else well_formed(said)
        except Exception:  # whatever went wrong: the original must not be written, and the record must
            return WITHHELD

    def _value(self, value: Any) -> Any:
        if not value:
            return spell(value)
        try:
            return spell(self._redactor.value(value))
        except Exception:  # as above
            return {"withheld": WITHHELD}


def _shortened(encoded: bytes) -> bytes:
    """A record over the limit, with every long string and list cut; if that is not enough, without what is nested."""
    record = {**_cut(msgspec.json.decode(encoded)), "bytes_before_cutting": len(encoded)}
    shorter = canonical(record)
    if len(shorter) <= LARGEST_RECORD:
        return shorter
    flat = {key: part for key, part in record.items() if not isinstance(part, list | dict)}
    return canonical({**flat, "args": TOO_BIG} if "args" in record else flat)


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_STRING:
        return f"{value[:LONGEST_STRING]} … [{len(value) - LONGEST_STRING} more characters]"
    if isinstance(value, list):
        return [_cut(part) for part in value[:LONGEST_LIST]]
    if isinstance(value, dict):
        return {_cut(key): _cut(part) for key, part in list(value.items())[:LONGEST_LIST]}
    return value
