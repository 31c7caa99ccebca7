"""Which sed scripts only edit the stream. sed can also write files (`w`), run commands (`e`) and read others (`r`)."""

import re
from collections.abc import Sequence

from signoff.domain.late import late_pattern
from signoff.policy.commands.options import Option, Options, scan

_OPTIONS = Options.of(
    "nErsuz", "e", "quiet silent regexp-extended separate unbuffered null-data posix expression= help version"
)


def _text(delimiter: str) -> str:
    """A pattern up to its delimiter. sed does not end one inside brackets, so brackets may hold neither it nor `[`."""
    mark = re.escape(delimiter)
    return rf"(?:[^{mark}\\\[\n\0]|\\[^\n\0]|\[\^?[^\]\[{mark}\\\n\0]+\])*"


def _substitution(delimiter: str) -> str:
    mark = re.escape(delimiter)
    return rf"s{mark}{_text(delimiter)}{mark}(?:[^{mark}\\\n\0]|\\[^\n\0])*{mark}[gpiI0-9]*"


_ADDRESS = rf"(?:[0-9]+(?:~[0-9]+)?|\$|/{_text('/')}/I?)"
_RANGE = rf"(?:{_ADDRESS}(?:,(?:{_ADDRESS}|[+~][0-9]+))?[ \t]*!?[ \t]*)?"
_COMMAND = rf"{_RANGE}(?:[pdnNgGhHxlDP=]|q[0-9]*|{'|'.join(_substitution(mark) for mark in '/|,#:@%')})[ \t]*"
_SCRIPT = rf"[ \t]*{_COMMAND}(?:[;\n][ \t]*{_COMMAND})*;?[ \t]*"  # compiled when first used: it takes milliseconds


_MAY_WRITE_OR_RUN = late_pattern(r"(?:^|[;{}!0-9$/|,#:@%\sgpiIM])[eswWrRF]")


def only_edits_the_stream(words: Sequence[str]) -> bool:
    if any(isinstance(item, Option) and not item.known for item in scan(words, _OPTIONS)):
        return False
    scripts = sed_scripts(words)
    return bool(scripts) and all(_is_plain(script) for script in scripts)


def sed_scripts(words: Sequence[str]) -> list[str]:
    """The program text: every `-e`, or else the first operand."""
    items = list(scan(words, _OPTIONS))
    given = [item.value or "" for item in items if isinstance(item, Option) and item.name in ("e", "expression")]
    return given or [words[item] for item in items if isinstance(item, int)][:1]


def may_write_or_run(script: str) -> bool:
    """Whether a script that is not plain has a letter where a command or flag that writes or runs could stand."""
    return not _is_plain(script) and _MAY_WRITE_OR_RUN.search(script) is not None


def _is_plain(script: str) -> bool:
    return len(script) < 500 and re.fullmatch(_SCRIPT, script) is not None
