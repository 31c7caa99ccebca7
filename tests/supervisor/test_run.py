"""A run from start to end with real children: how it ends, with which status, and what the ledger says."""

import os
import pathlib
import signal
import sys
import threading
from typing import Any

import pytest

from signoff.domain.settings import DenyExit
from signoff.domain.verdict import Decision
from signoff.ledger import records
from signoff.supervisor.arbiter import Arbiter, OnUnenforcedDeny, Stop, Terms
from signoff.supervisor.ends import ended, signalled, stopped
from signoff.supervisor.hang import Patience
from signoff.supervisor.pending import Tally
from signoff.supervisor.run import Demands, Limits, Watch, supervise
from signoff.supervisor.session import Output, Session, Spec
from tests.clauses import requirement
from tests.gate.scene import HOME, Scene, rule

EXAMPLE = str(pathlib.Path(__file__).parents[2] / "examples" / "agent.py")
QUICK = Limits(abort_grace=0.2, kill_grace=0.2, handshake=120.0)


class Run:
    def __init__(
        self, directory: pathlib.Path, argv: list[str], scene: dict[str, Any] | None = None, **terms: Any
    ) -> None:
        self.scene = Scene(directory, **(scene or {"rules": [rule(Decision.DENY, "make", "deploy")]}))
        self.watch = Watch()
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.arbiter = Arbiter(
            self.scene.gate,
            self.scene.ledger,
            Terms(run_id="r-1", cwd=str(directory), home=HOME, **terms),
            warn=self.warnings.append,
            stop=self.watch.request,
        )
        self.out = directory / "out"
        self.sink = os.open(self.out, os.O_WRONLY | os.O_CREAT)
        environ = {"PATH": os.environ["PATH"]}
        spec = Spec((sys.executable, *argv), cwd=str(directory), environ=environ, run_id="r-1")
        self.session = Session(spec, Output(self.sink, self.sink), self.arbiter.hear)

    def end(self, limits: Limits = QUICK, **demands: Any) -> int:
        try:
            return supervise(
                self.session, self.arbiter, self.watch, limits, Demands(**demands), self.notes.append
            ).exit_code
        finally:
            self.session.close()
            self.watch.close()
            os.close(self.sink)

    def history(self, kind: type) -> list[Any]:
        return [record for record in self.scene.history() if isinstance(record, kind)]


@requirement("MEM-010", "MEM-123")
def test_an_agent_that_asks_is_held_and_a_denial_shows_in_the_status(tmp_path: pathlib.Path) -> None:
    run = Run(tmp_path, [EXAMPLE, "echo one", "make deploy", "echo two"])
    assert run.end() == 1
    assert run.out.read_bytes().startswith(b"one\nnot run: make deploy (")
    assert run.out.read_bytes().endswith(b"two\n")
    assert [str(record.decision) for record in run.history(records.Decision)] == ["allow", "deny", "allow"]


def test_a_success_in_which_something_was_denied_is_not_silent(tmp_path: pathlib.Path) -> None:
    code = (
        f"import runpy, sys; sys.argv = ['x', 'make deploy']; m = runpy.run_path({EXAMPLE!r}); m['main'](sys.argv[1:])"
    )
    for name, demands, status in [("a", {}, 40), ("b", {"deny_exit": DenyExit.CHILD}, 0)]:
        (tmp_path / name).mkdir()
        assert Run(tmp_path / name, ["-c", code]).end(**demands) == status


def test_a_child_that_dies_with_a_request_open_leaves_a_result(tmp_path: pathlib.Path) -> None:
    line = '{"v":1,"type":"tool.request","ts":1,"id":"a","tool":"shell","action":"exec","args":{"command":"ls"},"requires_policy":true}'
    run = Run(tmp_path, ["-c", f"import os; print({line!r}, flush=True); os.kill(os.getpid(), 9)"])
    assert run.end() == 137
    results = [(record.ok, record.error.code) for record in run.history(records.Result)]
    assert results in ([(False, "interrupted")], [(False, "control.stdin_broken")])  # before or after our answer


@requirement("MEM-046")
def test_a_child_that_closes_its_stdin_while_it_should_wait_is_ended(tmp_path: pathlib.Path) -> None:
    line = '{"v":1,"type":"tool.request","ts":1,"id":"a","tool":"shell","action":"exec","args":{"command":"ls"},"requires_policy":true}'
    code = f"import os, signal; os.close(0); print({line!r}, flush=True); signal.pause()"
    run = Run(tmp_path, ["-c", code])
    assert run.end() == 20


