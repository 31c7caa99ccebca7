"""What a command looks like to a reader: reads a file, lists, searches, or something else. Nothing is decided by it."""

import posixpath
from collections.abc import Sequence

from signoff.domain.review import ListCommand, ParsedCommand, ReadCommand, SearchCommand, UnknownCommand
from signoff.policy.shell.examine import shown
from signoff.policy.shell.plain import read_plain
from signoff.policy.shell.words import Dynamic, Refused

_SHELLS = frozenset({"bash", "zsh", "sh"})
_FORMATTERS = frozenset(["wc", "tr", "cut", "sort", "uniq", "tee", "column", "yes", "printf"])
_FILTERS = frozenset(["awk", "head", "tail", "sed"])
_CHANGES = frozenset(
    ["rm", "mv", "cp", "sed", "perl", "touch", "chmod", "chown", "tee", "dd", "ln", "rmdir", "mkdir", "truncate"]
)
_LISTERS = frozenset(["ls", "eza", "exa", "tree", "du"])
_SEARCHERS = frozenset(["rg", "rga", "ripgrep-all", "grep", "egrep", "fgrep", "ag", "ack", "pt"])
_READERS = frozenset(["cat", "bat", "batcat", "less", "more", "nl"])
_VALUES = frozenset(
    ["-n", "-c", "-A", "-B", "-C", "-m", "-e", "-g", "-t", "-T", "-d", "-I", "-L", "-F", "-v", "-w", "-s", "-b", "-f", "--lines", "--bytes", "--glob", "--type", "--context", "--max-count", "--color", "--sort", "--width", "--theme", "--style", "--language", "--line-range", "--max-depth", "--ignore-glob", "--exclude", "--include", "--exclude-dir", "--time", "--level"]
)  # fmt: skip
_FIND_PATTERNS = frozenset(["-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-wholename", "-iwholename"])


def parse_command(argv: Sequence[str]) -> tuple[ParsedCommand, ...]:
    """One entry for each part worth showing; a single `unknown` as soon as one part is not understood."""
    text = shown(argv)
    parts = [list(argv)]
    if len(argv) == 3 and argv[0].rpartition("/")[2] in _SHELLS and argv[1] in ("-c", "-lc"):
        text = argv[2]
        try:
            parts = [[_text(word) for word in segment.words] for segment in read_plain(text, "~")]
        except Refused:
            parts = []
    if not parts:
        return (UnknownCommand(text),)
    several = len(parts) > 1
    found = _described(_worth_showing(parts), text, several=several)
    if not found or any(isinstance(command, UnknownCommand) for command in found):
        return (UnknownCommand(text),)
    return tuple(command for index, command in enumerate(found) if index == 0 or command != found[index - 1])


def _text(word: str) -> str:
    return word.raw if isinstance(word, Dynamic) else word


def _worth_showing(parts: list[list[str]]) -> list[tuple[str, list[str]]]:
    """The parts with the directory they run in, without those that only move, announce or format."""
    shown_parts: list[tuple[str, list[str]]] = []
    directory = ""
    for index, words in enumerate(parts):
        last = index == len(parts) - 1
        if words[0] == "cd" and not last:
            directory = posixpath.join(directory, words[1] if words[1:] else "~")
        elif not ((words[0] == "true" and len(parts) > 1) or (words[0] == "echo" and not shown_parts and not last)):
            shown_parts.append((directory, words))
    kept = [(place, words) for place, words in shown_parts if not _only_formats(words)]
    return kept or shown_parts


def _only_formats(words: list[str]) -> bool:
    name = words[0]
    if name in _FORMATTERS:
        return True
    if name == "xargs":
        return not any(word in _CHANGES for word in words[1:])
    if name == "nl":
        return not _operands(words)
    return name in _FILTERS and _file_of(words) is None and "-i" not in words


def _described(parts: list[tuple[str, list[str]]], text: str, *, several: bool) -> list[ParsedCommand]:
    whole = len(parts) == 1 and not several
    return [_describe(words, text if whole else shown(words), directory) for directory, words in parts]


def _describe(words: list[str], cmd: str, directory: str) -> ParsedCommand:
    name = words[0].rpartition("/")[2]
    operands = _operands(words)
    verb = words[1] if name == "git" and words[1:] else ""
    if name in _LISTERS:
        return ListCommand(cmd, operands[0] if operands else None)
    if name == "rg" and "--files" in words:
        return ListCommand(cmd, operands[0] if operands else None)
    if verb == "ls-files":
        return ListCommand(cmd, operands[1] if operands[1:] else None)
    if name in _SEARCHERS or verb == "grep":
        rest = [words[index + 1] for index, word in enumerate(words[:-1]) if word in ("-e", "--regexp")][:1]
        rest += operands[1:] if verb else operands
        return SearchCommand(cmd, rest[0] if rest else None, rest[1] if rest[1:] else None)
    if name in ("find", "fd", "fdfind"):
        return _found(name, words, operands, cmd)
    file = _file_of(words)
    if file is None:
        return UnknownCommand(cmd)
    path_of_file = posixpath.join(directory, file)
    return ReadCommand(cmd, posixpath.basename(path_of_file) or path_of_file, path_of_file)


def _found(name: str, words: list[str], operands: list[str], cmd: str) -> ParsedCommand:
    if name == "find":
        path = words[1] if words[1:] and words[1][:1] not in ("-", "(", "!") else None
        queries = [words[index + 1] for index, word in enumerate(words[:-1]) if word in _FIND_PATTERNS]
        if any(word in ("-exec", "-execdir", "-delete", "-ok", "-okdir") for word in words):
            return UnknownCommand(cmd)
    else:
        queries, path = operands[:1], operands[1] if operands[1:] else None
    return SearchCommand(cmd, queries[0], path) if queries else ListCommand(cmd, path)


def _file_of(words: list[str]) -> str | None:
    """The one file that the command reads, None if there is none, several, or it does something else."""
    name = words[0].rpartition("/")[2]
    operands = _operands(words)
    if name == "sed":
        operands = operands[1:] if words[1:2] == ["-n"] else []
    elif name == "awk":
        operands = operands[1:]
    elif name not in _READERS and name not in ("head", "tail"):
        return None
    return operands[0] if len(operands) == 1 else None


def _operands(words: Sequence[str]) -> list[str]:
    """Words that are neither options nor the values of those that take one."""
    name = words[0].rpartition("/")[2]
    values = (
        _VALUES - {"-n", "-c", "-v", "-s", "-w", "-b", "-I", "-L", "-d", "-t", "-T", "-f"}
        if name in _SEARCHERS
        else _VALUES
    )
    values = frozenset() if name in ("sed", "cat") else values | ({"-g", "-t", "-T"} if name == "rg" else frozenset())
    operands: list[str] = []
    index = 1
    while index < len(words):
        word = words[index]
        if word == "--":
            return operands + list(words[index + 1 :])
        if word in values:
            index += 1
        elif word[:1] != "-" and not (name in ("head", "tail") and word[:1] == "+"):
            operands.append(word)
        index += 1
    return operands
