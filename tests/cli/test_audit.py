"""signoff audit, as a person uses it."""

import contextlib
import html
import io
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from signoff.agent.sessions import Sessions
from signoff.cli.app import run
from signoff.ledger.reading import OPENED
from signoff.ledger.records import Event
from tests.cli.program import PROGRAM, Ended, signoff
from tests.ledger import sceptic
from tests.ledger.books import RUN, decision, open_ledger, ordinary_run, request, ticking

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202egpj.exe"


def audit(*words: str) -> Ended:
    """Run `signoff audit WORDS` in this process."""
    out, err = io.BytesIO(), io.BytesIO()
    with (
        contextlib.redirect_stdout(io.TextIOWrapper(out, "utf-8", write_through=True)),
        contextlib.redirect_stderr(io.TextIOWrapper(err, "utf-8", write_through=True)),
    ):
        status = run(["audit", *words])
        return Ended(status, out.getvalue().decode(), err.getvalue().decode())


@pytest.fixture
def runs(home: pathlib.Path) -> pathlib.Path:
    return home / ".local" / "state" / "signoff" / "runs"


@pytest.fixture
def finished(runs: pathlib.Path) -> pathlib.Path:
    """The ledger of a finished run with a fixed id and clock, so that its bytes are always the same."""
    ledger = open_ledger(runs, RUN, clock=ticking())
    for record in ordinary_run():
        ledger.submit(record)
    ledger.submit(decision(4))
    ledger.close(exit_code=40, reason="a request was denied")
    return runs / f"{RUN}.jsonl"


def test_runs_of_one_command_are_told_apart_by_what_their_sessions_are_about(
    runs: pathlib.Path, home: pathlib.Path
) -> None:
    with contextlib.closing(Sessions(str(home / ".local/state/signoff/sessions"))) as store:
        log = store.create("/w", "echo", "code", title="fix the test; the token is ghp_" + "a1B2" * 9)
        log.close()
    ledger = open_ledger(runs, RUN, command=("signoff", "acp", "serve"))
    ledger.submit(Event(OPENED, {"session_id": log.id}))
    ledger.close()
    (line,) = audit("list").out.splitlines()
    assert "signoff acp serve · fix the test; the token is REDACTED" in line
    assert "ghp_" not in line


@pytest.mark.parametrize("command", ["list", "show", "stats", "verify"])
def test_golden_json_of_every_reader(
    command: str, finished: pathlib.Path, home: pathlib.Path, golden: Callable[[str, str], None]
) -> None:
    ended = audit(command, "--json")
    assert (ended.status, ended.err) == (0, "")
    golden(f"cli/audit.{command}.json", ended.out.replace(str(home), "HOME"))


def test_golden_timeline_and_sums_for_people(
    finished: pathlib.Path, home: pathlib.Path, golden: Callable[[str, str], None]
) -> None:
    shown = audit("show", RUN[:8])
    assert (shown.status, shown.err) == (0, "c4 was allowed and its outcome is unknown; it is not run again.\n")
    golden("cli/audit.show.txt", shown.out)
    golden("cli/audit.stats.txt", audit("stats", str(finished)).out)
    golden("cli/audit.list.txt", audit("list").out)
    assert audit("tail", "-n", "2").out == "".join(shown.out.splitlines(keepends=True)[-2:])


def test_golden_ledger_file(finished: pathlib.Path, golden: Callable[[str, bytes], None]) -> None:
    """The bytes of a ledger are an interface: others verify them."""
    golden("ledger/run.jsonl", finished.read_bytes())
    assert sceptic.judge(finished.read_bytes()) == 0


def test_without_a_run_the_list_is_empty_and_the_rest_says_so(home: pathlib.Path) -> None:
    assert json.loads(audit("list", "--json").out) == {"runs": []}
    for command in ("show", "tail", "stats", "verify", "export"):
        ended = audit(command)
        assert (ended.status, ended.out) == (1, "")
        assert ended.err.startswith("signoff: no run has been recorded yet\n")
    assert audit("show", "./absent.jsonl").err == "signoff: there is no ledger ./absent.jsonl\n"


def test_a_beginning_that_fits_two_runs_is_refused(runs: pathlib.Path, finished: pathlib.Path) -> None:
    open_ledger(runs, RUN[:-1] + "2").close()
    ended = audit("show", RUN[:8])
    assert (ended.status, ended.err) == (2, "signoff: 01900000 is the beginning of 2 run ids\n  Give more of it.\n")
    assert audit("verify", RUN).status == 0


def edited(data: bytes) -> bytes:
    return data.replace(b"deletes everything", b"deletes nothing   ")


def without_line(number: int) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(line for at, line in enumerate(data.splitlines(keepends=True)) if at != number)


def swapped(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:3], lines[4], lines[3], *lines[5:]])