def test_a_denied_request_of_a_child_that_does_not_wait_can_end_it(tmp_path: pathlib.Path) -> None:
    line = (
        '{"v":1,"type":"tool.request","ts":1,"id":"a","tool":"shell","action":"exec","args":{"command":"make deploy"}}'
    )
    code = f"import signal; print({line!r}, flush=True); signal.pause()"
    run = Run(tmp_path, ["-c", code], on_unenforced_deny=OnUnenforcedDeny.ABORT)
    assert run.end() == 40
    assert len(run.warnings) == 1


@pytest.mark.parametrize(
    ("code", "limits"),
    [
        ("import signal; signal.pause()", Limits(handshake=0.1, abort_grace=0.1, kill_grace=0.1)),
        ("pass", QUICK),
        (
            'print(\'{"v":1,"type":"tool.request","ts":1,"id":"a","tool":"x","action":"read","args":{}}\', flush=True); import signal; signal.pause()',
            QUICK,
        ),
    ],
)
def test_enforcement_can_be_demanded(tmp_path: pathlib.Path, code: str, limits: Limits) -> None:
    assert Run(tmp_path, ["-c", code]).end(limits, require_enforcement=True) == 44


def test_enforcement_is_met_by_a_child_that_waits(tmp_path: pathlib.Path) -> None:
    assert Run(tmp_path, [EXAMPLE, "true"]).end(require_enforcement=True) == 0


def test_a_time_limit_ends_the_run(tmp_path: pathlib.Path) -> None:
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"
    assert Run(tmp_path, ["-c", code]).end(Limits(total=0.3, abort_grace=0.1, kill_grace=0.1)) == 124


def test_a_child_without_streams_is_hung(tmp_path: pathlib.Path) -> None:
    code = "import os, signal; os.close(1); os.close(2); signal.pause()"
    limits = Limits(abort_grace=0.1, kill_grace=0.1, patience=Patience(silence=None, after_streams=0.1))
    run = Run(tmp_path, ["-c", code])
    assert run.end(limits) == 124
    assert run.notes[0] == "hang.suspected"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_us_ends_the_child_and_closes_the_books(tmp_path: pathlib.Path, number: int) -> None:
    run = Run(tmp_path, ["-c", "import signal; print('up', flush=True); signal.pause()"])
    ours = signal.getsignal(number)

    def strike() -> None:
        while signal.getsignal(number) is ours:  # until the run answers for it: before that, it would end the tests
            threading.Event().wait(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=strike, daemon=True).start()
    assert run.end() == 128 + number
    assert run.session.child.ended == -1


def test_ctrl_c_once_is_the_childs_and_twice_is_ours(tmp_path: pathlib.Path) -> None:
    polite = "import signal, sys; signal.signal(2, lambda *_: sys.exit(5)); print('up', flush=True); signal.pause()"
    run = Run(tmp_path, ["-c", polite])
    run.watch.received(signal.SIGINT)
    assert run.end() == 130
    deaf = "import signal; signal.signal(2, signal.SIG_IGN); print('up', flush=True)\nwhile True: signal.pause()"
    (tmp_path / "b").mkdir()
    run = Run(tmp_path / "b", ["-c", deaf])
    run.watch.received(signal.SIGINT)
    run.watch.received(signal.SIGINT)
    assert run.end() == 130


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (ended(0, Tally(), DenyExit.DENIED), 0),
        (ended(7, Tally(requests=1, denied=1), DenyExit.DENIED), 7),
        (ended(0, Tally(requests=2, denied=1), DenyExit.DENIED), 40),
        (ended(0, Tally(requests=2, denied=2, timed_out=2), DenyExit.DENIED), 41),
        (ended(0, Tally(requests=2, denied=1), DenyExit.CHILD), 0),
        (ended(137, Tally(), DenyExit.DENIED), 137),
        (stopped(Stop("x", "fatal_error", "control.stdin_broken")), 20),
        (stopped(Stop("x", "fatal_error", "ledger.unwritable")), 5),
        (stopped(Stop("x", "fatal_error", "parse.invalid_json")), 20),
        (stopped(Stop("x", "user_cancel", "review.aborted")), 40),
        (signalled(signal.SIGINT), 130),
    ],
)
def test_every_end_has_its_status(ending: Any, code: int) -> None:
    assert ending.exit_code == code
