"""Every session of this person: made, opened, forked, renamed, deleted, listed newest first.

The logs are the truth; the index beside them is made anew when it is missing or cannot be read.
"""

import base64
import binascii
import contextlib
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from signoff.agent import session_log
from signoff.agent.conversation import LONGEST_TITLE, first_line
from signoff.agent.session_index import Index, Summary
from signoff.agent.session_log import (
    Configured,
    Entry,
    Opened,
    Renamed,
    Said,
    SessionEvent,
    SessionLog,
    close_off,
    open_file,
)
from signoff.domain.errors import NotFound, ToolConflict, UsageError
from signoff.ledger.place import new_run_id

PAGE = 50
LONGEST_ID = 128
_ENDING = ".jsonl"
_LISTED = (Configured, Renamed)


class Page(msgspec.Struct, frozen=True):
    sessions: tuple[Summary, ...]
    next_cursor: str | None = None


class Sessions:
    def __init__(
        self, directory: str, clock: Callable[[], float] = time.time, new_id: Callable[[], str] = new_run_id
    ) -> None:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self._directory = directory
        self._clock = clock
        self._new_id = new_id
        self._index = Index(os.path.join(directory, "index.db"), self._on_disk)
        self._ours: dict[str, _Followed] = {}  # those we append to

    def create(self, cwd: str, model: str, mode: str, *, title: str = "") -> SessionLog:
        return self._started(Opened(self._new_id(), cwd, model, mode, title))

    def open(self, session_id: str) -> SessionLog:
        """For going on with it. Raises NotFound, or ToolConflict while another process has it open."""
        path = self._path(session_id)
        descriptor = open_file(path)
        entries = tuple(session_log.read(path))
        summary = summarise(entries)
        if summary is None:
            os.close(descriptor)
            raise NotFound("the session's first line is missing, so it cannot be read")
        return self._following(path, descriptor, entries[0].what, summary)

    def fork(self, session_id: str, cwd: str | None = None) -> SessionLog:
        """A new session that begins where this one stands."""
        entries = self.read(session_id)
        summary = summarise(entries)
        if summary is None:
            raise NotFound("there is nothing in this session to be forked")
        opened = Opened(
            self._new_id(), cwd or summary.cwd, summary.model, summary.mode, summary.title, forked_from=summary.id
        )
        log = self._started(opened)
        for entry in entries[1:]:
            if not isinstance(entry.what, Renamed | Configured):
                log.append(entry.what)
        return log

    def rename(self, session_id: str, title: str) -> None:
        """Also while it is open elsewhere: a line more does not disturb."""
        path = self._path(session_id)
        self.read(session_id)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            close_off(descriptor)
            entry = Entry(int(self._clock() * 1_000), Renamed(title[:LONGEST_TITLE]))
            session_log.write_whole(descriptor, msgspec.json.encode(entry) + b"\n")
        finally:
            os.close(descriptor)
        self._refresh([session_id])
        if session_id in self._ours:
            self._ours[session_id].note([entry])

    def delete(self, session_id: str) -> bool:
        """False if it was not there."""
        path = self._path(session_id)
        self._ours.pop(session_id, None)
        self._index.remove(session_id)
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        return True

    def list(self, cwd: str | None = None, cursor: str | None = None, limit: int = PAGE) -> Page:
        """Newest first, then by id. A cursor is what an earlier page gave as `next_cursor`."""
        if limit < 1:
            raise UsageError("a page holds at least one session")
        after = None if cursor is None else _read_cursor(cursor)
        for followed in self._ours.values():
            self._index.put(followed.summary, is_open=True)
        self._refresh(one for one in self._index.open_ones() if one not in self._ours)
        found = self._index.page(cwd, after, limit + 1)
        page, more = found[:limit], len(found) > limit
        return Page(tuple(page), _cursor(page[-1]) if more else None)

    def read(self, session_id: str) -> tuple[Entry, ...]:
        """Everything in it, without opening it."""
        return tuple(session_log.read(self._path(session_id)))

    def find(self, beginning: str) -> str:
        """The one session whose id begins like this."""
        found = self._index.starting_with(beginning) if beginning else []
        if len(found) != 1:
            says = f"no session begins with {beginning!r}" if not found else f"{beginning!r} fits {len(found)} sessions"
            raise NotFound(says, hint='See "signoff sessions list"; -c goes on with the last one.')
        return found[0]

    def close(self) -> None:
        self._index.close()

    def _started(self, opened: Opened) -> SessionLog:
        path = self._path(opened.session_id)
        entry = Entry(int(self._clock() * 1_000), opened)
        summary = summarise([entry])
        assert summary is not None
        self._index.put(summary, is_open=True)  # first: a row without a log is dropped, a log without a row is lost
        descriptor = open_file(path, new=True)
        session_log.write_whole(descriptor, msgspec.json.encode(entry) + b"\n")
        return self._following(path, descriptor, opened, summary)

    def _following(self, path: str, descriptor: int, opened: object, summary: Summary) -> SessionLog:
        assert isinstance(opened, Opened)
        followed = self._ours[summary.id] = _Followed(summary)
        self._index.put(summary, is_open=True)

        def closed() -> None:
            if self._ours.pop(summary.id, None) is not None:
                self._refresh([summary.id])  # another process may have renamed it

        return SessionLog(path, descriptor, opened, self._clock, followed.note, closed)

    def _refresh(self, ids: Iterable[str]) -> None:
        """Bring rows up to date with their logs; those without a log go."""
        for session_id in ids:
            try:
                summary = summarise(session_log.read(self._path(session_id)))
            except NotFound:
                summary = None
            if summary is None:
                self._index.remove(session_id)
            else:
                self._index.put(summary, is_open=self._is_held(session_id))

    def _is_held(self, session_id: str) -> bool:
        try:
            os.close(open_file(self._path(session_id)))
        except ToolConflict:
            return True
        except (NotFound, OSError):
            return False
        return False

    def _on_disk(self) -> Iterator[Summary]:
        for name in os.listdir(self._directory):
            if name.endswith(_ENDING):
                with contextlib.suppress(OSError):
                    summary = summarise(session_log.read(os.path.join(self._directory, name)))
                    if summary is not None:
                        yield summary

    def _path(self, session_id: str) -> str:
        if not is_name(session_id):
            raise NotFound("that is no session id", hint='See "signoff sessions list".')
        return os.path.join(self._directory, session_id + _ENDING)


