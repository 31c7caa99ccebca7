"""What does a wrapper start? `sudo`, `env -S`, `xargs`, `find -exec`, `sh -c`, `ssh`, `eval` … read one layer deep.

Where a wrapper's own options are not understood, everything that could be the command is given back: the true one is
among them, so a restriction cannot be missed, and a grant needs all of them granted.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from signoff.domain.late import late_pattern
from signoff.policy.commands.git_commands import argv_of_git, started_by_git
from signoff.policy.commands.options import Options, is_option, leading, read_option, scan
from signoff.policy.shell.embedded import (
    EVALUATES,
    PROGRAMS,
    assigned_command,
    configured_command,
    embedded,
    substitutions,
)
from signoff.policy.shell.words import Dialect, Dynamic, Kind, seen
from signoff.policy.shell.wrappers import RUNNERS, SHELLS, WRAPPERS


class Script(msgspec.Struct, frozen=True):
    text: str
    dialect: Dialect = Dialect.POSIX


Start = list[str] | Script


class Unwrapped(msgspec.Struct):
    """`starts`: what it runs, as words or as shell text. `unknown`: why a person has to look, if one has to."""

    inner: int
    starts: Sequence[Start]
    transparent: bool = False
    unknown: str | None = None


_PROGRAM = late_pattern(r"[A-Za-z_.~/\[][^\s=;|&<>()$`'\"]*")
_LOOKS_LIKE_SCRIPT = late_pattern(r"[\s;|&`]|\$\(")
_DIALECTS = {"bash": Dialect.BASH, "rbash": Dialect.BASH, "zsh": Dialect.ZSH}
_SHELL = Options.of("abefhkmnpituvxBCHPlsDEr", "oO", "login noprofile norc posix restricted verbose rcfile= init-file=")
_XARGS = Options.of("0oprtx", "adEILnPs", "null open-tty no-run-if-empty interactive verbose exit show-limits arg-file= delimiter= max-args= max-procs= max-chars= max-lines= replace= process-slot-var=")  # fmt: skip
_SSH = Options.of("1246AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOopQRSWw")
_SUDO_SHELL = Options.of(
    "AbBEHKklnPSVvsie",
    "CDghpRrTtUu",
    "shell login non-interactive preserve-env stdin set-home user= group= host= prompt= chdir=",
)
_WATCH = Options.of("bcdegprtwx", "nqs", "beep color differences errexit chgexit equexit precise no-rerun no-title no-wrap exec interval=")  # fmt: skip
_SCAN_LIMIT = 40


def unwrap(words: list[str], name: str, stdin: str | None) -> Unwrapped | None:
    """What `words` starts besides itself; None if it is no wrapper. `stdin`: the literal text it is fed, if any."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words, stdin)
    if name in SHELLS:
        return _shell(words, name, stdin)
    if name in WRAPPERS:
        return _prefix(words, name)
    if name.startswith(("ld-linux", "ld-musl", "ld.so")):
        return _everything(words, 1)
    verbs = RUNNERS.get(name)
    if verbs is None:
        return None
    if not verbs:
        return _everything(words, 1)
    if verbs.isdisjoint(words):
        return None
    at = next((index for index, word in enumerate(words) if index and word in verbs), len(words))
    return _everything(words, at + 1)


def _prefix(words: list[str], name: str) -> Unwrapped | None:
    wrapper = WRAPPERS[name]
    found, index = leading(words, wrapper.options)
    if any(not option.known for option in found):
        return _everything(words, 1)
    for option in found:
        if option.name in wrapper.scripts or option.name in wrapper.long_scripts:
            return Unwrapped(option.index, [_script(option.value)])
    variables: list[Start] = []
    while wrapper.assignments and index < len(words) and "=" in words[index]:
        value = assigned_command(words[index])
        variables += [] if value is None else [_script(value)]
        index += 1
    index += wrapper.positionals
    if index >= len(words):
        return None
    rest = words[index:]
    if name == "flock" and rest[0] in ("-c", "--command"):
        return Unwrapped(index + 1, [_script(word) for word in rest[1:2]])
    if name in ("su", "runuser", "sg", "script"):
        return _everything(words, 1)
    if isinstance(rest[0], Dynamic) or is_option(rest[0]):
        return _everything(words, index)
    return Unwrapped(index, [rest, *variables], wrapper.transparent)


def _script(word: str | None, dialect: Dialect = Dialect.POSIX) -> Start:
    text = None if word is None else seen(word)
    return [Dynamic.of(Kind.UNKNOWN, word or "")] if text is None else Script(text, dialect)


def _everything(words: Sequence[str], start: int) -> Unwrapped:
    """Every suffix that could be a command, and every argument that could be a script."""
    starts: list[Start] = []
    inner = next((index for index in range(start, len(words)) if not is_option(words[index])), start)
    for index in range(start, min(len(words), start + _SCAN_LIMIT)):
        word = words[index]
        if isinstance(word, Dynamic) or _PROGRAM.fullmatch(word):
            starts.append(list(words[index:]))
        elif _LOOKS_LIKE_SCRIPT.search(word):
            starts.append(Script(word.partition("=")[2] if is_option(word) and "=" in word else word))
    unknown = "more words than are looked at" if len(words) > start + _SCAN_LIMIT else None
    return Unwrapped(inner, starts, unknown=unknown)


