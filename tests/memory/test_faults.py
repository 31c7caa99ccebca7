"""When the file fails: nothing acknowledged is lost, nothing is thrown away, and a run goes on without memory and says so."""

import os
import pathlib
import resource
import signal
import sqlite3
import subprocess
import sys

import pytest

from signoff.domain.errors import MemoryFailed, MemoryTimeout, MemoryUnavailable
from signoff.domain.settings import MemorySettings
from signoff.ledger.records import Event
from signoff.memory import database
from signoff.memory.embedded import Embedded
from signoff.memory.inject import Prompt
from signoff.memory.interface import Candidate, Query, Reference, Validation
from signoff.memory.recall import Recall
from signoff.memory.signals import Observed
from signoff.memory.trust import Status
from signoff.memory.upkeep import listing, share

PAGE = 4_096


def ids(memory: Embedded, question: str, project: str = "p") -> list[str]:
    return [match.qa_id for match in memory.search(Query(project, question, 20)).value]


def goes_on_without(memory: Embedded, kind: type[MemoryFailed]) -> None:
    """Around a whole run: the prompt stays as it was, a person is told once, the ledger every time."""
    said, events = list[str](), list[Event]()
    recall = Recall(memory, MemorySettings(), "p", record=events.append, say=said.append)
    assert recall.before("question words") == Prompt(system="", user="question words")
    recall.after(Observed(0))
    assert len(said) == 1
    assert said[0].startswith("memory: ")
    assert said[0].endswith("; the run goes on without it")
    failed = [event for event in events if event.name == "memory.failed"]
    assert failed[0].data["step"] == "search"
    assert failed[0].data["error.kind"] == kind.code


STEPS = """
import pathlib, sys
from signoff.memory.embedded import Embedded
from signoff.memory.interface import Candidate, Reference, Validation
memory = Embedded(pathlib.Path(sys.argv[1]))
for number in range(int(sys.argv[2]), 100_000):
    qa_id = memory.candidate(Candidate("p", f"question {number}", "answer " * 50)).value
    print("add", qa_id, flush=True)
    memory.hit("p", (Reference(qa_id, used=True),))
    print("hit", qa_id, flush=True)
    memory.validate(Validation("p", qa_id, "pass", "strong"))
    print("validate", qa_id, flush=True)
"""


