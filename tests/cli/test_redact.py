"""signoff redact: a filter that changes secrets and nothing else."""

import os
import pathlib
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.cli.program import PROGRAM, TIMEOUT_SECONDS, signoff

TOKEN = "ghp_" + "kbwd2ef338fdnhldib49kaji8y5e01j6rqv2"

pytestmark = pytest.mark.usefixtures("home")


def filtered(data: bytes, *words: str) -> bytes:
    return subprocess.run(
        [PROGRAM, "redact", *words], input=data, capture_output=True, check=True, timeout=TIMEOUT_SECONDS
    ).stdout


def test_everything_but_the_secret_comes_out_byte_for_byte() -> None:
    data = f"a\x00b\r\nexport GH={TOKEN} ".encode() + b"\xff\xfe\nlast line without an end: password: hunter2!x"
    expected = b"a\x00b\r\nexport GH=REDACTED_github \xff\xfe\nlast line without an end: password: REDACTED_assigned"
    assert filtered(data) == expected


def test_strict_hides_more() -> None:
    assert filtered(b"bob@example.org\n", "--level", "strict") == b"REDACTED_email\n"
    assert filtered(b"bob@example.org\n") == b"bob@example.org\n"


def test_json_gives_one_object_for_each_line_golden(golden: Callable[[str, str | bytes], None]) -> None:
    data = f'plain\n\n{TOKEN} and {{"password": "hunter2!x"}}\napi_token:\n  x9Kq2mZr8Lw0pTb5\n'.encode() + b"\xff end"
    golden("redact/lines.jsonl", filtered(data, "--json"))


def test_lines_come_out_as_they_come_in() -> None:
    with subprocess.Popen([PROGRAM, "redact"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"first\nsec")
        child.stdin.flush()
        assert child.stdout.readline() == b"first\n"
        child.stdin.close()
        assert child.stdout.read() == b"sec"


def test_a_reader_that_leaves_is_no_error_worth_a_traceback() -> None:
    with subprocess.Popen(
        [PROGRAM, "redact"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        try:
            child.stdin.write(b"line\n" * 100_000)
            child.stdin.close()
        except BrokenPipeError:
            pass
        assert b"Traceback" not in child.stderr.read()
        child.wait(TIMEOUT_SECONDS)


def test_an_interrupt_ends_it_quietly() -> None:
    with subprocess.Popen(
        [PROGRAM, "redact"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"first\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"first\n"
        os.kill(child.pid, signal.SIGINT)
        _, err = child.communicate(timeout=TIMEOUT_SECONDS)
        assert child.returncode == 130
        assert b"Traceback" not in err


def test_input_that_cannot_be_read_is_said_in_one_sentence(tmp_path: pathlib.Path) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" redact <&-', PROGRAM], capture_output=True, timeout=TIMEOUT_SECONDS, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.decode().startswith("signoff: standard input cannot be read")


def test_an_unknown_level_is_refused() -> None:
    assert signoff("redact", "--level", "off").status == 2
