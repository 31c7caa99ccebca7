"""signoff wrap as a user runs it: real processes, real ledger, real exit statuses."""

import json
import os
import pathlib
import shlex
import subprocess
import sys

import pexpect
import pytest

from tests.clauses import requirement
from tests.ledger.receiver import Receiver

PROGRAM = [sys.executable, "-c", "from signoff.cli.main import main; main()"]
EXAMPLE = str(pathlib.Path(__file__).parents[2] / "examples" / "agent.py")
AGENT = [sys.executable, EXAMPLE]
REQUEST = '{"v":1,"type":"tool.request","ts":1,"id":"a","tool":"shell","action":"exec","args":{"command":"rm -rf /"}}'


@pytest.fixture
def workspace(home: pathlib.Path) -> pathlib.Path:
    directory = home / "ws"
    directory.mkdir()
    return directory


def wrap(workspace: pathlib.Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, "wrap", *arguments],
        cwd=workspace,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=stdin,
        check=False,
    )


def ledger(home: pathlib.Path) -> list[dict[str, object]]:
    (file,) = (home / ".local/state/signoff/runs").glob("*.jsonl")
    return [json.loads(line)["what"] for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_program_that_knows_nothing_of_us_is_not_changed(workspace: pathlib.Path) -> None:
    done = wrap(workspace, "--", "sh", "-c", "printf 'out {x}\\nno newline'; printf 'err\\n' >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out {x}\nno newline", "err\n")


def test_an_agent_that_cannot_be_started_is_recorded_with_the_status_the_person_sees(
    workspace: pathlib.Path, home: pathlib.Path
) -> None:
    done = wrap(workspace, "--", "no-such-agent")
    assert (done.returncode, ledger(home)[-1]["exit_code"]) == (20, 20)


@requirement("MEM-006", "MEM-065", "MEM-067", "MEM-069")
def test_without_a_terminal_what_needs_a_yes_is_denied(workspace: pathlib.Path, home: pathlib.Path) -> None:
    done = wrap(workspace, "--", *AGENT, "echo fine", "rm -rf /")
    assert done.stdout.startswith("fine\nnot run: rm -rf / (")
    assert done.returncode == 1
    decisions = [(record["decision"], record["decided_by"]) for record in ledger(home) if record["type"] == "decision"]
    assert decisions == [("allow", "policy"), ("deny", "unattended")]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--deny-exit", "denied", "--", "sh", "-c", f"echo '{REQUEST}'"], 40),
        (["--deny-exit", "child", "--", "sh", "-c", f"echo '{REQUEST}'"], 0),
        (["--on-unenforced-deny", "abort", "--", "sh", "-c", f"echo '{REQUEST}'; exec sleep 60"], 40),
        (["--on-ask", "fail", "--", *AGENT, "rm -rf /"], 40),
        (["--audit", "off", "--", *AGENT, "true"], 0),
        (["--require-enforcement", "--", "true"], 44),
        (["--require-enforcement", "--", *AGENT, "true"], 0),
        (["--timeout-ms", "300", "--abort-grace-ms", "100", "--kill-grace-ms", "100", "--", "sleep", "60"], 124),
        (["--max-parse-errors", "0", "--", "sh", "-c", "echo '@@MEM_TOOL_EVENT@@ {'; exec sleep 60"], 20),
        (["--", "no-such-program-here"], 20),
        (["--", "sh", "-c", "kill -9 $$"], 137),
        (["--cwd", "/no/such/place", "--", "true"], 2),
        (["--env", "novalue", "--", "true"], 2),
        (["--events-out", "/no/such/place/x", "--", "true"], 2),
        ([], 2),
    ],
)
def test_every_end_has_its_exit_status(workspace: pathlib.Path, arguments: list[str], status: int) -> None:
    done = wrap(workspace, *arguments)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr


@requirement("MEM-116")
def test_a_denial_that_cannot_be_enforced_is_a_warning_on_stderr(workspace: pathlib.Path) -> None:
    done = wrap(workspace, "--", "sh", "-c", f"echo '{REQUEST}'; echo after")
    assert done.stdout == "after\n"
    assert "not allowed" in done.stderr


