"""Read the options in front of and between operands the way getopt does: clusters, attached values, `--`."""

from collections.abc import Iterator, Sequence

import msgspec


class Options(msgspec.Struct, frozen=True):
    """The options a program is known to take. Short ones as letters; long ones by name, `values` if they take one."""

    flags: frozenset[str]
    values: frozenset[str]
    long_flags: frozenset[str]
    long_values: frozenset[str]

    @classmethod
    def of(cls, flags: str, values: str, long: str = "") -> "Options":
        names = long.split()
        return cls(
            frozenset(flags),
            frozenset(values),
            frozenset(name for name in names if not name.endswith("=")),
            frozenset(name.rstrip("=") for name in names if name.endswith("=")),
        )


class Option(msgspec.Struct, frozen=True):
    """One option as used: the word it stands in, its name (one letter or a long name), its value if there is one."""

    index: int
    name: str
    value: str | None
    known: bool = True


def read_option(words: Sequence[str], index: int, options: Options) -> tuple[list[Option], int]:
    """The option or cluster in words[index] and the index after it; an unknown one is the last and says so."""
    word = words[index]
    if word.startswith("--"):
        name, attached, value = word[2:].partition("=")
        if name in options.long_flags:
            # some flags take an optional value, only ever attached
            return [Option(index, name, value if attached else None)], index + 1
        if name in options.long_values:
            if attached:
                return [Option(index, name, value)], index + 1
            following = words[index + 1] if index + 1 < len(words) else None
            return [Option(index, name, following, following is not None)], index + 2
        return [Option(index, name, value if attached else None, known=False)], index + 1
    found: list[Option] = []
    for position, letter in enumerate(word[1:], start=1):
        if letter in options.values:
            attached_value = word[position + 1 :]
            if attached_value:
                return [*found, Option(index, letter, attached_value)], index + 1
            following = words[index + 1] if index + 1 < len(words) else None
            return [*found, Option(index, letter, following, following is not None)], index + 2
        found.append(Option(index, letter, None, letter in options.flags))
        if letter not in options.flags:
            return found, index + 1
    return found, index + 1


def is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-"


def scan(words: Sequence[str], options: Options, start: int = 1) -> Iterator[Option | int]:
    """Every option, and the index of every operand, of a program that allows them in any order."""
    index = start
    while index < len(words):
        if words[index] == "--":
            yield from range(index + 1, len(words))
            return
        if is_option(words[index]):
            found, index = read_option(words, index, options)
            yield from found
        else:
            yield index
            index += 1


def leading(words: Sequence[str], options: Options, start: int = 1) -> tuple[list[Option], int]:
    """The options before the first operand, and where that operand is; stops at an unknown option."""
    found: list[Option] = []
    index = start
    while index < len(words) and is_option(words[index]):
        if words[index] == "--":
            return found, index + 1
        new, index = read_option(words, index, options)
        found.extend(new)
        if not new[-1].known:
            break
    return found, min(index, len(words))
