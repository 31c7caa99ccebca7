"""Commands in front and in the background, in a real sandbox."""

import asyncio
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from signoff.domain.call import ToolCall, ToolResult
from signoff.domain.event import CallProgress
from signoff.domain.settings import SandboxSettings
from signoff.sandbox.profile import resolve
from signoff.sandbox.sessions import Sessions
from signoff.tools.jobs import job_tools
from signoff.tools.plain_output import plain
from signoff.tools.run_terminal_cmd import RunArguments, RunTerminalCommand
from signoff.tools.tool import Place
from tests.clauses import requirement
from tests.tools.workbench import Workbench


@pytest.fixture
def bench(tmp_path: pathlib.Path) -> Iterator[Workbench]:
    (tmp_path / "space").mkdir()
    with Sessions(resolve(SandboxSettings(), str(tmp_path / "space")), dict(os.environ)) as sandboxes:
        yield Workbench(tmp_path, sandboxes=sandboxes, tools=job_tools(sandboxes.jobs))


def together(bench: Workbench, *calls: tuple[str, dict[str, Any]]) -> list[ToolResult]:
    """Several calls in one run, one after the other."""

    async def go() -> list[ToolResult]:
        return [
            await bench.gate.call(ToolCall(f"c{number}", name, "", args, "turn-1", 0))
            for number, (name, args) in enumerate(calls)
        ]

    return asyncio.run(go())


@requirement("CLU-038", "CLU-029", "CLU-030", "CLU-006")
def test_a_command_goes_on_in_the_background_is_read_and_stopped(bench: Workbench) -> None:
    started, read, listed, stopped, after, again = together(
        bench,
        ("run_terminal_cmd", {"command": "printf '\\033[31mhi\\033[0m\\n'; exec sleep 600", "is_background": True}),
        ("read_job_output", {"job_id": "job-1", "wait_ms": 20_000}),
        ("list_jobs", {}),
        ("stop_job", {"job_id": "job-1"}),
        ("read_job_output", {"job_id": "job-1", "offset": 3}),
        ("stop_job", {"job_id": "job-9"}),
    )
    assert started.payload is not None
    assert (started.payload["job_id"], started.payload["exit_code"]) == ("job-1", None)
    assert started.payload["pid"] > 0
    assert started.artifacts.commands_run == ("printf '\\033[31mhi\\033[0m\\n'; exec sleep 600",)
    assert read.payload is not None
    assert (read.payload["output"], read.payload["job"]["state"]) == ("hi\n", "running")
    assert listed.payload is not None
    assert [job["job_id"] for job in listed.payload["jobs"]] == ["job-1"]
    assert stopped.payload is not None
    assert stopped.payload["state"] == "stopped"
    assert after.payload is not None
    assert (after.payload["missed"], after.payload["next_offset"]) == (0, 12)
    assert again.error is not None
    assert again.error.code == "tool.invalid_arguments"


@requirement("CLU-025")
def test_output_comes_while_it_runs_and_is_cleaned_for_the_model_only(bench: Workbench) -> None:
    (bench.workspace / "d").mkdir()
    (result,) = together(
        bench, ("run_terminal_cmd", {"command": "printf '10%%\\r\\033[1m100%%\\033[0m\\n'; pwd; exit 3", "cwd": "d"})
    )
    assert result.ok
    assert result.payload is not None
    assert (result.payload["stdout"], result.payload["exit_code"]) == (f"100%\n{bench.workspace}/d\n", 3)
    assert "\x1b[1m" in (result.display or "")
    assert "".join(event.text for event in bench.events if isinstance(event, CallProgress)) == result.display


def test_a_command_that_takes_too_long_is_stopped(bench: Workbench) -> None:
    (late, wrong) = together(
        bench,
        ("run_terminal_cmd", {"command": "sleep 600", "timeout_ms": 200}),
        ("run_terminal_cmd", {"command": "true", "timeout_ms": 0}),
    )
    assert late.error is not None
    assert late.error.code == "tool.timeout"
    assert wrong.error is not None
    assert "$.timeout_ms" in wrong.error.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("1%\r50%\r100%\ndone", "100%\ndone"),
        ("100%\r", "100%"),
        ("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        ("ab\x08c\x08\x08", ""),
        ("\x1b(Bx\x1b=y\x07\x00", "xy"),
        ("é\x1b[K日本", "é日本"),
    ],
)
def test_what_a_terminal_would_have_left(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_a_command_on_a_terminal_of_its_own(bench: Workbench) -> None:
    """It sees a terminal, its colours are cleaned for the model and kept for the person, and nobody types."""
    script = "test -t 0 && test -t 1 && test -t 2 && echo yes; stty size; cat"
    script += "; printf '\\033[32mgreen\\033[0m 1%%\\r2%%\\n' >/dev/tty; exit 7"
    (result,) = together(bench, ("run_terminal_cmd", {"command": script, "tty": True, "timeout_ms": 60_000}))

    assert result.payload is not None
    assert (result.payload["exit_code"], result.payload["stdout"]) == (7, "yes\n24 120\n2%\n")
    assert result.display is not None and "\x1b[32mgreen" in result.display
    assert result.artifacts.commands_run == (script,)
    said = "".join(event.text for event in bench.events if isinstance(event, CallProgress))
    assert "\x1b[32mgreen" in said


def test_what_ends_a_command_on_a_terminal_is_seen(bench: Workbench) -> None:
    killed, late = together(
        bench,
        ("run_terminal_cmd", {"command": "kill -9 $$", "tty": True}),
        ("run_terminal_cmd", {"command": "sleep 600", "tty": True, "timeout_ms": 1_000}),
    )

    assert killed.payload is not None and killed.payload["exit_code"] == 137
    assert late.error is not None and late.error.code == "tool.timeout"


@requirement("APR-044")
def test_a_yes_for_a_command_is_not_one_for_it_on_a_terminal() -> None:
    place = Place("/w", "/h")
    keys = {
        tty: RunTerminalCommand().approval_keys(RunArguments("make", cwd="d", tty=tty, escalate=True), place)
        for tty in (False, True)
    }

    assert msgspec.to_builtins(keys) == {
        False: ({"command": ("bash", "-c", "make"), "cwd": "/w/d", "sandbox_permissions": "require_escalated"},),
        True: (
            {"command": ("bash", "-c", "make"), "cwd": "/w/d", "tty": True, "sandbox_permissions": "require_escalated"},
        ),
    }
