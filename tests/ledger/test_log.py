"""The log of a run: what is written, when it is durable, who is told."""

import hashlib
import json
import os
import pathlib
import stat
import threading
from collections.abc import Callable

import msgspec
import pytest

from signoff.domain.errors import LedgerUnwritable, UsageError
from signoff.domain.settings import Redact
from signoff.ledger.place import load_key, new_run_id
from signoff.ledger.records import Close, Line
from signoff.ledger.redact import Redactor
from tests.clauses import requirement
from tests.ledger.books import RUN, decision, lines_of, open_ledger, ordinary_run, request, result


def read_back(directory: pathlib.Path) -> list[Line]:
    return [msgspec.json.decode(line, type=Line) for line in lines_of(directory)]


def test_each_line_is_chained_to_the_one_before_and_the_last_one_counts_them(tmp_path: pathlib.Path) -> None:
    ledger = open_ledger(tmp_path, RUN)
    for record in ordinary_run():
        ledger.submit(record)
    head = ledger.close(exit_code=40, reason="denied")
    lines = read_back(tmp_path)
    assert [line.seq for line in lines] == list(range(len(lines)))
    assert {line.run_id for line in lines} == {RUN}
    assert [line.prev for line in lines] == ["0" * 64, *(line.hash for line in lines[:-1])]
    assert lines[-1].what == Close(exit_code=40, reason="denied", count=len(lines) - 1, head=lines[-2].hash)
    assert head == lines[-1].hash
    assert [line.since_ns for line in lines] == sorted(line.since_ns for line in lines)


def test_the_hash_is_that_of_the_canonical_line_without_it(tmp_path: pathlib.Path) -> None:
    ledger = open_ledger(tmp_path)
    ledger.submit(request(1, args={"é": "\u2028", "b": [1, 2.5, None], "a": True}))
    ledger.close()
    for raw in lines_of(tmp_path):
        line = json.loads(raw)
        assert raw == json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        stated = line.pop("hash")
        body = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert stated == hashlib.sha256(body).hexdigest()


@requirement("CLU-051", "CLU-052")
def test_a_finished_call_leaves_one_record_with_every_field_of_the_audit_entry(tmp_path: pathlib.Path) -> None:
    ledger = open_ledger(tmp_path)
    for record in ordinary_run():
        ledger.submit(record)
    ledger.close()
    results = [json.loads(raw)["what"] for raw in lines_of(tmp_path) if b'"type":"result"' in raw]
    assert [found["tool_call_id"] for found in results] == ["c1", "c3"]
    digest = results[1].pop("args_hmac")
    assert len(digest) == 64
    assert results[1] == {
        "type": "result",
        "trace_id": "t1",
        "tool_call_id": "c3",
        "name": "write_file",
        "version": "1.0.0",
        "args": {"path": "f3.txt"},
        "ok": False,
        "error": {"code": "tool.timeout", "message": "stopped after 5 s"},
        "duration_ms": 5000,
        "artifacts": {"files_changed": ["a.py"], "commands_run": ["ruff a.py"]},
        "sandboxed": True,
    }


def test_a_decision_waits_for_the_disk_and_a_result_rides_along(tmp_path: pathlib.Path) -> None:
    ledger = open_ledger(tmp_path)
    riding = ledger.submit(result(1))
    assert not riding.durable
    ledger.write(decision(2), timeout=60)
    assert riding.durable  # the sync for the decision covered what was written before it
    told = threading.Event()
    last = ledger.submit(result(2))
    last.add_done_callback(lambda ticket: told.set())
    last.wait(timeout=60)  # whoever waits gets a sync
    assert last.durable
    assert told.wait(60)
    ledger.close()
    late: list[bool] = []
    last.add_done_callback(lambda ticket: late.append(ticket.durable))
    assert late == [True]


def test_many_threads_write_one_chain(tmp_path: pathlib.Path) -> None:
    ledger = open_ledger(tmp_path)

    def work(worker: int) -> None:
        for number in range(20):
            ledger.write(decision(worker * 100 + number), timeout=60)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    ledger.close()
    lines = read_back(tmp_path)
    assert [line.seq for line in lines] == list(range(162))
    assert [line.prev for line in lines[1:]] == [line.hash for line in lines[:-1]]


