"""Read one TOML file, or say in one sentence, with the line, why it cannot be read."""

import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.domain.errors import ConfigError, ConfigUnreadable
from signoff.domain.late import late
from signoff.files import regular

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = late("tomllib")

LARGEST_BYTES = 1024 * 1024


class Document(msgspec.Struct, frozen=True):
    path: Path
    text: str
    table: dict[str, Any]

    def line_of(self, *key: str) -> int | None:
        """Where the key is written. Found by parsing ever longer beginnings: exact, and paid for on errors only."""
        lines = self.text.splitlines(keepends=True)
        start = 1  # the line after the last beginning that could be parsed and did not have the key
        for count in range(1, len(lines) + 1):
            try:
                table = tomllib.loads("".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                continue
            if _has(table, key):
                return start
            start = count + 1
        return None


def read(path: Path) -> Document | None:
    """A file that decides what is allowed, as a document; None where there is no such file."""
    content = read_own(path)
    return None if content is None else parse(path, content)


def read_own(path: Path) -> bytes | None:
    """The same of a file that nobody else may write: whoever can, could allow themselves anything."""
    return read_bytes(path, regular.unshared)


def read_bytes(path: Path, opener: regular.Opener = regular.following) -> bytes | None:
    """The content of a regular file of sensible size. Never blocks, whatever stands at the path."""
    try:
        return regular.content(path, LARGEST_BYTES, opener)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        hint = f"Look through it, then make it yours alone: chmod go-w {path}" if error.errno == errno.EPERM else None
        raise ConfigUnreadable(f"cannot read {path}: {error.strerror}", hint=hint) from error


def parse(path: Path, content: bytes) -> Document:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigUnreadable(f"{path}:{line}: not UTF-8 text", hint="Save the file as UTF-8.") from error
    try:
        return Document(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_located(path, text, str(error)), hint="The file must be TOML: key = value.") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply") from error


def _located(path: Path, text: str, complaint: str) -> str:
    at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", complaint)
    if at is None:
        return f"{path}: {complaint}"
    line = at[1] or max(1, len(text.splitlines()))
    return f"{path}:{line}: {complaint[: at.start()]}"


def _has(table: Any, key: tuple[str, ...]) -> bool:
    for part in key:
        if not isinstance(table, dict) or part not in table:
            return False
        table = table[part]
    return True