@pytest.mark.parametrize(
    ("damage", "status", "message"),
    [
        (edited, 60, ":7: record 6 was changed: its hash does not fit what it says"),
        (without_line(5), 61, ":6: record 5 is missing: 6 stands in its place"),
        (swapped, 62, ":4: record 4 stands where 3 belongs"),
        (lambda data: data[:-20], 63, ":14: record 13 is cut off: the writer was stopped in the middle of it"),
        (without_line(13), 64, ":14: there is no closing record: the run did not end in order"),
    ],
    ids=["edited", "missing", "reordered", "torn", "unfinished"],
)
def test_verify_gives_each_damage_its_own_status_and_names_the_first_bad_record(
    finished: pathlib.Path, damage: Callable[[bytes], bytes], status: int, message: str
) -> None:
    finished.write_bytes(damage(finished.read_bytes()))
    ended = signoff("audit", "verify")
    assert ended == (status, "", f"signoff: {finished}{message}\n")
    found = audit("verify", "--json")
    assert (found.status, found.err) == (status, "")
    said = json.loads(found.out)
    assert (said["ok"], said["exit"], said["finding"]["message"]) == (False, status, message.partition(": ")[2])


def test_the_ledger_of_another_run_in_the_place_of_this_one_is_found(finished: pathlib.Path) -> None:
    victim = finished.with_name("0193b1d0-0000-7000-8000-00000000beef.jsonl")
    copy = finished.with_name("copy.jsonl")
    for place in (victim, copy):
        place.write_bytes(finished.read_bytes())
    assert audit("verify", str(copy)).status == 0
    ended = audit("verify", str(victim))
    assert (ended.status, ended.err) == (60, f"signoff: {victim}:1: record 0 was replaced by one of another run\n")


def test_a_cut_tail_is_found_against_an_anchor(finished: pathlib.Path, tmp_path: pathlib.Path) -> None:
    heads = str(tmp_path / "heads.jsonl")
    kept = audit("sign", "--anchor", heads, "--json")
    assert kept.status == 0
    assert json.loads(kept.out)["count"] == 14
    assert audit("verify", "--anchor", heads).status == 0
    finished.write_bytes(without_line(13)(finished.read_bytes()))
    assert audit("verify").status == 64
    ended = audit("verify", "--anchor", heads)
    assert ended.status == 61
    assert "record 13 is missing: there must be at least 14, here are 13" in ended.err
    assert audit("sign").status == 2


