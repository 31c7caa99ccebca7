"""The person's keyboard, on real pseudo-terminals."""

import os
import pathlib
import select
import struct
import termios
import tty
from fcntl import ioctl

import msgspec

from signoff.supervisor.diagnostics import bundle, keep
from signoff.supervisor.ends import Ending
from signoff.supervisor.relay import Relay
from tests.supervisor.test_run import Run

WAIT = 10_000


def arrives(descriptor: int) -> bytes:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(WAIT)
    return os.read(descriptor, 1000)


def test_keys_go_to_the_child_except_while_a_person_is_asked() -> None:
    person, keyboard = os.openpty()
    ours, childs = os.openpty()
    tty.setraw(childs)
    ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 42, 123, 0, 0))
    before = termios.tcgetattr(keyboard)
    with Relay(keyboard, ours) as relay:
        os.write(person, b"a\x03")  # Ctrl-C is a key like any other for a child on its own terminal
        assert arrives(childs) == b"a\x03"
        with relay.paused():
            assert termios.tcgetattr(keyboard) == before
            os.write(person, b"yes\n")
            assert arrives(keyboard) == b"yes\n"
        os.write(person, b"b")
        assert arrives(childs) == b"b"
        rows, columns, *_ = struct.unpack("HHHH", ioctl(childs, termios.TIOCGWINSZ, bytes(8)))
        assert (rows, columns) == (42, 123)
    assert termios.tcgetattr(keyboard) == before
    for descriptor in (person, keyboard, ours, childs):
        os.close(descriptor)


def test_a_bad_end_leaves_a_redacted_bundle(tmp_path: pathlib.Path) -> None:
    line = '{"v":1,"type":"tool.request","ts":1,"id":"a","tool":"shell","action":"exec","args":{"command":"ls"},"requires_policy":true}'
    run = Run(
        tmp_path,
        ["-c", f"import os; print({line!r}, flush=True); print('the secret', flush=True); os.kill(os.getpid(), 9)"],
    )
    code = run.end()
    content = bundle(
        run.session, run.arbiter, Ending(code, "killed", True), lambda text: text.replace("secret", "[gone]")
    )
    path = pathlib.Path(keep(str(tmp_path / "diagnostics"), "r-1", content))
    assert path.stat().st_mode & 0o777 == 0o600
    kept = msgspec.json.decode(path.read_bytes())
    assert kept["tails"]["stdout"] == "the [gone]\n"
    assert {call["id"] for call in kept["calls"]} <= {"a"}
    assert kept["exit_code"] == 137