def _shell(words: list[str], name: str, stdin: str | None) -> Unwrapped | None:
    """`-c` may stand in any cluster; the script is the first word after all options."""
    index, command = 1, False
    while index < len(words) and (is_option(words[index]) or words[index][:1] == "+"):
        word = words[index]
        if word == "--":
            index += 1
            break
        if not word.startswith("--") and "c" in word[1:]:
            command = True
            word = word.replace("c", "", 1)
        if word in ("-", "+"):
            index += 1
            continue
        found, after = read_option([word, *words[index + 1 :]], 0, _SHELL)
        if not all(option.known for option in found):
            return _everything(words, 1)
        index += after
    dialect = _DIALECTS.get(name, Dialect.POSIX)
    if name == "fish" and any("C" in word or word.startswith("--i") for word in words[1:index]):
        return _everything(words, 1)  # commands before the command
    if command:
        if index >= len(words):
            return None
        simple = index == len(words) - 1 == 2 and words[1] in ("-c", "-lc") and name in ("bash", "sh", "dash", "zsh")
        return Unwrapped(index, [_script(words[index], dialect)], transparent=simple)
    if index < len(words) and words[index] not in ("-", "/dev/stdin") and "s" not in "".join(words[1:index]):
        return Unwrapped(index, [list(words[index:])])  # a script file is a program of its own
    if stdin is not None:
        return Unwrapped(len(words), [Script(stdin, dialect)])
    return Unwrapped(len(words), [], unknown="runs whatever commands it is fed")


def _env(words: list[str], stdin: str | None) -> Unwrapped | None:
    """`-S TEXT` and `--split-string=TEXT`, abbreviated or in a cluster, put words in front of the rest."""
    for index, word in enumerate(words[1:], start=1):
        if word == "--" or not (is_option(word) or "=" in word or word == "-"):
            break
        name, equals, value = word.partition("=")
        if len(name) > 2 and "--split-string".startswith(name):
            text, rest = (value, words[index + 1 :]) if equals else (words[index + 1 : index + 2], words[index + 2 :])
        elif not word.startswith("--") and "S" in word and set(word.partition("S")[0]) <= set("-iv0"):
            attached = word.partition("S")[2]
            text, rest = (
                (attached, words[index + 1 :]) if attached else (words[index + 1 : index + 2], words[index + 2 :])
            )
        else:
            continue
        split = text if isinstance(text, str) else next(iter(text), "")
        if isinstance(split, Dynamic) or any(mark in split for mark in "$\\'\"#"):
            return Unwrapped(
                index, [Script(str(split)), *_everything(rest, 0).starts], unknown="env -S text that is expanded"
            )
        return Unwrapped(index, [["env", *split.split(), *rest]])
    return _prefix(["env", "-i", *words[2:]] if words[1:2] == ["-"] else words, "env")


def _xargs(words: list[str], stdin: str | None) -> Unwrapped | None:
    index, replace = 1, "{}"
    while index < len(words) and is_option(words[index]):
        word = words[index]
        if word == "--":
            index += 1
            break
        if word[:2] in ("-e", "-i", "-l"):  # their value is only ever attached
            replace = word[2:] or replace
            index += 1
            continue
        found, index = read_option(words, index, _XARGS)
        if not found[-1].known:
            return _everything(words, 1)
        replace = next((option.value or replace for option in found if option.name in ("I", "replace")), replace)
    rest = words[index:]
    if not rest:
        return None
    filled = _filled(rest, replace)
    filled[0].append(Dynamic.of(Kind.UNKNOWN, "…"))
    return Unwrapped(index, filled)


def _filled(words: Sequence[str], mark: str) -> list[list[str]]:
    """The words with unknown ones where the mark stands; and as written, where what is around a mark is a script."""
    filled = [Dynamic.of(Kind.UNKNOWN, word) if mark in word else word for word in words]
    scripts = any(mark in word and _LOOKS_LIKE_SCRIPT.search(word) for word in words)
    return [filled, list(words)] if scripts else [filled]


def _find(words: list[str], stdin: str | None) -> Unwrapped | None:
    starts: list[Start] = []
    inner = None
    index = 1
    while index < len(words):
        if words[index] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((at for at in range(index, len(words)) if words[at] in (";", "+")), len(words))
            if argv := words[index + 1 : end]:
                starts += _filled(argv, "{}")
                inner = inner or index + 1
            index = end
        index += 1
    return None if inner is None else Unwrapped(inner, starts)


