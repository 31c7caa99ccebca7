"""Read a script, or the argv that would run one."""

import re

from signoff.domain.intent import Command, Opaque
from signoff.policy.shell.reading import Reading

_SIMPLE = re.compile(r"[ \t]*[A-Za-z0-9_./+-]+(?:[ \t]+[A-Za-z0-9_./:=@%+,-]+)*[ \t]*")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})


def read_script(script: str, *, cwd: str, home: str) -> Reading:
    """What the script would do when a shell runs it in `cwd`."""
    if _SIMPLE.fullmatch(script):
        return Reading(True, (Command(tuple(script.split()), script),))
    return Reading(False, (Opaque(script, "not read yet"),), "not read yet")


def read_argv(argv: tuple[str, ...], *, cwd: str, home: str) -> Reading:
    """What starting this process would do; for `bash -lc SCRIPT` that is what the script does."""
    if len(argv) == 3 and argv[0].rsplit("/", 1)[-1] in _SHELLS and argv[1] in ("-c", "-lc"):
        return read_script(argv[2], cwd=cwd, home=home)
    return Reading(True, (Command(argv, " ".join(argv)),))
