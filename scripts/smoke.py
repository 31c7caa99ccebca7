"""Try an installed signoff, wherever it is, on a home and a project made for it: every main command once.

    python scripts/smoke.py PROGRAM

Uses the standard library only and nothing of the repository but the example agent. Prints a line for each step; ends with 1
if one failed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import NamedTuple

AGENT = pathlib.Path(__file__).parents[1] / "examples" / "agent.py"
LIMIT_S = 120.0
PATCH = "*** Begin Patch\n*** Add File: run.txt\n+run\n*** End Patch\n"
SCRIPT = [
    {"text": "I write it down.", "tools": [{"name": "apply_patch", "args": {"patch_text": PATCH}}]},
    {"text": "And now the rest.", "tools": [{"name": "run_terminal_cmd", "args": {"command": "cat run.txt > copy.txt"}}]},
    {"text": "Done."},
]  # fmt: skip


class Step(NamedTuple):
    """`words` after the program's name, what it has to end with, and what has to be true then of its output."""

    words: Sequence[str]
    status: int = 0
    holds: Callable[[str], bool] = lambda _: True


def steps(program: str, project: pathlib.Path) -> list[Step]:
    python = str(pathlib.Path(program).with_name("python"))
    agent = (python, str(project / "agent.py"))
    served = f"{program} acp serve -m echo/echo"
    return [
        Step(("version", "--json"), holds=lambda out: json.loads(out)["name"] == "signoff"),
        Step(("doctor", "--json"), holds=lambda out: json.loads(out)["status"] != "fail"),
        Step(("demo",)),
        Step(("why", "--", "rm", "-rf", "/"), holds=lambda out: "dangerous" in out),
        Step(("exec", "--", "sh", "-c", "echo made > exec.txt"), holds=lambda _: text(project, "exec.txt") == "made"),
        Step(("exec", "--approval", "never", "--", "rm", "-rf", "/"), 40),
        Step(("audit", "verify", "last")),
        Step(("sandbox", "--", "sh", "-c", "echo out > ../outside.txt"), 2),
        Step(("sandbox", "--", "cat", "exec.txt"), holds=lambda out: out == "made\n"),
        Step(("wrap", "--", *agent, "cat exec.txt"), holds=lambda out: out == "made\n"),
        Step(("wrap", "--audit", "auto", "--", *agent, "rm -rf /"), 1, lambda out: out.startswith("not run: rm -rf /")),
        Step(("audit", "show", "last"), holds=lambda out: "rm -rf /" in out),
        Step(("run", "-m", "scripted/script.json", "write"), holds=lambda _: text(project, "copy.txt") == "run"),
        Step(("audit", "verify", "last")),
        Step(("undo", "--list"), holds=lambda out: "apply_patch" in out),
        Step(("sessions", "list", "--json"), holds=lambda out: len(json.loads(out)["sessions"]) == 1),
        Step(("memory", "add", "How to build?", "make all")),
        Step(("memory", "search", "build"), holds=lambda out: "make all" in out),
        Step(("acp", "connect", "--cmd", served, "--prompt", "hello"), holds=lambda out: "hello" in out),
        Step(("tools", "call", "list_dir"), holds=lambda out: "exec.txt" in out),
        Step(("policy", "test")),
        Step(("config", "list", "--json"), holds=lambda out: bool(json.loads(out))),
    ]


def text(project: pathlib.Path, name: str) -> str:
    return (project / name).read_text(encoding="utf-8").strip()


def tried(program: str, home: pathlib.Path) -> list[str]:
    """What went wrong, a sentence each."""
    project = home / "project"
    project.mkdir()
    (project / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
    (project / "agent.py").write_bytes(AGENT.read_bytes())
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    failures = []
    for step in steps(program, project):
        ended = subprocess.run(
            [program, *step.words],
            cwd=project,
            env={**kept, "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        good = ended.returncode == step.status and step.holds(ended.stdout)
        print("ok  " if good else "FAIL", "signoff", *step.words, flush=True)
        if not good:
            failures.append(f"signoff {' '.join(step.words)}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return failures


def main() -> int:
    program = str(pathlib.Path(sys.argv[1]).absolute())
    with tempfile.TemporaryDirectory() as home:
        failures = tried(program, pathlib.Path(home))
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
