"""How long a person or a hook waits for one `signoff policy check`, against the same interpreter doing nothing."""

import os
import pathlib
import subprocess
import sys
import tempfile

from benchmarks.figure import Figure, Unavailable, at_most, medians

REFERENCE = "python -c pass"
ROUNDS = 25


def measure() -> list[Figure]:
    program = pathlib.Path(sys.executable).with_name("signoff")
    if not program.exists():
        raise Unavailable("signoff is not installed beside this interpreter")
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder) / "a.rules"
        rules.write_text('prefix_rule(pattern=["git", "status"])\n', encoding="utf-8")
        check = [str(program), "policy", "check", "--rules", str(rules), "--json"]
        commands = {
            REFERENCE: [sys.executable, "-c", "pass"],
            "argv": [*check, "--", "git", "status"],
            "script": [*check, "--script", "if true; then git status; fi"],
        }
        seconds = medians({name: lambda words=words: start(words) for name, words in commands.items()}, rounds=ROUNDS)
    return [
        at_most("signoff policy check, argv", seconds["argv"] / seconds[REFERENCE], 10, reference=REFERENCE),
        at_most("signoff policy check, script", seconds["script"] / seconds[REFERENCE], 10, reference=REFERENCE),
    ]


def start(words: list[str]) -> None:
    # as anybody's own interpreter does, keep the compiled modules
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=60, env=environ)
