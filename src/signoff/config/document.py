"""Read one TOML file, or say in one sentence, with the line, why it cannot be read."""

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from signoff.domain.errors import ConfigError, ConfigUnreadable
from signoff.domain.late import late

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
    """The file as a document; None where there is no such file."""
    content = read_bytes(path)
    return None if content is None else parse(path, content)


def read_bytes(path: Path) -> bytes | None:
    """The content of a regular file of sensible size. Never blocks, whatever stands at the path."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigUnreadable(f"cannot read {path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigUnreadable(f"cannot read {path}: it is not a regular file")
    with open(descriptor, "rb") as file:
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise ConfigUnreadable(f"cannot read {path}: it is larger than {LARGEST_BYTES // 1024} KiB")
    return content


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
