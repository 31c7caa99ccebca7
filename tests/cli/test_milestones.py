"""The steps in which the command line grew, each still there."""

import json
import os
import pathlib
import subprocess
import sys

from tests.clauses import requirement


def signoff(home: pathlib.Path, *words: str, said: str = "") -> tuple[int, str]:
    program = pathlib.Path(sys.executable).with_name("signoff")
    environ = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, input=said, cwd=home, env=environ, timeout=120
    )
    return done.returncode, done.stdout


@requirement("ACP-020")
def test_version_and_settings_then_chat_and_run_then_codes_and_stable_output(tmp_path: pathlib.Path) -> None:
    assert json.loads(signoff(tmp_path, "version", "--json")[1])["version"]
    assert signoff(tmp_path, "config", "get", "sandbox.mode") == (0, "workspace-write\n")
    assert signoff(tmp_path, "run", "-m", "echo/echo", "say this") == (0, "say this\n")
    assert signoff(tmp_path, "chat", "-m", "echo/echo", said="and this\n") == (0, "and this\n")
    assert signoff(tmp_path, "run", "--no-such-option")[0] == 2
    status, printed = signoff(tmp_path, "run", "-m", "echo/echo", "--output-format", "stream-json", "once more")
    events = [json.loads(line) for line in printed.splitlines()]
    assert status == 0
    assert [event["seq"] for event in events] == list(range(events[0]["seq"], events[0]["seq"] + len(events)))
    assert events[-1]["type"] == "result"
