"""signoff run against real model servers, each API in its streaming form, and against everything that goes wrong there."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from signoff.providers.script import Call, Turn
from tests.cli.program import PROGRAM, Ended, signoff
from tests.fakes import model_server
from tests.fakes.model_server import Handler, ModelServer, Reply, in_turn, played

KEY = "sk-proj-thisisthesecretkeyofthetest0123456789"
SPOKEN = {"openai": model_server.chat, "openai-responses": model_server.responses, "anthropic": model_server.messages}
each = pytest.mark.parametrize("provider", SPOKEN)
DONE = Turn(text="All done.")


def command(text: str) -> Turn:
    return Turn(text="I try.", tools=(Call("run_terminal_cmd", {"command": text}),))


@pytest.fixture
def workspace(home: Path) -> Path:
    directory = home / "shop"
    directory.mkdir()
    return directory


def variables(server: ModelServer, **more: str) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": server.openai,
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": KEY,
        "SIGNOFF_MODEL_ATTEMPTS": "2",
        **more,
    }


def run(workspace: Path, provider: str, handler: Handler, *words: str, **environ: str) -> tuple[Ended, ModelServer]:
    with ModelServer(handler) as server:
        ended = signoff(
            "run", "-m", f"{provider}/small", *words, "do it", cwd=workspace, **variables(server, **environ)
        )
    assert "Traceback" not in ended.err
    assert KEY not in ended.out + ended.err
    return ended, server


def told(server: ModelServer, number: int) -> str:
    """All that was sent with one of the requests."""
    return json.dumps(server.asked[number].json)


@each
def test_a_turn_with_a_call_in_the_sandbox(provider: str, workspace: Path) -> None:
    ended, server = run(workspace, provider, played([command("echo hello-$((40+2)) | tee made"), DONE]))
    assert (ended.status, ended.out) == (0, "All done.\n")
    assert (workspace / "made").read_text(encoding="utf-8") == "hello-42\n"
    assert "hello-42" in told(server, 1)
    assert len(server.asked) == 2


@each
def test_a_call_that_was_cut_off_is_never_run(provider: str, workspace: Path) -> None:
    data = b"".join(SPOKEN[provider](command("touch cut-$(date +%N)")))
    end = {
        "openai": b'"finish_reason":"tool_calls"',
        "openai-responses": b'"response.completed"',
        "anthropic": b'"stop_reason"',
    }
    half = Reply((data[: data.rindex(end[provider]) - 30],), then="cut")
    ended, server = run(workspace, provider, in_turn(half, half))
    assert (ended.status, len(server.asked)) == (4, 2)
    assert list(workspace.iterdir()) == []
    ended, _ = run(workspace, provider, in_turn(half, Reply(SPOKEN[provider](DONE))))
    assert (ended.status, ended.out) == (0, "All done.\n")
    assert list(workspace.iterdir()) == []


@each
def test_broken_arguments_are_told_to_the_model(provider: str, workspace: Path) -> None:
    deep = '{"command": ' + "[" * 5_000
    for arguments in ('{"command": oops', "[]", "7", "", deep, '{"command": "\\ud800"}'):
        broken = Turn(tools=(Call("run_terminal_cmd", arguments),))
        ended, server = run(workspace, provider, played([broken, DONE]))
        assert (ended.status, ended.out, len(server.asked)) == (0, "All done.\n", 2), arguments[:40]


@each
def test_an_unknown_tool_is_told_to_the_model(provider: str, workspace: Path) -> None:
    ended, server = run(workspace, provider, played([Turn(tools=(Call("launch_rocket", {}),)), DONE]))
    assert (ended.status, ended.out) == (0, "All done.\n")
    assert "launch_rocket" in told(server, 1)


@each
def test_twenty_calls_in_one_answer(provider: str, workspace: Path) -> None:
    calls = tuple(Call("run_terminal_cmd", {"command": f"touch file-{number}"}) for number in range(20))
    ended, server = run(workspace, provider, played([Turn(tools=calls), DONE]))
    assert (ended.status, len(list(workspace.iterdir())), len(server.asked)) == (0, 20, 2)


FAULTS: dict[str, tuple[Reply, str]] = {
    "too many requests": (Reply(status=429, headers={"retry-after": "0"}), "asked too often"),
    "a server in trouble": (Reply((b"oops",), status=500), "in trouble"),
    "a refused key": (Reply((f'{{"error": {{"message": "bad key {KEY}"}}}}'.encode(),), status=401), "refused the key"),
    "an unknown model": (Reply((b'{"error": {"message": "no model small"}}',), status=404), "no model small"),
    "silence": (Reply((b": wait\n\n",), then="stall"), "silent"),
    "garbage": (Reply((b"data: {{{\n\n",)), "cannot be read"),
    "a login page": (Reply((b"<html>Sign in</html>",), content_type="text/html"), "Sign in"),
    "an early end": (Reply((b": hello\n\n",)), "cut off"),
    "a cut": (Reply((b": hello\n\n",), then="cut"), "cut off"),
    "too long a conversation": (Reply((b'{"error": {"message": "prompt is too long"}}',), status=400), "longer than"),
}


@each
@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_fails_is_exit_status_4_and_a_sentence(fault: str, provider: str, workspace: Path) -> None:
    reply, says = FAULTS[fault]
    ended, _ = run(workspace, provider, in_turn(reply), SIGNOFF_MODEL_TIMEOUT_MS="200")
    assert (ended.status, ended.out) == (4, ""), ended.err
    assert says in ended.err


@each
def test_a_storm_is_waited_out_and_said(provider: str, workspace: Path) -> None:
    storm = Reply(status=429, headers={"retry-after-ms": "1"})
    handler = in_turn(*[storm] * 4, Reply(SPOKEN[provider](DONE)))
    ended, server = run(workspace, provider, handler, SIGNOFF_MODEL_ATTEMPTS="5")
    assert (ended.status, ended.out, len(server.asked)) == (0, "All done.\n", 5)


@pytest.mark.parametrize(
    ("model", "environ", "status", "says"),
    [
        ("nobody/x", {}, 2, "there is no provider 'nobody'"),
        ("gpt", {}, 2, "names no model"),
        ("anthropic/x", {}, 3, "ANTHROPIC_API_KEY"),
        ("openai/x", {"OPENAI_API_KEY": "two words"}, 3, "characters that no key has"),
        ("openai/x", {"OPENAI_BASE_URL": "nonsense"}, 3, "no http address"),
        ("ollama/x", {"OLLAMA_HOST": "127.0.0.1:9"}, 4, "cannot be reached"),
        ("scripted/nowhere", {}, 3, "cannot be read"),
    ],
)
def test_a_model_that_cannot_be_asked(
    workspace: Path, model: str, environ: dict[str, str], status: int, says: str
) -> None:
    ended = signoff("run", "-m", model, "do it", cwd=workspace, **environ)
    assert (ended.status, ended.out) == (status, ""), ended.err
    assert says in ended.err


def test_the_key_is_nowhere_on_disk_and_in_no_command(workspace: Path, home: Path) -> None:
    turns = [command("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; true"), DONE]
    recording = home / "recording.jsonl"
    ended, server = run(workspace, "openai", played(turns), "--json", SIGNOFF_RECORD=str(recording))
    assert ended.status == 0
    assert KEY not in told(server, 1)
    assert recording.exists()
    for path in home.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


@each
def test_a_recorded_run_plays_again_without_a_server(provider: str, workspace: Path, home: Path) -> None:
    recording = home / "recording.jsonl"
    turns = [command("touch made; echo one"), DONE]
    assert run(workspace, provider, played(turns), SIGNOFF_RECORD=str(recording))[0].out == "All done.\n"
    (workspace / "made").unlink()
    ended = signoff("run", "-m", f"replay/{recording}", "do it", cwd=workspace)
    assert (ended.status, ended.out, (workspace / "made").exists()) == (0, "All done.\n", True)


def test_an_interrupt_while_the_model_is_silent_ends_with_130(workspace: Path) -> None:
    stalled = Reply(model_server.chat(DONE)[:2], then="stall")
    with ModelServer(in_turn(stalled)) as server:
        child = subprocess.Popen(
            [PROGRAM, "run", "-m", "openai/small", "--output-format", "stream-json", "do it"],
            cwd=workspace, env={**os.environ, **variables(server)}, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert child.stdout is not None
        lines = []
        for line in child.stdout:
            lines.append(json.loads(line))
            if lines[-1]["type"].startswith("text"):
                child.send_signal(signal.SIGINT)
        child.stdout.close()
        assert child.wait(30) == 130
    assert (lines[-1]["type"], lines[-1]["status"]) == ("result", "cancelled")


@each
def test_an_answer_in_a_shape(provider: str, workspace: Path) -> None:
    (workspace / "shape.json").write_text('{"type": "object", "required": ["n"]}', encoding="utf-8")
    turns = [Turn(text="no"), Turn(text='{"n": 1}')]
    ended, server = run(workspace, provider, played(turns), "--output-schema", "shape.json")
    assert (ended.status, json.loads(ended.out), len(server.asked)) == (0, {"n": 1}, 2)
    assert "required" in told(server, 0)


@each
def test_a_conversation_that_is_too_long_is_made_shorter(provider: str, workspace: Path) -> None:
    too_long = Reply((b'{"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}',), status=400)
    spoken = SPOKEN[provider]
    replies = (
        Reply(spoken(command("seq 1 2000"))),
        too_long,
        Reply(spoken(Turn(text="Numbers."))),
        Reply(spoken(DONE)),
    )
    ended, server = run(workspace, provider, in_turn(*replies))
    assert (ended.status, ended.out) == (0, "All done.\n")
    assert len(server.asked[3].body) < len(server.asked[1].body)


TYPED: dict[int, str] = {
    5: 'XDG_STATE_HOME=/dev/null "$S" run -m echo/echo hello',
    41: '"$PYTHON" -c "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))" '
    '"$S" -c policy.decision_timeout_ms=500 run -m scripted/asks hello',
    141: 'mkfifo pipe; (: < pipe) & exec 4> pipe; wait; "$S" run -m echo/echo hello >&4',
}


@pytest.mark.parametrize("status", TYPED)
def test_a_run_ends_with_the_status_of_what_stopped_it(status: int, workspace: Path) -> None:
    turns = (Turn(tools=(Call("run_terminal_cmd", {"command": "rm -rf build"}),)), DONE)
    (workspace / "asks").write_bytes(b"\n".join(map(msgspec.json.encode, turns)))
    ended = subprocess.run(
        ["/bin/sh", "-c", f"{TYPED[status]}\nexit $?"],
        env={**os.environ, "S": PROGRAM, "PYTHON": sys.executable},
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        start_new_session=True,
        check=False,
    )
    assert (ended.returncode, b"Traceback" in ended.stdout + ended.stderr) == (status, False), ended
