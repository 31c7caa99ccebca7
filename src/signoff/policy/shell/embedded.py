"""Commands written inside the words of other programs: option values, awk and sed programs, variables that name one."""

import re
from collections.abc import Iterator, Sequence

from signoff.domain.late import late_pattern
from signoff.policy.commands.sed_program import sed_scripts
from signoff.policy.shell.words import Dynamic

_RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    name: (letters, tuple("--" + option for option in long.split()))
    for name, letters, long in (
        (
            "tar",
            "IF",
            "to-command checkpoint-action use-compress-program info-script new-volume-script rsh-command rmt-command",
        ),
        ("rsync", "e", "rsh rsync-path"),
        ("scp", "S", ""),
        ("sftp", "S", ""),
        ("tcpdump", "z", ""),
        ("nano", "s", "speller"),
        ("hg", "e", "ssh remotecmd"),
        ("cpio", "", "rsh-command"),
        ("sort", "", "compress-program"),
        ("rg", "", "pre hostname-bin"),
        ("split", "", "filter"),
        ("man", "PH", "pager html"),
        ("sdiff", "", "diff-program"),
        ("diff3", "", "diff-program"),
        ("zip", "", "unzip-command"),
        ("make", "", "eval"),
        ("vim", "c", "cmd"),
        ("vi", "c", "cmd"),
        ("nvim", "c", "cmd"),
        ("git", "O", "open-files-in-pager"),
        ("ag", "", "pager"),
        ("ack", "", "pager"),
        ("go", "", "exec toolexec"),
        ("install", "", "strip-program"),
    )
}
_TEXT = late_pattern(r"[\s;|&`]|\$\(")
_AWK_STRING = late_pattern(r'"((?:[^"\\]|\\.)+)"')
_AWK_RUNS = late_pattern(r"system|\||getline")
_SED_RUNS = late_pattern(r"(?:^|[;\n{}!0-9$/+~,])\s*e\s+([^\n;}]+)")
_SUBSTITUTION = late_pattern(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
_SETTING = late_pattern(r"\s*\w*command\s*[=\s]\s*(.*)", re.IGNORECASE | re.DOTALL)
_EXTERNAL = late_pattern(r"ext::(.+)")
_NAMES_A_COMMAND = late_pattern(
    r"(?:.*PAGER|.*EDITOR|.*_COMMAND|.*_ASKPASS|GIT_\w*(?:DIFF|SSH|PROXY\w*)|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|PS[0-4]|RSYNC_RSH|SHELL|BASH_ENV|ENV)"
    r"(?:\+)?=",
)
_RUN_TEXT = frozenset("tar rsync scp sftp man zip vim vi nvim emacs ed ex view socat nmap bind".split())
"""Programs for which an argument with blanks may be a command line wherever it stands."""
PROGRAMS = frozenset(_RUNS) | _RUN_TEXT | frozenset("awk gawk mawk nawk sed gsed".split())
EVALUATES = frozenset("let test [ [[ printf read declare typeset local export readonly unset".split())


def embedded(name: str, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Index and text of everything in the words that would be run as a command."""
    if name in ("awk", "gawk", "mawk", "nawk"):
        for index, word in enumerate(words):
            if _AWK_RUNS.search(word):
                yield from ((index, match[1]) for match in _AWK_STRING.finditer(word))
    elif name in ("sed", "gsed"):
        for script in sed_scripts(words):
            yield from ((len(words) - 1, match[1]) for match in _SED_RUNS.finditer(script))
    else:
        yield from _values(name, words)


def substitutions(words: Sequence[str]) -> Iterator[str]:
    """Command substitutions in literal words, for builtins that evaluate what they are given."""
    for word in words[1:]:
        if not isinstance(word, Dynamic):
            yield from (match[1] or match[2] or "" for match in _SUBSTITUTION.finditer(word))


def assigned_command(assignment: str) -> str | None:
    """The value of `PAGER=…` and other variables that programs take a command from."""
    return assignment.partition("=")[2] if _NAMES_A_COMMAND.match(assignment) else None


def configured_command(setting: str) -> str | None:
    """The value of `ProxyCommand=…` and its like, as `ssh -o` takes it: in any case, after a blank or an equals sign."""
    found = _SETTING.match(setting)
    return found[1] if found else None


def _values(name: str, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    letters, long = _RUNS.get(name, ("", ()))
    for index, word in enumerate(words[1:], start=1):
        if isinstance(word, Dynamic):
            continue
        head, equals, value = word.partition("=")
        if word.startswith("--"):
            runs = len(head) > 3 and any(option.startswith(head) for option in long)
        else:
            letter = next((letter for letter in letters if word[:1] == "-" and letter in word), "")
            value, equals, runs = word.partition(letter)[2] if letter else "", "x", bool(letter)
        if name in ("scp", "sftp") and (found := configured_command(word.removeprefix("-o"))):
            yield index, found
        elif runs:
            text = value if equals and value else next(iter(words[index + 1 : index + 2]), "")
            yield index, text.removeprefix("exec=").lstrip("!:+ ")
        elif name == "git":
            yield from ((index, match[1].replace("%20", " ")) for match in _EXTERNAL.finditer(word))
        elif name in _RUN_TEXT and (word[:2] == "+!" or _TEXT.search(word)):
            yield index, (value if word[:1] == "-" and value else word).lstrip("!:+ ")
