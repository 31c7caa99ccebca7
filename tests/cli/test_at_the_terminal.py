"""The programs that ask, in a real pseudo-terminal: how an interrupt ends them, and who may write while they ask."""

import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pexpect
import pyte
import pytest

PROGRAM = ["-c", "from signoff.cli.main import main; main()"]
STOP = "no, and stop"
AGENT = """
import sys
request = '{"v":1,"type":"tool.request","ts":1,"id":"a","tool":"shell","action":"exec","args":{"command":"rm -rf /srv/x"},"requires_policy":true}'
print(request, flush=True)
if len(sys.argv) > 1:
    open(sys.argv[1]).read()  # until the question stands there
for number in range(200):
    print("\\x1b[2J\\x1b[H y yes, once: ls -l", number, flush=True)
if len(sys.argv) > 1:
    open(sys.argv[2], "w").write("said")
print("the agent goes on", sys.stdin.readline() and sys.stdin.readline()[-200:], flush=True)
"""
Run = Callable[..., Any]


@pytest.fixture
def run(home: pathlib.Path) -> Iterator[Run]:
    started: list[Any] = []

    def begin(*words: str) -> Any:
        child = pexpect.spawn(
            sys.executable,
            [*PROGRAM, *words],
            dimensions=(50, 100),
            cwd=home,
            encoding="utf-8",
            timeout=180,
            env={"PATH": "/usr/bin:/bin", "TERM": "xterm", "HOME": str(home), "LANG": "C.UTF-8"},
        )
        started.append(child)
        return child

    yield begin
    for child in started:
        child.close(force=True)


def ended(child: Any) -> int:
    child.expect(pexpect.EOF)
    child.close()
    return int(child.exitstatus)


def press(child: Any, key: str) -> str:
    """Until it counts: what is pressed in the first moment does not. What was written meanwhile."""
    for _ in range(180):
        child.send(key)
        if child.expect_exact([" → ", pexpect.TIMEOUT], timeout=1) == 0:
            return str(child.before)
    raise AssertionError(f"{key!r} never counted")


ENDS = {"\x03": 130, "\x1b": 40, "\r": 40}


@pytest.mark.parametrize("key", ENDS)
def test_an_interrupt_ends_exec_with_130_and_a_refusal_with_40(key: str, run: Run) -> None:
    child = run("exec", "--", "rm", "-rf", "/srv/nothing-here")
    child.expect_exact(STOP)
    press(child, key)
    assert ended(child) == ENDS[key]


@pytest.mark.parametrize("key", ["\x03", "\x1b"])
def test_the_same_for_a_supervised_agent(key: str, run: Run, tmp_path: pathlib.Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT, encoding="utf-8")
    child = run("wrap", "--", sys.executable, str(agent))
    child.expect_exact(STOP)
    press(child, key)
    assert ended(child) == ENDS[key]


def test_what_an_agent_writes_while_a_question_stands_there_waits(run: Run, tmp_path: pathlib.Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT, encoding="utf-8")
    asked, said = str(tmp_path / "asked"), str(tmp_path / "said")
    os.mkfifo(asked)
    os.mkfifo(said)
    child = run("wrap", "--", sys.executable, str(agent), asked, said)
    screen = pyte.Screen(100, 50)
    stream = pyte.Stream(screen)
    child.expect_exact("  │ ")
    stream.feed(child.before + child.after)
    child.expect_exact(STOP)
    stream.feed(child.before + child.after)
    pathlib.Path(asked).write_text("now", encoding="utf-8")
    assert pathlib.Path(said).read_text(encoding="utf-8") == "said"
    stream.feed(press(child, "y"))
    shown = "\n".join(screen.display)
    assert "rm -rf /srv/x" in shown
    assert "ls -l" not in shown  # not a byte of it, until the answer was given
    child.expect_exact("ls -l 0")
    child.expect_exact("ls -l 199")
    child.expect_exact("the agent goes on")
    assert '"allow"' in child.readline()
    assert ended(child) == 0
