"""Every exit status, from outside: one table of what a person types and what the program ends with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.domain.errors import Exit
from tests.clauses import requirement
from tests.cli.program import PROGRAM

RECORDED = '"$S" exec -- echo hello >&2; run=$(echo "$HOME"/.local/state/signoff/runs/*.jsonl); '
VERIFIED = '; "$S" audit verify "$run"'
AT_A_TERMINAL = '"$PYTHON" -c "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))" '
CALLS = """echo '{"repeat": 30, "tools": [{"name": "run_terminal_cmd", "args": {"command": "ls"}}]}' > script; """

TYPED = {
    Exit.OK: '"$S" version',
    Exit.FOUND: 'mkdir -p "$HOME/.config/signoff"; echo x > "$HOME/.config/signoff/config.toml"; "$S" doctor',
    Exit.USAGE: '"$S" no-such-command',
    Exit.CONFIG: 'SIGNOFF_NO_SUCH_SETTING=1 "$S" config list',
    Exit.UPSTREAM: 'OLLAMA_HOST=127.0.0.1:9 "$S" run -m ollama/any hello',
    Exit.BUDGET: CALLS + '"$S" run -m scripted/script --max-turns 1 hello',
    Exit.LOOP: CALLS + '"$S" run -m scripted/script hello',
    Exit.INTERNAL: '"$S" version > /dev/full',
    Exit.CHILD: '"$S" wrap -- /no/such/program',
    Exit.DENIED: '"$S" exec -- git push --force',
    Exit.REVIEW_TIMEOUT: AT_A_TERMINAL + '"$S" -c policy.decision_timeout_ms=500 exec -- rm -rf build',
    Exit.NOT_ENFORCEABLE: '"$S" wrap --require-enforcement -- true',
    Exit.LEDGER_EDITED: RECORDED + 'sed -i s/hello/other/ "$run"' + VERIFIED,
    Exit.LEDGER_MISSING: RECORDED + 'sed -i 2d "$run"' + VERIFIED,
    Exit.LEDGER_REORDERED: RECORDED + "sed -i -e '2{h;d}' -e 3G \"$run\"" + VERIFIED,
    Exit.LEDGER_TORN: RECORDED + 'truncate -s -9 "$run"' + VERIFIED,
    Exit.LEDGER_UNFINISHED: RECORDED + "sed -i '$d' \"$run\"" + VERIFIED,
    Exit.TIMEOUT: '"$S" exec --timeout-ms 200 -- sleep 60',
    Exit.INTERRUPTED: "\"$S\" wrap -- sh -c 'kill -INT $PPID; exec sleep 60'",
    Exit.PIPE_CLOSED: 'mkfifo pipe; (: < pipe) & exec 4> pipe; wait; "$S" config list >&4',
}


def test_every_exit_status_has_a_row() -> None:
    assert set(TYPED) == set(Exit)


@requirement("ACP-013")
@pytest.mark.parametrize("status", TYPED, ids=lambda status: f"{status.value} {status.name.lower()}")
def test_what_is_typed_ends_with_this_status(status: Exit, home: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    ended = subprocess.run(
        ["/bin/sh", "-c", f"{TYPED[status]}\nexit $?"],
        env={**os.environ, "S": PROGRAM, "PYTHON": sys.executable},
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        start_new_session=True,  # no terminal but the one a row makes for itself
        check=False,
    )
    assert ended.returncode == status, ended
    assert b"Traceback" not in ended.stderr