def test_a_signed_head_holds_only_for_its_key_and_its_ledger(finished: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for name in ("auditor", "somebody"):
        subprocess.run([sys.executable, "-c", MAKE_KEY, str(tmp_path / name)], check=True, timeout=60)
    assert audit("verify", "--key", str(tmp_path / "auditor")).status == 61  # never signed
    assert audit("sign", "--key", str(tmp_path / "auditor")).status == 0
    assert json.loads((finished.parent / f"{RUN}.jsonl.sig").read_text())["count"] == 14
    assert audit("verify", "--key", str(tmp_path / "auditor.pub")).status == 0
    assert audit("verify", "--key", str(tmp_path / "somebody.pub")).status == 60
    assert len(json.loads(audit("list", "--json").out)["runs"]) == 1  # the signature is no run
    finished.write_bytes(edited(finished.read_bytes()))
    assert audit("verify", "--key", str(tmp_path / "auditor.pub")).status == 60
    refused = audit("sign", "--key", str(tmp_path / "auditor"))
    assert refused.status == 60  # nobody vouches for a ledger that was changed


MAKE_KEY = """
import sys
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
key = Ed25519PrivateKey.generate()
open(sys.argv[1], "wb").write(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
public = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
open(sys.argv[1] + ".pub", "wb").write(public)
"""


def test_without_the_signing_package_signing_says_what_to_install(
    finished: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None\nfrom signoff.cli.app import run\nsys.exit(run(sys.argv[1:]))"
    )
    words = ["audit", "sign", "--key", str(tmp_path / "key")]
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert (
        ended.stderr == 'signoff: signatures need the package cryptography\n  Install it: pip install "signoff[sign]"\n'
    )


def test_an_export_leaves_out_the_room_of_a_killed_run_and_no_damage(finished: pathlib.Path) -> None:
    lines = finished.read_bytes()
    finished.write_bytes(lines + b" " * 20)  # behind the closing record nothing may stand
    assert audit("export").out.encode() == lines + b" " * 20
    killed = lines.splitlines(keepends=True)[:-1]
    finished.write_bytes(b"".join(killed) + b" " * 2_000_000)
    assert audit("export").out.encode() == b"".join(killed)


def test_export_gives_the_lines_as_they_are_and_a_trace_others_can_read(
    finished: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    from google.protobuf import json_format

    assert audit("export").out.encode() == finished.read_bytes()
    target = tmp_path / "trace.json"
    assert audit("export", "--format", "otlp", "-o", str(target)) == (0, "", "")
    document = re.sub(r'"(traceId|spanId|parentSpanId)":"(\w+)"', _base64, target.read_text())
    request = json_format.Parse(document, ExportTraceServiceRequest())
    spans = request.resource_spans[0].scope_spans[0].spans
    names = [span.name for span in spans]
    assert names.count("mem_codecli.run") == 1
    assert names.count("mem_codecli.policy.decide") == 4
    assert names.count("mem_codecli.tool.call") == 2
    assert {span.trace_id.hex() for span in spans} == {RUN.replace("-", "")}
    assert {span.parent_span_id for span in spans[1:]} == {spans[0].span_id}
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    assert [span.status.message for span in spans if span.status.code == 2] == ["stopped after 5 s"]


def _base64(found: re.Match[str]) -> str:
    """OTLP/JSON writes ids in hex; the general JSON form of protocol buffers wants base64."""
    import base64

    return f'"{found[1]}":"{base64.b64encode(bytes.fromhex(found[2])).decode()}"'


def test_the_page_stands_alone_and_nothing_in_a_record_can_act_on_it(
    runs: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    ledger = open_ledger(runs, command=("agent", HOSTILE), workspace=HOSTILE)
    ledger.submit(request(1, name=HOSTILE, args={HOSTILE: HOSTILE}))
    ledger.submit(Event(name=HOSTILE, data={"x": HOSTILE}))
    ledger.close()
    target = tmp_path / "run.html"
    assert audit("show", "--html", "-o", str(target)).status == 0
    text = target.read_text(encoding="utf-8")
    tags = re.findall(r"<(\w+)", text)
    read = html.unescape(re.sub(r"<[^>]*>", "", text))
    assert not {"script", "link", "img", "iframe", "a", "form"} & set(tags)
    assert not re.search(r"url\(|@import|\b(src|href|on\w+)=", re.sub(r">[^<]*<", "><", text))
    assert tags.count("li") == 4
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "‹ESC›[2J‹U+202E›gpj.exe" in read
    assert "prefers-color-scheme: dark" in text
    assert "The record is complete: 4 records" in read
    shown = audit("show").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_damaged_ledger_is_still_shown_and_said_to_be_damaged(finished: pathlib.Path, tmp_path: pathlib.Path) -> None:
    data = finished.read_bytes()
    finished.write_bytes(data.replace(b'"type":"review"', b'"type":"rev\x00ew"'))
    shown = audit("show")
    assert shown.status == 0
    assert len(shown.out.splitlines()) == 14
    assert "damaged   line 10" in shown.out
    page = audit("show", "--html").out
    assert "The record is not in order: edited." in page
    finished.write_bytes(b"\xff" * 100 + data[100:])
    assert json.loads(audit("list", "--json").out)["runs"][0]["state"] == "damaged"


def test_tail_follows_a_run_until_it_ends(runs: pathlib.Path) -> None:
    ledger = open_ledger(runs, RUN)
    ledger.write(decision(1), timeout=60)
    states = json.loads(audit("list", "--json").out)["runs"]
    assert [run["state"] for run in states] == ["running"]
    process = subprocess.Popen(
        [PROGRAM, "audit", "tail", "-f", "--json"], stdout=subprocess.PIPE, env=os.environ, text=True
    )
    assert process.stdout is not None
    assert [json.loads(process.stdout.readline())["seq"] for _ in range(2)] == [0, 1]
    ledger.write(decision(2), timeout=60)
    assert json.loads(process.stdout.readline())["what"]["tool_call_id"] == "c2"
    unfinished = audit("verify")
    assert unfinished.status == 64
    assert unfinished.err.endswith("  The run is still going on.\n")
    ledger.close()
    assert json.loads(process.stdout.readline())["what"]["type"] == "close"
    assert process.wait(30) == 0
    process.stdout.close()


def test_a_run_whose_writer_was_killed_is_unfinished_and_following_it_ends(runs: pathlib.Path) -> None:
    code = f"""
import os, pathlib
from tests.ledger.books import *
ledger = open_ledger(pathlib.Path({str(runs)!r}), RUN)
ledger.write(decision(1), timeout=60)
os._exit(9)
"""
    root = pathlib.Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, timeout=60, check=False).returncode == 9
    assert json.loads(audit("list", "--json").out)["runs"][0]["state"] == "unfinished"
    assert len(audit("tail", "-f").out.splitlines()) == 2
    shown = audit("show")
    assert shown.err == (
        "c1 was allowed and its outcome is unknown; it is not run again.\n"
        "This record is not whole. What is wrong with it: signoff audit verify last\n"
    )