class _Followed:
    """What a list would say of a session that grows. The time of its last event is put in when somebody asks."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._last: Entry | None = None

    def note(self, entries: Sequence[Entry]) -> None:
        self._last = entries[-1]
        for entry in entries:
            kind = type(entry.what)
            if kind in _LISTED or (kind is Said and not self._summary.title):
                self._summary = msgspec.structs.replace(self._summary, **_told(self._summary, entry.what))

    @property
    def summary(self) -> Summary:
        return self._summary if self._last is None else with_entry(self._summary, self._last)


def is_name(session_id: str) -> bool:
    """Could a session be called so? Nothing else is made into a path."""
    known = all(character.isascii() and (character.isalnum() or character in "-_") for character in session_id)
    return known and 0 < len(session_id) <= LONGEST_ID


def summarise(entries: Iterable[Entry]) -> Summary | None:
    """What a list says of a session. None: it does not even begin."""
    summary: Summary | None = None
    for entry in entries:
        if summary is not None:
            summary = with_entry(summary, entry)
        elif isinstance(entry.what, Opened):
            what = entry.what
            summary = Summary(
                what.session_id, what.cwd, what.title, what.model, what.mode, what.forked_from, entry.ts, entry.ts
            )
        else:
            return None
    return summary


def with_entry(summary: Summary, entry: Entry) -> Summary:
    updated = max(entry.ts, summary.updated_ms)
    return msgspec.structs.replace(summary, updated_ms=updated, **_told(summary, entry.what))


def _told(summary: Summary, what: SessionEvent) -> dict[str, str]:
    """What an event changes in a list, but for the time."""
    if isinstance(what, Said):
        if not summary.title and what.message.role == "user":
            return {"title": first_line(what.message.text)}
    elif isinstance(what, Configured):
        if what.option in ("mode", "model"):
            return {what.option: what.value}
    elif isinstance(what, Renamed):
        return {"title": what.title}
    return {}


def _cursor(last: Summary) -> str:
    where = f"{last.updated_ms} {last.id}".encode()
    return base64.urlsafe_b64encode(b"%d %b" % (zlib.crc32(where), where)).decode().rstrip("=")


def _read_cursor(text: str) -> tuple[int, str]:
    """Only what `_cursor` gave, to the last character: the place would be another one otherwise."""
    try:
        check, _, where = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).partition(b" ")
        if int(check) != zlib.crc32(where):
            raise ValueError("cut or changed")
        when, session_id = where.decode().split(" ")
        return int(when), session_id
    except (ValueError, binascii.Error) as error:
        raise UsageError("that is no cursor of a list of sessions") from error