def test_nothing_follows_the_closing_record(tmp_path: pathlib.Path) -> None:
    ledger = open_ledger(tmp_path)
    head = ledger.close()
    ticket = ledger.submit(decision(1))
    with pytest.raises(LedgerUnwritable):
        ticket.wait(60)
    assert not ticket.durable
    assert ledger.close() == head
    assert len(lines_of(tmp_path)) == 2


def test_the_file_is_private_and_no_link_is_followed(tmp_path: pathlib.Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o755)
    open_ledger(runs, RUN).close()
    assert stat.S_IMODE(runs.stat().st_mode) == 0o700
    assert stat.S_IMODE((runs / f"{RUN}.jsonl").stat().st_mode) == 0o600
    with pytest.raises(LedgerUnwritable):
        open_ledger(runs, RUN)  # never into a file that is there
    other = new_run_id()
    (runs / f"{other}.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LedgerUnwritable):
        open_ledger(runs, other)
    assert not (tmp_path / "elsewhere").exists()
    (tmp_path / "linked").symlink_to(runs)
    with pytest.raises(LedgerUnwritable):
        open_ledger(tmp_path / "linked")
    with pytest.raises(UsageError):
        open_ledger(runs, "../escape")


def test_a_run_id_is_a_uuid_of_version_7_and_sorts_by_time() -> None:
    ids = [new_run_id() for _ in range(100)]
    assert len(set(ids)) == 100
    assert {(name[14], name[19] in "89ab") for name in ids} == {("7", True)}
    assert [name[:13] for name in ids] == sorted(name[:13] for name in ids)


def test_the_key_of_the_digests_is_made_once_and_private(tmp_path: pathlib.Path) -> None:
    state = tmp_path / "state"
    key = load_key(str(state))
    assert load_key(str(state)) == key
    assert os.listdir(state) == ["ledger.key"]
    assert stat.S_IMODE((state / "ledger.key").stat().st_mode) == 0o600
    (state / "ledger.key").chmod(0o644)
    assert load_key(str(state)) == key
    assert stat.S_IMODE((state / "ledger.key").stat().st_mode) == 0o600


def _short(place: pathlib.Path) -> None:
    place.write_bytes(b"short")


def _foreign(place: pathlib.Path) -> None:
    place.write_bytes(bytes(32))
    try:
        os.chown(place, 65534, 65534)
    except PermissionError:
        pytest.skip("only root can give a file away")


def _link(place: pathlib.Path) -> None:
    place.with_name("elsewhere").write_bytes(bytes(32))
    place.symlink_to("elsewhere")


@pytest.mark.parametrize("make", [_short, _foreign, _link, os.mkfifo, os.mkdir])
def test_what_is_no_key_of_ours_is_refused_at_once(
    tmp_path: pathlib.Path, make: Callable[[pathlib.Path], None]
) -> None:
    make(tmp_path / "ledger.key")
    with pytest.raises(LedgerUnwritable):
        load_key(str(tmp_path))


@requirement("MEM-120")
def test_secrets_are_out_before_anything_is_written(tmp_path: pathlib.Path) -> None:
    secret = "ghp_" + "a8Kd93jLx0Qw7Rt5Yz2Nc4Vb6Mf1Hs9Gp3Eu"
    ledger = open_ledger(tmp_path, redactor=Redactor(Redact.BASIC), redact=Redact.BASIC)
    ledger.submit(request(1, args={"command": f"curl -H 'Authorization: token {secret}' https://api.example"}))
    ledger.submit(result(1, args={"env": {"GITHUB_TOKEN": secret}}))
    ledger.close()
    written = b"".join(lines_of(tmp_path))
    assert secret.encode() not in written
    assert b"https://api.example" in written


def test_records_nobody_waits_for_are_synced_once_there_are_many(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signoff.ledger.log.MOST_UNSYNCED", 100)
    ledger = open_ledger(tmp_path)
    told = threading.Event()
    ledger.submit(result(1)).add_done_callback(lambda ticket: told.set())
    for number in range(100):
        ledger.submit(result(number))
    assert told.wait(30)
    ledger.close()
