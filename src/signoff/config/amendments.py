"""Write down what a person approved for good, or for a while. Whoever dies at whatever moment leaves the old file or the
new one; however many write at once, every line is there once."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from signoff.config.document import read_bytes
from signoff.domain.errors import ConfigUnreadable
from signoff.domain.review import ToolRule
from signoff.files import atomic, lock
from signoff.policy.execpolicy.amend import prefix_line, with_line
from signoff.policy.execpolicy.rule import Words
from signoff.policy.grants import read_grants, with_grant, written
from signoff.policy.rules.approved import with_rule, without_rule
from signoff.policy.rules.written import read_policy

DEFAULT_RULES = "default.rules"


def remember(directory: Path, prefix: Words) -> Path:
    """Allow commands that begin with these words, by a line in the directory's `default.rules`."""
    path = directory / DEFAULT_RULES
    line = prefix_line(prefix)
    _change(path, lambda text: with_line(text, line))
    return path


def grant(path: Path, prefix: Words, expires_ms: int, *, now_ms: int) -> None:
    """Allow them until then."""
    prefix_line(prefix)  # refuses an empty one
    _change(path, lambda text: written(with_grant(read_grants(text, str(path)), prefix, expires_ms, now_ms=now_ms)))


def allow_tool(path: Path, rule: ToolRule, expires_ms: int | None) -> None:
    """Allow calls of a tool, by a rule at the end of a policy.toml. A file that would not load is left alone."""

    def add(text: str) -> str:
        after = with_rule(text, rule, expires_ms)
        read_policy(after, str(path))
        return after

    _change(path, add)


def forbid_tool(path: Path, rule: ToolRule, expires_ms: int | None) -> None:
    """Take back what `allow_tool` wrote."""
    _change(path, lambda text: without_rule(text, rule, expires_ms))


def forget(path: Path, prefix: Words) -> None:
    """Take back what `remember` wrote."""
    line = prefix_line(prefix)
    _change(path, lambda text: "".join(one for one in text.splitlines(keepends=True) if one.rstrip("\n") != line))


def revoke(path: Path, prefix: Words) -> None:
    """Take back what `grant` wrote."""
    _change(path, lambda text: written(tuple(one for one in read_grants(text, str(path)) if one.prefix != prefix)))


def _change(path: Path, change: Callable[[str], str]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock.locked(str(path.parent / f".{path.name}.lock")), _held(path):
        before = _text(path)
        after = change(before)
        if after != before:
            atomic.write(str(path), after.encode("utf-8"), mode=0o600)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Other programs that add lines to the same file lock the file itself: let one that is at it finish."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise ConfigUnreadable(f"cannot read {path}: {error.strerror}") from error
    try:
        lock.acquire(descriptor, what=str(path))
        yield
    finally:
        os.close(descriptor)


def _text(path: Path) -> str:
    try:
        return (read_bytes(path) or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigUnreadable(f"{path} is not UTF-8 text", hint="Save the file as UTF-8.") from error
