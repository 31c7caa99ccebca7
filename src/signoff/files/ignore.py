"""Which files a project does not count as its own: `.gitignore` files, read the way git reads them."""

import functools
import os
import re
from collections.abc import Iterator

import msgspec

ALWAYS = frozenset({".git", ".hg", ".svn", ".jj"})
# Made by tools, many, and made again at will; left out also where no .gitignore says so.
MADE_BY_TOOLS = frozenset(
    {
        "node_modules",
        "__pycache__",
        ".venv",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
    }
)
_LARGEST_FILE = 1 << 20


class Pattern(msgspec.Struct, frozen=True):
    """One line of a .gitignore, for paths relative to the directory it lies in."""

    regex: re.Pattern[str]
    negated: bool
    directories_only: bool


class Ignoring(msgspec.Struct, frozen=True):
    """The patterns in force in a directory: those from above, then its own; the last that fits decides."""

    rules: tuple[
        tuple[str, tuple[Pattern, ...]], ...
    ] = ()  # directory with a slash at the end, or "", and its patterns

    def within(self, directory: str, text: str) -> "Ignoring":
        found = parse(text)
        prefix = f"{directory}/" if directory else ""
        return Ignoring((*self.rules, (prefix, found))) if found else self

    def ignores(self, path: str, *, is_directory: bool) -> bool:
        for prefix, patterns in reversed(self.rules):
            name = path.removeprefix(prefix)
            for pattern in reversed(patterns):
                if (is_directory or not pattern.directories_only) and pattern.regex.fullmatch(name):
                    return not pattern.negated
        return False


@functools.lru_cache(512)
def parse(text: str) -> tuple[Pattern, ...]:
    return tuple(pattern for line in text.splitlines() if (pattern := _pattern(line)) is not None)


def _pattern(line: str) -> Pattern | None:
    line = re.sub(r"(?<!\\) +$", "", line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line[1:] if negated else line
    directories_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    anchored = "/" in line
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?") + glob_regex(line.lstrip("/")), re.DOTALL)
    except re.error:
        return None
    return Pattern(regex, negated, directories_only)


def glob_regex(glob: str) -> str:
    """`*` and `?` stay within a name, `**` crosses directories, `[…]` is a set."""
    made, at = "", 0
    while at < len(glob):
        rest = glob[at:]
        if rest.startswith("**/") and (at == 0 or glob[at - 1] == "/"):
            made, at = made + "(?:.*/)?", at + 3
        elif rest == "**" and (at == 0 or glob[at - 1] == "/"):
            made, at = made + ".+", at + 2
        elif rest[0] == "*":
            made, at = made + "[^/]*", at + (len(rest) - len(rest.lstrip("*")))
        elif rest[0] == "?":
            made, at = made + "[^/]", at + 1
        elif rest[0] == "[" and (closed := re.match(r"\[[!^]?\]?[^\]]*\]", rest)) is not None:
            inner = closed[0][1:-1].replace("\\", "\\\\").replace("[", "\\[")
            made += f"(?!/)[^{inner[1:]}]" if inner[:1] in "!^" else f"[{inner}]"
            at += len(closed[0])
        elif rest[0] == "\\" and len(rest) > 1:
            made, at = made + re.escape(rest[1]), at + 2
        else:
            made, at = made + re.escape(rest[0]), at + 1
    return made


def walk(
    top: str, *, ignoring: bool = True, below: str = "", leave_out: frozenset[str] = ALWAYS
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every file, link and directory below `top`/`below`, sorted within its directory, with its path relative to `top`.

    What `leave_out` names is left out everywhere; with `ignoring`, what .gitignore files say as well. Links are not
    followed. A directory that cannot be read is empty.
    """
    rules = Ignoring()
    if ignoring:
        parts = below.split("/") if below else []
        for depth in range(len(parts)):
            above = "/".join(parts[:depth])
            rules = rules.within(above, _gitignore(os.path.join(top, above)))
    yield from _walk(top, below, rules, ignoring, leave_out)


def _walk(
    top: str, directory: str, rules: Ignoring, ignoring: bool, leave_out: frozenset[str]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    full = os.path.join(top, directory) if directory else top
    try:
        with os.scandir(full) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    if ignoring and any(entry.name == ".gitignore" for entry in entries):
        rules = rules.within(directory, _gitignore(full))
    for entry in entries:
        path = f"{directory}/{entry.name}" if directory else entry.name
        is_directory = entry.is_dir(follow_symlinks=False)
        if entry.name in leave_out or (rules.rules and rules.ignores(path, is_directory=is_directory)):
            continue
        yield path, entry
        if is_directory:
            yield from _walk(top, path, rules, ignoring, leave_out)


def _gitignore(directory: str) -> str:
    try:
        descriptor = os.open(os.path.join(directory, ".gitignore"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _LARGEST_FILE).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
