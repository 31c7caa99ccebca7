"""Completion: the script every shell gets, and the answers it asks for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from signoff.cli.commands import COMMANDS
from tests.cli.program import PROGRAM, signoff
from tests.ledger.books import RUN, open_ledger


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script_that_it_can_read(shell: str, home: Path) -> None:
    ended = signoff("completion", shell)
    assert (ended.status, ended.err) == (0, "")
    assert f"_SIGNOFF_COMPLETE={shell}_complete" in ended.out
    if program := shutil.which(shell):
        subprocess.run([program, "-n", "/dev/stdin"], input=ended.out, text=True, check=True, timeout=60)


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        (["signoff", ""], set(COMMANDS)),
        (["signoff", "conf"], {"config"}),
        (["signoff", "--no"], {"--no-color"}),
        (["signoff", "config", "un"], {"unset"}),
        (["signoff", "config", "get", "sandbox.mo"], {"sandbox.mode"}),
        (["signoff", "completion", ""], {"bash", "zsh", "fish"}),
        (["signoff", "doctor", "--js"], {"--json"}),
        (["signoff", "tools", "call", "read_f"], {"read_file"}),
        (["signoff", "why", "--tool", "apply"], {"apply_patch"}),
    ],
)
def test_what_is_completed(line: list[str], answers: set[str], home: Path) -> None:
    variables = {"_SIGNOFF_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(line), "COMP_CWORD": str(len(line) - 1)}
    ended = signoff(**variables)
    assert (ended.status, ended.err) == (0, "")
    assert {answer.removeprefix("plain,") for answer in ended.out.splitlines()} == answers


@pytest.mark.parametrize("command", [["audit", "show"], ["replay"], ["memory", "why"]])
def test_runs_are_completed(command: list[str], home: Path) -> None:
    open_ledger(home / ".local/state/signoff/runs", RUN).close()
    words = ["signoff", *command, RUN[:4]]
    variables = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    assert signoff(_SIGNOFF_COMPLETE="bash_complete", **variables).out == f"plain,{RUN}\n"


def test_bash_itself_completes_a_command(home: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    script = f"""
        PATH={Path(PROGRAM).parent}:$PATH
        eval "$(signoff completion bash)"
        COMP_WORDS=(signoff con) COMP_CWORD=1 COMPREPLY=()
        _signoff_completion signoff
        echo "${{COMPREPLY[@]}}"
    """
    ended = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "config\n"
