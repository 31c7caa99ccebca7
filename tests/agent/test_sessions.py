"""Sessions on disk: appended, listed, forked, and there after a death at any point."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.agent.conversation import INTERRUPTED, NEVER_BEGAN, Conversation, Told
from signoff.agent.event import Look, Reason, Spent
from signoff.agent.session_log import Configured, Entry, Renamed, SessionLog, read
from signoff.agent.sessions import Sessions
from signoff.domain.call import ToolCall
from signoff.domain.errors import NotFound, ToolConflict, UsageError
from signoff.providers.provider import Message, Text, ToolRequest
from tests.clauses import requirement


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    numbers = iter(range(10**6))
    return Sessions(str(tmp_path / "sessions"), Clock(), lambda: f"id-{next(numbers):06}")


def said(log: SessionLog, text: str) -> None:
    Conversation(log).user(Message("user", (Text(text),)))


def titles(sessions: Sessions, **options: object) -> list[str]:
    return [one.title for one in sessions.list(**options).sessions]  # type: ignore[arg-type]


@requirement("ACP-095", "ACP-096")
def test_sessions_are_listed_by_their_last_change_newest_first(sessions: Sessions) -> None:
    with sessions.create("/a", "echo/echo", "ask", title="one") as one:
        sessions.create("/a", "echo/echo", "ask", title="two").close()
        sessions.create("/b", "echo/echo", "ask", title="three").close()
        assert titles(sessions) == ["three", "two", "one"]
        said(one, "more")
        assert titles(sessions) == ["one", "three", "two"]
    assert titles(sessions, cwd="/a") == ["one", "two"]


@requirement("ACP-092", "ACP-093", "ACP-094")
def test_pages_go_through_all_sessions_once(sessions: Sessions) -> None:
    for number in range(7):
        sessions.create("/a", "m/m", "ask", title=str(number)).close()
    found, cursor = [], None
    while True:
        page = sessions.list(cursor=cursor, limit=3)
        found += [one.title for one in page.sessions]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == list("6543210")
    assert len(sessions.list().sessions) == 7
    with pytest.raises(UsageError):
        sessions.list(limit=0)
    for bad in ("", "!", "bm90IGEgY3Vyc29y", "é"):
        with pytest.raises(UsageError):
            sessions.list(cursor=bad)


def test_the_title_is_the_first_line_of_the_first_prompt_until_it_is_renamed(sessions: Sessions) -> None:
    with sessions.create("/a", "m/m", "ask") as log:
        said(log, "\n  fix the cart\nplease")
        said(log, "and now?")
        assert titles(sessions) == ["fix the cart"]
        sessions.rename(log.id, "cart")
        said(log, "third")
    assert titles(sessions) == ["cart"]
    assert [entry.what for entry in sessions.read(log.id) if isinstance(entry.what, Renamed)] == [Renamed("cart")]


def test_a_fork_goes_on_alone(sessions: Sessions) -> None:
    with sessions.create("/a", "m/m", "ask") as log:
        said(log, "first")
        log.append(Configured("mode", "plan"))
        with sessions.fork(log.id) as fork:
            said(fork, "only in the fork")
            said(log, "only in the first")
            assert [one.text for one in Conversation.resumed(fork).messages] == ["first", "only in the fork"]
            assert [one.text for one in Conversation.resumed(log).messages] == ["first", "only in the first"]
    forked = sessions.list().sessions
    assert {(one.id, one.forked_from, one.mode, one.title) for one in forked} == {
        (log.id, "", "plan", "first"),
        (fork.id, log.id, "plan", "first"),
    }


def test_one_process_at_a_time_appends(sessions: Sessions) -> None:
    with sessions.create("/a", "m/m", "ask") as log, pytest.raises(ToolConflict):
        sessions.open(log.id)
    sessions.open(log.id).close()


def test_deleting_is_done_once_and_fine_twice(sessions: Sessions) -> None:
    log = sessions.create("/a", "m/m", "ask")
    assert sessions.delete(log.id) is True
    log.close()
    assert sessions.delete(log.id) is False
    assert sessions.list().sessions == ()
    for use in (sessions.open, sessions.fork, sessions.read, sessions.find):
        with pytest.raises(NotFound):
            use(log.id)


@pytest.mark.parametrize("name", ["../x", "", "a/b", "a.b", "\0"])
def test_an_id_is_never_a_path(sessions: Sessions, name: str) -> None:
    with pytest.raises(NotFound):
        sessions.open(name)


def test_a_session_is_found_by_the_beginning_of_its_id(sessions: Sessions) -> None:
    first = sessions.create("/a", "m/m", "ask")
    assert sessions.find(first.id[:8]) == first.id
    sessions.create("/a", "m/m", "ask")
    with pytest.raises(NotFound, match="fits 2"):
        sessions.find("id-")


@pytest.mark.parametrize("damage", ["missing", "garbage", "empty", "older"])
def test_the_index_is_made_anew(tmp_path: Path, damage: str) -> None:
    first = Sessions(str(tmp_path), Clock())
    for number in range(5):
        first.create("/a", "m/m", "ask", title=str(number)).close()
    before = first.list()
    first.close()
    index = tmp_path / "index.db"
    match damage:
        case "missing":
            index.unlink()
        case "garbage":
            index.write_bytes(b"no database at all " * 1_000)
        case "empty":
            index.write_bytes(b"")
        case _:
            import sqlite3

            with sqlite3.connect(index) as database:
                database.execute("PRAGMA user_version = 0")
            database.close()
    assert Sessions(str(tmp_path)).list() == before


def test_an_index_that_breaks_while_it_is_open_is_made_anew(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path), Clock())
    sessions.create("/a", "m/m", "ask", title="kept").close()
    sessions._index._database.execute("DROP TABLE session")
    assert titles(sessions) == ["kept"]


def test_a_torn_line_is_left_out_and_disturbs_nothing(sessions: Sessions) -> None:
    with sessions.create("/a", "m/m", "ask") as log:
        said(log, "whole")
    with open(log.path, "ab") as file:
        file.write(b'{"ts":1,"what":{"type":"said","mess')
    with sessions.open(log.id) as again:
        said(again, "after")
        assert [one.text for one in Conversation.resumed(again).messages] == ["whole", "after"]


def test_appending_keeps_no_memory(sessions: Sessions) -> None:
    with sessions.create("/a", "m/m", "ask") as log:
        log.append(Configured("mode", "ask"))
        before = sys.getallocatedblocks()
        for _ in range(2_000):
            log.append(Configured("mode", "ask"))
        assert sys.getallocatedblocks() - before < 500


def test_what_the_model_is_told_stays_as_it_was_when_more_is_said(sessions: Sessions) -> None:
    first = Message("system", (Text("be brief"),))
    with sessions.create("/w", "echo/echo", "ask") as log:
        talk = Conversation(log)
        talk.user(Message("user", (Text("one"),)))
        told = Told(first, talk.messages)
        talk.user(Message("user", (Text("two"),)))
        later = Told(first, talk.messages)
        talk.clear()
    assert [message.text for message in told] == ["be brief", "one"]
    assert [message.text for message in reversed(told)] == ["one", "be brief"]
    assert [message.text for message in later] == ["be brief", "one", "two"]
    assert [message.text for message in reversed(later)] == ["two", "one", "be brief"]
    assert (later[0].text, later[-1].text, len(later)) == ("be brief", "two", 3)
    assert [message.text for message in later[1:]] == ["one", "two"]
    with pytest.raises(IndexError):
        told[2]


def test_what_was_running_when_its_process_died_gets_an_answer(sessions: Sessions) -> None:
    with sessions.create("/a", "m/m", "ask") as log:
        talk = Conversation(log)
        talk.user(Message("user", (Text("do"),)))
        requests = tuple(ToolRequest(f"r{number}", "read_file", "{}") for number in range(3))
        talk.add(Message("assistant", tool_requests=requests))
        for request in requests[:2]:
            talk.began(request, ToolCall(request.id, "read_file", "", {}, "", 0), Look())
        talk.answer(requests[0], "content", is_error=False)
    with sessions.open(log.id) as again:
        talk = Conversation.resumed(again)
        answers = {one.tool_request_id: (one.text, one.is_error) for one in talk.messages if one.role == "tool"}
        assert answers == {"r0": ("content", False), "r1": (INTERRUPTED, True), "r2": (NEVER_BEGAN, True)}
        assert talk.unanswered == ()
        talk.close_turn(Reason.END, Spent(requests=1))
        assert Conversation.resumed(again).spent == Spent(requests=1)


WRITER = """
import os, sys
from signoff.agent.conversation import Conversation
from signoff.agent.sessions import Sessions
from signoff.providers.provider import Message, Text
with Sessions(sys.argv[1]).create("/a", "m/m", "ask") as log:
    talk = Conversation(log)
    number = 0
    while True:
        talk.user(Message("user", (Text(f"message {number} " + "x" * 5_000),)))
        os.write(1, f"{number}\\n".encode())  # acknowledged
        number += 1
"""


def test_nothing_acknowledged_is_lost_by_a_kill(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    for _ in range(50):
        child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    rest = child.stdout.read().split()
    child.wait(30)
    child.stdout.close()
    acknowledged = 50 + len(rest)
    (session,) = Sessions(str(tmp_path)).list().sessions
    entries: list[Entry] = list(read(str(tmp_path / f"{session.id}.jsonl")))
    assert len(entries) - 1 >= acknowledged
    assert session.title.startswith("message 0")


def test_a_page_of_many_sessions_costs_what_a_page_of_few_costs(tmp_path: Path) -> None:
    """Counted in steps of the database, which no neighbour on the machine can change."""
    steps = {}
    for count in (100, 10_000):
        sessions = Sessions(str(tmp_path / str(count)), Clock())
        database = sessions._index._database
        rows = [(f"id{number:05}", "/a", "t", "m", "ask", "", number, number, 0) for number in range(count)]
        database.executemany("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        counted = [0]

        def tick(counted: list[int] = counted) -> int:
            counted[0] += 1
            return 0

        database.set_progress_handler(tick, 10)
        assert len(sessions.list("/a").sessions) == 50
        steps[count] = counted[0]
    assert steps[10_000] <= 2 * steps[100]
