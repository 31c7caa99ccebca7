"""signoff redact: the ledger's redaction as a filter."""

import os
from collections.abc import Iterator

import click
import msgspec

from signoff.domain.errors import UsageError
from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor

CHUNK = 256 * 1024


class Line(msgspec.Struct, frozen=True):
    """What --json prints for each line of input."""

    text: str
    kinds: list[str]


@click.command()
@click.option(
    "--level",
    type=click.Choice([Redact.BASIC.value, Redact.STRICT.value]),
    default=Redact.BASIC.value,
    show_default=True,
    help="strict also takes out e-mail and IP addresses, user names in paths, and everything that looks random.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one object, text and kinds found, for each line.")
def redact(level: str, as_json: bool) -> None:
    """Take secrets out of what comes in on standard input.

    It goes to standard output, otherwise unchanged. Each secret becomes REDACTED_ and its kind; lines, quotes and
    everything around it stay. Bytes that are not UTF-8 pass through. Strict is for what leaves the house: it also hides
    hashes and addresses one debugs with.

    \b
    Examples:
      env | signoff redact
      signoff redact --level strict < app.log > shareable.log
      signoff redact --json < .env
    """
    redactor = Redactor(Redact(level), reversible=False)
    for data in _lines(redactor) if as_json else _bytes(redactor):
        _write(data)


def _bytes(redactor: Redactor) -> Iterator[bytes]:
    stream = redactor.stream()
    for data in _read():
        yield stream.feed(data)
    yield stream.finish()


def _lines(redactor: Redactor) -> Iterator[bytes]:
    """One object for each line. A line is complete when its end has come in, and then nothing of it is held back."""
    stream = redactor.stream()
    held = b""
    for data in _read():
        *complete, held = (held + data).split(b"\n")
        yield b"".join(_object(redactor, stream.feed(line + b"\n")[:-1]) for line in complete)
    if held:
        yield _object(redactor, stream.feed(held) + stream.finish())


def _object(redactor: Redactor, line: bytes) -> bytes:
    found = Line(line.decode("utf-8", "replace"), sorted(redactor.kinds))
    redactor.kinds.clear()
    return msgspec.json.encode(found) + b"\n"


def _read() -> Iterator[bytes]:
    try:
        while data := os.read(0, CHUNK):
            yield data
    except OSError as error:
        raise UsageError(f"standard input cannot be read: {error.strerror}") from error


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