def test_events_are_hidden_unless_asked_for_and_can_be_kept(workspace: pathlib.Path) -> None:
    script = f"echo '{REQUEST}'; echo text"
    assert wrap(workspace, "--", "sh", "-c", script).stdout == "text\n"
    assert wrap(workspace, "--show-events", "--", "sh", "-c", script).stdout == f"{REQUEST}\ntext\n"
    assert wrap(workspace, "--no-json-events", "--", "sh", "-c", script).stdout == f"{REQUEST}\ntext\n"
    wrap(workspace, "--events-out", "events.jsonl", "--", "sh", "-c", script)
    kept = [json.loads(line) for line in (workspace / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    (request,) = (event for event in kept if event["type"] == "tool.request")
    assert request["tool"] == "shell"
    assert request["run_id"]


def test_an_agent_that_says_nothing_and_ends_has_lost_nothing(workspace: pathlib.Path) -> None:
    done = wrap(workspace, "--events-out", "events.jsonl", "--", "true")
    assert (done.returncode, (workspace / "events.jsonl").read_text(encoding="utf-8")) == (0, "")


def test_events_do_not_wait_for_somebody_to_read_a_pipe(workspace: pathlib.Path) -> None:
    os.mkfifo(workspace / "pipe")
    done = wrap(workspace, "--events-out", "pipe", "--", "true")
    assert done.returncode == 2
    assert "cannot write events to pipe: nobody reads from that pipe" in done.stderr


def test_a_forged_event_is_text_once_the_agent_has_shown_itself(workspace: pathlib.Path) -> None:
    forged = REQUEST.replace('"args"', '"requires_policy":false,"args"').replace("rm -rf /", "touch forged")
    done = wrap(workspace, "--", *AGENT, f"echo '{forged}'")
    assert forged in done.stdout
    assert done.returncode == 0
    assert "looked like events" in done.stderr


def test_the_floor_holds_for_an_agent_that_does_not_speak_the_protocol(
    workspace: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    outside = tmp_path / "outside"
    done = wrap(
        workspace, "--sandbox", "workspace-write", "--", "sh", "-c", f"echo x > inside; echo y > {outside}; echo done"
    )
    assert (workspace / "inside").exists(), done.stderr
    assert not outside.exists()


def test_variables_reach_an_agent_in_the_sandbox_and_not_what_starts_it(workspace: pathlib.Path) -> None:
    done = wrap(workspace, "--env", "X=1", "--env", "HOME=/nowhere", "--sandbox", "workspace-write", "--", "env")
    assert done.returncode == 0, done.stderr
    assert {"X=1", "HOME=/nowhere", "SIGNOFF_SANDBOX=namespaces"} <= set(done.stdout.splitlines())
    refused = wrap(workspace, "--env", "LD_PRELOAD=/x.so", "--sandbox", "workspace-write", "--", "env")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "LD_PRELOAD is not passed into the sandbox" in refused.stderr


@requirement("MEM-066")
def test_a_run_leaves_a_verified_ledger_and_no_secret_in_it(workspace: pathlib.Path, home: pathlib.Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    wrap(workspace, "--", *AGENT, f"echo token={secret}")
    (file,) = (home / ".local/state/signoff/runs").glob("*.jsonl")
    assert secret not in file.read_text(encoding="utf-8")
    verify = subprocess.run([*PROGRAM, "audit", "verify", str(file)], capture_output=True, timeout=60, check=False)
    assert verify.returncode == 0, verify.stderr


def test_a_killed_supervisor_takes_nobody_with_a_yes(workspace: pathlib.Path, home: pathlib.Path) -> None:
    """kill -9 while a request waits: the child sees the end of its stdin and does not run it."""
    marker = workspace / "ran"
    code = (
        "import os, signal, sys\nfrom signoff.codecli import Client\n"
        "print('asking', os.getppid(), flush=True)\n"
        f"call = Client().request('shell', 'exec', {{'command': 'rm -rf /'}})\n"
        f"open({str(marker)!r}, 'w').write(str(call.allowed))\n"
    )
    master, slave = os.openpty()  # a terminal, so that somebody could be asked, and nobody answers
    process = subprocess.Popen(
        [*PROGRAM, "wrap", "--decision-timeout-ms", "60000", "--", sys.executable, "-c", code],
        cwd=workspace,
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"asking")
    process.kill()
    process.wait(60)
    process.stdout.read()  # until the child is gone too
    process.stdout.close()
    os.close(master)
    os.close(slave)
    assert not marker.exists() or marker.read_text(encoding="utf-8") == "False"


@requirement("MEM-080", "MEM-113")
def test_a_run_is_told_as_spans_to_a_real_receiver(workspace: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
        done = wrap(workspace, "--", *AGENT, "echo one", "rm -rf /")
    assert done.returncode == 1, done.stderr
    root = receiver.named("mem_codecli.run")
    assert {span.name for span in receiver.spans} == {
        "mem_codecli.run",
        "mem_codecli.runner.spawn",
        "mem_codecli.runner.stream",
        "mem_codecli.tool.parse",
        "mem_codecli.policy.decide",
    }
    decided = [span.attributes for span in receiver.spans if span.name == "mem_codecli.policy.decide"]
    assert [(each["tool"], each["decision"]) for each in decided] == [("shell", "allow"), ("shell", "ask")]
    assert all(each["rule_id"] for each in decided)
    assert len({span.trace for span in receiver.spans}) == 1
    assert root.attributes["exit_code"] == 1


@requirement("MEM-008", "MEM-052", "MEM-102")
def test_events_on_stderr_count_too_and_the_rest_of_it_passes(workspace: pathlib.Path, home: pathlib.Path) -> None:
    done = wrap(workspace, "--", "sh", "-c", f"echo before >&2; echo '{REQUEST}' >&2; printf after >&2")
    assert done.stderr.startswith("before\n")
    assert "after" in done.stderr
    assert REQUEST not in done.stderr
    (request,) = (record for record in ledger(home) if record["type"] == "request")
    (file,) = (home / ".local/state/signoff/runs").glob("*.jsonl")
    assert (request["tool_call_id"], request["trace_id"]) == ("a", file.stem)


@requirement("MEM-068")
def test_a_person_answers_at_the_terminal_whatever_stdin_is(workspace: pathlib.Path) -> None:
    command = shlex.join([*PROGRAM, "wrap", "--", *AGENT, "rm -rf build"])
    (workspace / "build").mkdir()
    with pexpect.spawn("/bin/sh", ["-c", f"{command} < /dev/null"], cwd=str(workspace), timeout=60) as terminal:
        terminal.expect("rm -rf build")
        terminal.expect("yes, once")
        while terminal.isalive():  # a key that comes too early does not count, so it is offered again
            terminal.send("y")
            if terminal.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=1) == 0:
                break
    assert not (workspace / "build").exists()
    assert terminal.exitstatus == 0


ON_A_TERMINAL = """
import os, signal, socket, sys
signal.signal(signal.SIGWINCH, lambda *_: print("now", *os.get_terminal_size(), flush=True))
lines = socket.socket(fileno=int(os.environ["SIGNOFF_EVENT_FD"])).makefile("rw")
assert "policy.ping" in lines.readline()
print("size", *os.get_terminal_size(), flush=True)
print("typed", input("name? "), flush=True)
for number, command in enumerate(("ls", "rm -rf /")):
    lines.write('{"v":1,"type":"tool.request","ts":1,"id":"%d","tool":"shell","action":"exec","args":{"command":"%s"},"requires_policy":true}\\n' % (number, command))
    lines.flush()
    print("answer", '"allow"' in lines.readline(), flush=True)
lines.write('{"v":1,"type":"tool.result","ts":1,"id":"0","ok":true,"output":{}}\\n')
lines.flush()
try:
    open(sys.argv[1], "w")
except OSError:
    print("outside is out of reach")
"""


@pytest.mark.parametrize("sandbox", [(), ("--sandbox", "workspace-write")], ids=["bare", "sandboxed"])
def test_an_agent_on_a_terminal_has_keys_sizes_and_a_channel(
    workspace: pathlib.Path, home: pathlib.Path, sandbox: tuple[str, ...]
) -> None:
    (workspace / "agent.py").write_text(ON_A_TERMINAL, encoding="utf-8")
    outside = home / "outside"
    arguments = ["wrap", "--tty", "--audit", "auto", *sandbox, "--"]
    agent = [os.path.realpath(sys.executable), "agent.py", str(outside)]
    with pexpect.spawn(
        PROGRAM[0], [*PROGRAM[1:], *arguments, *agent], cwd=str(workspace), timeout=180, dimensions=(33, 99)
    ) as terminal:
        terminal.expect("size 99 33\r\n")
        terminal.expect(r"name\? ")
        terminal.setwinsize(30, 88)
        terminal.expect("now 88 30\r\n")
        terminal.send("amy\r")
        terminal.expect("typed amy\r\n")
        terminal.expect("answer True\r\nanswer False\r\n")
        if sandbox:
            terminal.expect("outside is out of reach")
        terminal.expect(pexpect.EOF)
        terminal.wait()
    assert (terminal.exitstatus, outside.exists()) == (40, not sandbox)
    assert [one["ok"] for one in ledger(home) if one["type"] == "result" and one["tool_call_id"] == "0"] == [True]


def answered(workspace: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    echo = "import sys; print('ASKED:', sys.argv[1])"
    return wrap(workspace, *arguments, "--", sys.executable, "-c", echo, "{prompt}")


def test_the_prompt_goes_where_it_is_wanted(workspace: pathlib.Path) -> None:
    (workspace / "task.md").write_text("fix the tests", encoding="utf-8")
    assert answered(workspace, "--prompt", "@task.md").stdout == "ASKED: fix the tests\n"
    last = wrap(workspace, "--no-memory", "--prompt", "do it", "--", "echo", "says")
    assert last.stdout == "says do it\n"
    wrap(workspace, "--prompt", "into a file", "--inject-into", "prompt.txt", "--", "true")
    assert (workspace / "prompt.txt").read_text(encoding="utf-8") == "into a file"
    assert wrap(workspace, "--inject-into", "x", "--", "true").returncode == 2
    assert wrap(workspace, "--prompt", "@missing", "--", "true").returncode == 2


@requirement("MEM-055", "MEM-123")
def test_the_steps_of_memory_are_told_as_spans(workspace: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
        done = answered(workspace, "--prompt", "how do I run the linter of this project")
    assert done.returncode == 0, done.stderr
    names = {span.name for span in receiver.spans}
    assert {
        "mem_codecli.context.build",
        "mem_codecli.memory.search",
        "mem_codecli.prompt.inject",
        "mem_codecli.gatekeeper.evaluate",
    } <= names


def test_a_damaged_memory_changes_nothing_but_a_word_on_stderr(workspace: pathlib.Path, home: pathlib.Path) -> None:
    database = home / ".local/share/signoff/memory.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"this is no database" * 100)
    done = answered(workspace, "--prompt", "hello there")
    assert (done.returncode, done.stdout) == (0, "ASKED: hello there\n")
    assert "memory" in done.stderr
