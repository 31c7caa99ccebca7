"""Histories with a real sandbox: what commands write arrives whole, and nothing outlives its call, its session or a stop."""

import asyncio
import os
import pathlib
import secrets

import pytest

from signoff.approvals.rulebook import SessionRules
from signoff.domain.call import ToolCall
from signoff.domain.context import Context
from signoff.domain.errors import NotEnforceable
from signoff.domain.event import CallProgress
from signoff.domain.settings import ApprovalPolicy
from signoff.sandbox.outcome import Allowance, Request
from signoff.sandbox.profile import Limits, Profile
from signoff.sandbox.sessions import Sessions, allowed
from signoff.tools.tool import Place
from tests.faults.history import History, Stream, violations
from tests.gate.scene import MemoryFiles, Scene

KEPT = 200_000  # bytes of each stream


class Real:
    """A scene whose commands really run."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.mark = secrets.token_hex(8)  # in the command line of everything started, to be found again
        self.workspace = directory / self.mark
        self.workspace.mkdir()
        profile = Profile(workspace=str(self.workspace), limits=Limits(max_output_bytes=KEPT))
        self.sandboxes = Sessions(profile, os.environ)
        place = Place(workspace=str(self.workspace), home=str(directory))
        context = Context(workspace=place.workspace, home=place.home, approval=ApprovalPolicy.NEVER)
        self.scene = Scene(
            directory / "runs",
            approval=ApprovalPolicy.NEVER,
            rulebook=SessionRules(MemoryFiles(), context),
            sandboxes=self.sandboxes,
            place=place,
        )

    def script(self, text: str) -> ToolCall:
        """A call of a program of ours, so that its command line carries the mark."""
        (self.workspace / "job.py").write_text(text, encoding="utf-8")
        return self.scene.command(f"python3 job.py {self.mark}")

    def survivors(self) -> tuple[int, ...]:
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return tuple(found)

    def history(self, *streams: Stream) -> History:
        self.scene.ledger.close()
        ledger = self.scene.path.read_bytes()
        return History(ledger, len(ledger), streams=streams, survivors=self.survivors())


@pytest.fixture
def real(tmp_path: pathlib.Path) -> Real:
    return Real(tmp_path)


WRITES = """
import sys
for number in range({lines}):
    sys.stdout.write(f"{{number:06}} " + "x" * 90 + chr(10))
    if number % 3 == 0:
        sys.stderr.write(f"{{number:06}} err" + chr(10))
"""


@pytest.mark.parametrize("lines", [1, 1_000, 30_000])
def test_output_arrives_in_order_and_whole_or_says_what_is_missing(lines: int, real: Real) -> None:
    with real.sandboxes:
        result = asyncio.run(real.scene.gate.call(real.script(WRITES.format(lines=lines))))
    assert result.payload is not None
    written = {
        "stdout": "".join(f"{n:06} {'x' * 90}\n" for n in range(lines)).encode(),
        "stderr": "".join(f"{n:06} err\n" for n in range(0, lines, 3)).encode(),
    }
    streams = []
    for name, data in written.items():
        received = result.payload[name].encode()
        omitted = max(len(data) - KEPT, 0)
        if omitted:
            note, received = received.split(b"\n", 1)
            assert note == b"[%d bytes omitted]" % omitted
        streams.append(Stream(data, received, omitted))
    assert result.payload["truncated"] is (lines == 30_000)
    assert violations(real.history(*streams)) == []


LEAVES_OTHERS = """
import os, subprocess, sys
for flags in ({}, {"start_new_session": True}):
    subprocess.Popen([sys.executable, "-c", "import signal,time; signal.signal(15, 1); time.sleep(300)", sys.argv[1]], **flags)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", sys.argv[1]])
    os._exit(0)
print("left")
"""


def test_what_a_command_leaves_running_does_not_outlive_the_call(real: Real) -> None:
    with real.sandboxes:
        result = asyncio.run(real.scene.gate.call(real.script(LEAVES_OTHERS)))
        assert result.payload is not None
        assert result.payload["stdout"] == "left\n"
        assert real.survivors() == ()
    assert violations(real.history()) == []


def test_a_call_that_is_stopped_takes_its_processes_with_it(real: Real) -> None:
    async def stopped() -> None:
        text = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(300)\n"
        call = asyncio.ensure_future(real.scene.gate.call(real.script(text)))
        while not real.scene.shown(CallProgress):
            await asyncio.sleep(0.01)
        assert real.survivors() != ()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(call, 60)
        assert real.survivors() == ()

    with real.sandboxes:
        asyncio.run(stopped())
    assert violations(real.history()) == []


def test_what_one_call_was_cleared_for_is_not_there_for_the_next(tmp_path: pathlib.Path) -> None:
    (tmp_path / "space").mkdir()
    granted = tmp_path / "granted"
    granted.mkdir()
    profile = Profile(workspace=str(tmp_path / "space"))

    async def scene() -> list[int]:
        touch = Request(("touch", str(granted / "x")))
        with Sessions(profile, os.environ) as sandboxes:
            allowances = [Allowance(), Allowance(writable=(str(granted),)), Allowance(), Allowance(outside=True)]
            return [(await sandboxes.start(touch, allowance)).status for allowance in allowances]

    assert asyncio.run(scene()) == [1, 0, 1, 0]


def test_an_allowance_adds_exactly_what_it_says() -> None:
    profile = Profile(workspace="/w", writable=("/a",))
    assert allowed(profile, Allowance()) == profile
    widened = allowed(profile, Allowance(git_write=True, writable=("/a", "/b"), unmasked=("/w/.env",)))
    assert (widened.git_write, widened.writable, widened.unmasked) == (True, ("/a", "/b"), ("/w/.env",))
    assert allowed(profile, Allowance(outside=True)).confined is False


def test_a_sandbox_that_is_not_possible_is_a_refusal_with_its_own_code(real: Real) -> None:
    class Impossible:
        confined = True

        async def start(self, *_: object) -> object:
            raise NotEnforceable("no sandbox on this machine")

    scene = Scene(real.workspace / "runs", approval=ApprovalPolicy.NEVER, sandboxes=Impossible())  # type: ignore[arg-type]
    result = scene.run("make x")
    assert result.error is not None
    assert (result.error.code, result.ok) == ("sandbox.unavailable", False)
