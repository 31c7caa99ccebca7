"""How long a person waits for `signoff version` and `signoff --help`, against the same interpreter doing nothing.

Installers write different launchers: uv's imports nothing, older pips' import `re`, which costs more than we do. Both are
measured; the bar of the second is wider for what is not ours.
"""

import pathlib
import subprocess
import sys
import tempfile

from benchmarks.figure import Figure, Unavailable, at_most, medians

REFERENCE = "python -c pass"
ROUNDS = 30


PIP_LAUNCHER = """\
#!{python}
import re
import sys
from signoff.cli.main import main
if __name__ == "__main__":
    sys.argv[0] = re.sub(r"(-script\\.pyw|\\.exe)?$", "", sys.argv[0])
    sys.exit(main())
"""


def measure() -> list[Figure]:
    program = pathlib.Path(sys.executable).with_name("signoff")
    if not program.exists():
        raise Unavailable("signoff is not installed beside this interpreter")
    with tempfile.TemporaryDirectory() as folder:
        by_pip = pathlib.Path(folder) / "signoff"
        by_pip.write_text(PIP_LAUNCHER.format(python=sys.executable), encoding="utf-8")
        by_pip.chmod(0o755)
        commands = {
            REFERENCE: [sys.executable, "-c", "pass"],
            "signoff version": [str(program), "version"],
            "signoff --help": [str(program), "--help"],
            "signoff version, launcher of pip 23": [str(by_pip), "version"],
        }
        seconds = medians({name: lambda words=words: start(words) for name, words in commands.items()}, rounds=ROUNDS)
    bars = {"signoff version": 1.8, "signoff --help": 2.5, "signoff version, launcher of pip 23": 2.0}
    return [at_most(name, seconds[name] / seconds[REFERENCE], bar, reference=REFERENCE) for name, bar in bars.items()]


def start(words: list[str]) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=60)
