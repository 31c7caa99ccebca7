"""Change one setting in a file and leave everything else as it is, comments included. What would not load is not written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError

from signoff.config import document
from signoff.config.document import Document
from signoff.config.layers import Layer, settings_in
from signoff.domain.errors import ConfigError, FileRefused
from signoff.files import atomic, lock


def set_value(path: Path, key: str, value: object, layer: Layer) -> None:
    def change(tree: tomlkit.TOMLDocument) -> None:
        *groups, leaf = key.split(".")
        table: Any = tree
        for group in groups:
            if group not in table:
                table[group] = tomlkit.table()
            table = table[group]
        table[leaf] = msgspec.to_builtins(value)

    def check(written: Document) -> None:
        if {setting.key: setting.value for setting in settings_in(written, layer)}.get(key) != value:
            raise ConfigError(
                f"{path} is written in a way that {key} cannot be set in it", hint="Edit the file by hand."
            )

    _edit(path, change, check)


def unset_value(path: Path, key: str) -> bool:
    """Take the setting out; says whether it was there. Works on an unknown key too: that is the way to repair a file."""
    removed = False

    def change(tree: tomlkit.TOMLDocument) -> None:
        nonlocal removed
        *groups, leaf = key.split(".")
        table: Any = tree
        for group in groups:
            table = table.get(group) if isinstance(table, dict) else None
        if isinstance(table, dict) and leaf in table:
            del table[leaf]
            removed = True

    _edit(path, change, lambda written: None)
    return removed


def _edit(path: Path, change: Callable[[tomlkit.TOMLDocument], None], check: Callable[[Document], None]) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock.locked(str(path.parent / f".{path.name}.lock")):
            before = document.read(path)
            text = before.text if before else ""
            after = _changed(path, text, change)
            check(document.parse(path, after.encode()))
            if after != text:
                atomic.write(str(path), after.encode(), mode=0o600)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error
    except FileRefused as error:
        raise ConfigError(error.message, hint=error.hint) from error


def _changed(path: Path, text: str, change: Callable[[tomlkit.TOMLDocument], None]) -> str:
    try:
        tree = tomlkit.parse(text)
        change(tree)
        return tomlkit.dumps(tree)
    except (TOMLKitError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be changed: {error}", hint="Edit the file by hand.") from error