def test_what_was_acknowledged_survives_being_killed_at_any_moment(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "memory.db"
    acknowledged: dict[str, set[str]] = {"add": set(), "hit": set(), "validate": set()}
    for turn, kill_after in enumerate((1, 2, 3, 5, 8, 13, 21, 34)):
        child = subprocess.Popen(
            [sys.executable, "-c", STEPS, str(path), str(turn * 10_000)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        lines = [line for line, _ in zip(child.stdout, range(kill_after), strict=False)]
        os.kill(child.pid, signal.SIGKILL)
        lines += [line for line in child.stdout if line.endswith("\n")]
        child.wait(60)
        child.stdout.close()
        for kind, qa_id in (line.split() for line in lines):
            acknowledged[kind].add(qa_id)
    memory = Embedded(path)
    items = {item.qa_id: item for item in listing(memory)}
    assert acknowledged["add"] <= set(items)
    assert all(items[qa_id].used == 1 for qa_id in acknowledged["hit"])
    assert all(items[qa_id].stats.strong_pass == 1 for qa_id in acknowledged["validate"])
    with memory.database.reading() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        counts = connection.execute("SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM words)").fetchone()
    assert counts == (len(items), len(items))


STATEMENTS = """
import os, pathlib, signal, sys
from signoff.memory.embedded import Embedded
from signoff.memory.interface import Candidate
memory = Embedded(pathlib.Path(sys.argv[1]))
left = int(sys.argv[2])
def count(statement):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
memory.database._connection.set_trace_callback(count)
memory.add(Candidate("p", f"new {number}", "thing") for number in range(3))
print("acknowledged", flush=True)
"""


def test_a_transaction_killed_at_any_of_its_statements_happened_or_did_not(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "memory.db"
    memory = Embedded(path)
    (kept,) = memory.add((Candidate("p", "kept", "yes"),))
    memory.close()
    for left in range(1, 60):
        done = subprocess.run(
            [sys.executable, "-c", STATEMENTS, str(path), str(left)], stdout=subprocess.PIPE, text=True, check=False
        )
        memory = Embedded(path)
        found = len(ids(memory, "new"))
        assert found == (3 if done.stdout else 0) or done.returncode == -signal.SIGKILL
        assert found in (0, 3)
        assert ids(memory, "kept") == [kept]
        memory.close()
        if done.stdout:
            break
    assert done.stdout == "acknowledged\n"


def test_a_locked_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    path = tmp_path / "memory.db"
    memory = Embedded(path)
    memory.add((Candidate("p", "How to build?", "Run make."),), Status.ACTIVE)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    memory.close()
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(MemoryTimeout, match="in use by another process"):
        Embedded(path)
    other.execute("ROLLBACK")
    other.close()
    assert len(ids(Embedded(path), "build")) == 1


def test_a_file_somebody_else_writes_can_be_read_and_says_that_it_cannot_be_written(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    memory = Embedded(tmp_path / "memory.db")
    (qa_id,) = memory.add((Candidate("p", "How to build?", "Run make."),), Status.ACTIVE)
    other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert ids(memory, "build") == [qa_id]
    with pytest.raises(MemoryTimeout):
        memory.hit("p", (Reference(qa_id),))
    said = list[str]()
    recall = Recall(memory, MemorySettings(), "p", say=said.append)
    assert qa_id in recall.before("How to build?").system
    recall.after(Observed(0))  # neither the hit nor the validation can be kept; that is said once
    assert len(said) == 1
    other.execute("ROLLBACK")
    other.close()


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: pathlib.Path) -> None:
    memory = Embedded(tmp_path / "memory.db")
    (kept,) = memory.add((Candidate("p", "kept", "yes"),))
    with memory.database.reading() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(MemoryUnavailable, match="disk is full"):
        memory.add(Candidate("p", f"question {number}", "word " * 500) for number in range(200))
    assert ids(memory, "kept") == [kept]
    assert ids(memory, "question word") == []


FULL = """
import pathlib, resource, signal, sys
from signoff.domain.errors import MemoryFailed
from signoff.memory.embedded import Embedded
from signoff.memory.interface import Candidate, Query
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
memory = Embedded(pathlib.Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
number = 0
try:
    while True:
        print(memory.candidate(Candidate("p", f"question {number}", "answer " * 50)).value, flush=True)
        number += 1
except MemoryFailed as error:
    print("failed", error.code, len(memory.search(Query("p", "question 0")).value) > 0, flush=True)
"""


@pytest.mark.parametrize("room", [60, 100, 200])
def test_a_file_that_may_not_grow_fails_in_our_words_and_keeps_what_it_has(tmp_path: pathlib.Path, room: int) -> None:
    path = tmp_path / "memory.db"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(room * PAGE)], stdout=subprocess.PIPE, text=True, check=True
    )
    *acknowledged, last = done.stdout.splitlines()
    assert last == "failed memory.unavailable True"
    known = {item.qa_id for item in listing(Embedded(path))}
    assert acknowledged
    assert set(acknowledged) <= known
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


@pytest.mark.parametrize("damage", [b"this is no database" * 300, b"SQLite format 3\0" + b"\xff" * 8_000])
def test_what_is_no_database_is_moved_aside_and_a_new_one_begun(tmp_path: pathlib.Path, damage: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(damage)
    with pytest.raises(MemoryFailed, match=r"is damaged: it was moved to .*, and 0 answers were saved"):
        Embedded(path)
    (aside,) = tmp_path.glob("memory.db.damaged-*")
    assert aside.read_bytes() == damage
    memory = Embedded(path)
    (qa_id,) = memory.add((Candidate("p", "new", "thing"),))
    assert ids(memory, "new") == [qa_id]
    assert path.stat().st_mode & 0o777 == 0o600


def scribbled(path: pathlib.Path, pages: range) -> None:
    data = bytearray(path.read_bytes())
    for page in pages:
        if (page + 1) * PAGE <= len(data):
            data[page * PAGE : page * PAGE + 200] = b"\xff" * 200
    path.write_bytes(data)


def damaged(path: pathlib.Path, pages: range) -> set[str]:
    memory = Embedded(path)
    told = memory.add(
        (Candidate("p", f"question {number}", f"words and more of {number} " * 9) for number in range(300)),
        Status.ACTIVE,
    )
    memory.validate(Validation("p", told[0], "pass", "strong"))
    share(memory, "p", "friend")
    memory.close()
    scribbled(path, pages)
    return set(told)


def test_a_run_on_a_damaged_memory_goes_on_and_the_next_has_what_could_be_saved(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "memory.db"
    told = damaged(path, range(0))
    with sqlite3.connect(path) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'words_data'").fetchone()
    connection.close()
    scribbled(path, range(page - 1, page))
    before = path.read_bytes()
    memory = Embedded(path)
    goes_on_without(memory, MemoryFailed)
    (aside,) = tmp_path.glob("memory.db.damaged-????????T????????????")
    assert aside.read_bytes() == before
    items = {item.qa_id: item for item in listing(memory)}
    assert set(items) == told  # only the index was damaged
    assert sum(item.stats.strong_pass for item in items.values()) == 1
    assert set(ids(memory, "question words", "friend")) <= told
    assert len(ids(memory, "question words", "friend")) == 20
    memory.add((Candidate("p", "after the damage", "all is well"),))
    assert len(ids(Embedded(path), "after damage well")) > 0


@pytest.mark.parametrize("page", range(1, 40, 3))
def test_whichever_page_is_damaged_nothing_is_lost_silently(tmp_path: pathlib.Path, page: int) -> None:
    """Either it is not noticed because nothing that is asked for lies there, or it is said and moved aside."""
    path = tmp_path / "memory.db"
    told = damaged(path, range(page, page + 1))
    try:
        memory = Embedded(path)
        found = {item.qa_id for item in listing(memory)}
        ids(memory, "question words more")
    except MemoryFailed as error:
        assert "is damaged" in error.message
        assert len(list(tmp_path.glob("memory.db.damaged-????????T????????????"))) == 1
        assert {item.qa_id for item in listing(Embedded(path))} <= told
    else:
        assert found == told


def test_a_process_that_holds_the_old_file_open_follows_to_the_new_one(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "memory.db"
    bystander = Embedded(path)
    path.rename(tmp_path / "aside.db")
    (qa_id,) = bystander.add((Candidate("p", "new", "thing"),))
    assert ids(Embedded(path), "new") == [qa_id]


def test_a_place_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MemoryUnavailable):
        Embedded(tmp_path / "file" / "memory.db")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(MemoryUnavailable):
        Embedded(tmp_path / "link")


def test_a_file_of_a_newer_signoff_is_left_alone(tmp_path: pathlib.Path) -> None:
    connection = sqlite3.connect(tmp_path / "memory.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(MemoryFailed, match="newer signoff"):
        Embedded(tmp_path / "memory.db")
