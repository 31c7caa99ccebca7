"""What one run teaches goes into the prompt of the next: `signoff wrap` from outside, with an agent that asks."""

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tests.cli.program import signoff

PROGRAM = [sys.executable, "-c", "from signoff.cli.main import main; main()"]
AGENT = """
import pathlib, subprocess, sys
from signoff.codecli import Client
prompt, *commands = sys.argv[1:]
pathlib.Path("prompt.txt").write_text(prompt)
client = Client()
for command in commands:
    with client.request("shell", "exec", {"command": command}) as call:
        assert call.allowed, call.reason
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        call.succeed({"exit_code": done.returncode})
print("The lexer counts the depth of comments now, so that a closing mark ends only the innermost one.")
for word in prompt.split():
    if word.startswith("qa-"):
        print(f"I went by [QA_REF {word.rstrip(']')}] here.")
        break
"""
TASK = "make the lexer accept nested comments"
STEPS = ("touch src_lexer.py && echo counted depth of comments in scan_comment >> src_lexer.py", "make test")


@pytest.fixture
def shop(home: pathlib.Path) -> pathlib.Path:
    project = home / "shop"
    project.mkdir()
    (project / "agent.py").write_text(AGENT, encoding="utf-8")
    (project / "Makefile").write_text("test:\n\t@test ! -e broken\n", encoding="utf-8")
    return project


def run(project: pathlib.Path, task: str, *options: str, steps: tuple[str, ...] = STEPS) -> str:
    """What the agent was asked."""
    words = [*PROGRAM, "wrap", "--audit", "off", *options, "--prompt", task, "--"]
    done = subprocess.run(
        [*words, sys.executable, "agent.py", "{prompt}", *steps],
        cwd=project, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (project / "prompt.txt").read_text(encoding="utf-8")


def memory(project: pathlib.Path, *words: str) -> Any:
    ended = signoff("memory", *words, "--json", cwd=project)
    assert ended.status == 0, ended.err
    return json.loads(ended.out)


def test_a_lesson_comes_out_of_one_run_goes_into_the_next_and_is_judged_by_what_comes_of_it(
    shop: pathlib.Path,
) -> None:
    assert run(shop, TASK) == TASK
    (item,) = memory(shop, "list")["items"]
    assert item["question"] == f"How to: {TASK}"
    assert "make test" in item["answer"]
    assert (item["status"], item["shown"], len(item["calls"])) == ("candidate", 0, 2)

    prompt = run(shop, "nested comments in the lexer do not work, accept them")
    assert prompt.startswith("[MEMORY_CONTEXT v1]\n")
    assert f"[QA_REF {item['qa_id']}]" in prompt
    assert prompt.endswith("[/MEMORY_CONTEXT]\nnested comments in the lexer do not work, accept them")
    after = memory(shop, "show", item["qa_id"])["item"]
    assert (after["shown"], after["used"], after["stats"]["strong_pass"], after["status"]) == (1, 1, 1, "active")

    (shop / "broken").touch()
    run(shop, "nested comments in the lexer do not work, accept them")
    failed = memory(shop, "show", item["qa_id"])["item"]
    assert failed["stats"]["strong_pass"] == 1  # its tests failed, whatever the agent says: no proof
    assert failed["used"] == 2
    assert len(memory(shop, "list")["items"]) == 1  # and nothing is learnt from that

    events = memory(shop, "why")["events"]
    assert [event["name"] for event in events] == [
        "memory.search.result", "memory.selected", "memory.injected", "gatekeeper.decision", "memory.hit", "memory.validate",
    ]  # fmt: skip


def test_what_the_last_run_said_and_the_repository_are_asked_with_where_wanted(shop: pathlib.Path) -> None:
    (shop / "README.md").write_text("# Shop\n\nSells frobnicators.\n", encoding="utf-8")
    config = ("-c", 'memory.query_sources=["prompt","recent_output","repository"]')

    def asked(task: str) -> str:
        words = [*PROGRAM, *config, "wrap", "--audit", "off", "--prompt", task, "--"]
        subprocess.run([*words, "echo", "SocketTimeout in fetch_prices"], cwd=shop, check=True, capture_output=True)
        (event,) = (one for one in memory(shop, "why")["events"] if one["name"] == "memory.search.result")
        return str(event["data"]["query"])

    first = asked("fix it")
    assert first.startswith("fix it # Shop Sells frobnicators.")
    assert "Makefile" in first
    assert "SocketTimeout" not in first
    second = asked("fix it again")
    assert second.startswith("fix it again SocketTimeout in fetch_prices")


def test_another_project_learns_nothing_from_it(shop: pathlib.Path, home: pathlib.Path) -> None:
    run(shop, TASK)
    other = home / "other"
    other.mkdir()
    for name in ("agent.py", "Makefile"):
        (other / name).write_bytes((shop / name).read_bytes())
    assert run(other, TASK) == TASK


def test_no_memory_means_none(shop: pathlib.Path) -> None:
    run(shop, TASK)
    assert run(shop, TASK, "--no-memory") == TASK
    assert memory(shop, "list")["items"][0]["shown"] == 0


@pytest.mark.parametrize(("mode", "beside"), [("system", False), ("user", True), ("both", True), ("none", False)])
def test_our_own_agent_is_told_where_the_setting_says(shop: pathlib.Path, mode: str, beside: bool) -> None:
    memory(shop, "add", "How to accept nested comments", "Count their depth in scan_comment.")
    echoed = signoff("-c", f"memory.inject_mode={mode}", "run", "-m", "echo/echo", "accept nested comments", cwd=shop)
    assert echoed.status == 0, echoed.err
    assert ("Count their depth" in echoed.out) == beside
    assert echoed.out.startswith("accept nested comments")
