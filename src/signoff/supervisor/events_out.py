"""A copy of what the child said, redacted, as JSON lines in a file of the user's choice. Never in the way: if it cannot be written,
that is said once and the run goes on."""

import errno
import os
import threading
from collections.abc import Callable
from typing import Any, TextIO

import msgspec

from signoff.domain.errors import UsageError
from signoff.supervisor.session import Heard, Lost, ParsedEvent, ParseFailed


class EventsOut:
    def __init__(self, path: str, run_id: str, redact: Callable[[Any], Any], warn: Callable[[str], None]) -> None:
        self._path = path
        self._run_id = run_id
        self._redact = redact
        self._warn = warn
        self._lock = threading.Lock()
        try:
            self._file: TextIO | None = open(path, "a", encoding="utf-8", opener=_opener)  # noqa: SIM115  closed by __exit__
        except OSError as error:
            why = "nobody reads from that pipe" if error.errno == errno.ENXIO else error.strerror
            raise UsageError(f"cannot write events to {path}: {why}") from error

    def __enter__(self) -> "EventsOut":
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._attempt(lambda file: file.close())
            self._file = None

    def keep(self, event: ParsedEvent) -> None:
        match event:
            case Heard(stream, events):
                lines = [
                    self._line(each.__struct_config__.tag, stream, msgspec.structs.asdict(each)) for each in events
                ]
            case ParseFailed(stream, failures):
                lines = [self._line("parse.error", stream, msgspec.structs.asdict(each)) for each in failures]
            case Lost(reason):
                lines = [self._line("control.lost", "", {"reason": reason})]
        with self._lock:
            self._attempt(lambda file: file.writelines(lines))

    def _line(self, kind: object, stream: str, fields: dict[str, object]) -> str:
        given = {name: value for name, value in fields.items() if value is not None and name != "nonce"}
        whole = {"v": 1, "type": kind, "stream": stream, **given, "run_id": given.get("run_id", self._run_id)}
        return msgspec.json.encode(self._redact(whole)).decode() + "\n"

    def _attempt(self, operation: Callable[[TextIO], object]) -> None:
        if self._file is None:
            return
        try:
            operation(self._file)
        except OSError as error:
            self._warn(f"events are no longer written to {self._path}: {error.strerror}")
            self._file = None


def _opener(path: str, flags: int) -> int:
    """A pipe is not waited for: the run would not begin."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    os.set_blocking(descriptor, True)
    return descriptor