def _ssh(words: list[str], stdin: str | None) -> Unwrapped | None:
    found, host = leading(words, _SSH)
    if any(not option.known for option in found):
        return _everything(words, 1)
    settings = (option.value for option in found if option.name == "o" and option.value)
    local = [_script(text) for text in map(configured_command, settings) if text]
    _, after = leading(words, _SSH, host + 1)
    remote: list[Start] = []
    if after < len(words):
        remote = [
            _script(" ".join(words[after:])) if all(seen(word) for word in words[after:]) else list(words[after:])
        ]
    return Unwrapped(after if remote else host, [*local, *remote]) if local or remote else None


def _watch(words: list[str], stdin: str | None) -> Unwrapped | None:
    found, index = leading(words, _WATCH)
    if any(not option.known for option in found):
        return _everything(words, 1)
    if index >= len(words):
        return None
    return Unwrapped(index, [_joined(words[index:]), list(words[index:])])


def _joined(words: Sequence[str]) -> Start:
    texts = [seen(word) for word in words]
    if any(text is None for text in texts):
        return [Dynamic.of(Kind.UNKNOWN, " ".join(words))]
    return Script(" ".join(text for text in texts if text is not None), Dialect.BASH)


def _eval(words: list[str], stdin: str | None) -> Unwrapped | None:
    rest = words[2:] if words[1:2] == ["--"] else words[1:]
    return Unwrapped(len(words) - len(rest), [_joined(rest)]) if rest else None


def _source(words: list[str], stdin: str | None) -> Unwrapped | None:
    return Unwrapped(1, [list(words[1:])]) if words[1:] else None


def _trap(words: list[str], stdin: str | None) -> Unwrapped | None:
    rest = words[2:] if words[1:2] == ["--"] else words[1:]
    if not rest or is_option(rest[0]) or len(rest) < 2:
        return None
    return Unwrapped(len(words) - len(rest), [_joined(rest[:1])])


def _command(words: list[str], stdin: str | None) -> Unwrapped | None:
    looks_up = len(words) > 1 and words[1][:1] == "-" and set(words[1][1:]) & {"v", "V"}
    return None if looks_up else _prefix(words, "command")


def _git(words: list[str], stdin: str | None) -> Unwrapped | None:
    argv = argv_of_git(words)
    if argv:
        return Unwrapped(len(words) - len(argv), [list(argv)])
    return _scripts([*started_by_git(words), *embedded("git", words)])


def _embedded(words: list[str], stdin: str | None) -> Unwrapped | None:
    return _scripts(list(embedded(words[0].rpartition("/")[2], words)))


def _scripts(found: list[tuple[int, str]]) -> Unwrapped | None:
    return Unwrapped(found[0][0], [_script(text) for _, text in found if text]) if found else None


def _evaluates(words: list[str], stdin: str | None) -> Unwrapped | None:
    """Builtins that evaluate a subscript, and so a substitution, in a word that is literal to the shell."""
    assigned = (assigned_command(word) for word in words[1:] if not isinstance(word, Dynamic))
    return _scripts([(len(words), text) for text in (*substitutions(words), *filter(None, assigned))])


def _alias(words: list[str], stdin: str | None) -> Unwrapped | None:
    return _scripts([(index, word.partition("=")[2]) for index, word in enumerate(words) if "=" in word])


def _registers(words: list[str], stdin: str | None) -> Unwrapped | None:
    return _everything(words, 1) if len(words) > 2 else None


def _mapfile(words: list[str], stdin: str | None) -> Unwrapped | None:
    callbacks = [
        item.value for item in scan(words, Options.of("t", "dnOsucC")) if not isinstance(item, int) and item.name == "C"
    ]
    return Unwrapped(len(words), [_script(value) for value in callbacks]) if callbacks else None


def _sudo(words: list[str], stdin: str | None) -> Unwrapped | None:
    if words[1:2] and words[1][:1] != "-":
        return _prefix(words, "sudo")
    found, index = leading(words, _SUDO_SHELL)
    if any(option.name in ("s", "i", "shell", "login") for option in found if option.known) and all(
        option.known for option in found
    ):
        rest = words[index:]
        if not rest:
            return Unwrapped(len(words), [], unknown="opens a shell with other rights")
        return Unwrapped(index, [_joined(rest), list(rest)])
    return _prefix(words, "sudo")


_SPECIAL: dict[str, Callable[[list[str], str | None], Unwrapped | None]] = {
    "env": _env,
    "sudo": _sudo,
    "xargs": _xargs,
    "find": _find,
    "ssh": _ssh,
    "watch": _watch,
    "eval": _eval,
    "trap": _trap,
    "source": _source,
    ".": _source,
    "command": _command,
    "git": _git,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "alias": _alias,
    **dict.fromkeys(("hash", "complete", "compgen", "fc", "history"), _registers),
    **dict.fromkeys(EVALUATES, _evaluates),
    **dict.fromkeys(PROGRAMS - {"git"}, _embedded),
}  # fmt: skip


def names() -> Iterator[str]:
    """Every program this module knows."""
    yield from (*_SPECIAL, *SHELLS, *WRAPPERS, *RUNNERS)
