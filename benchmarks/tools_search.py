"""What looking for something costs: grep against ripgrep itself, the index against plain FTS5, a piece of a huge file."""

import asyncio
import os
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure, Unavailable, at_most, medians
from signoff.domain.settings import SandboxSettings
from signoff.sandbox.profile import resolve
from signoff.sandbox.sessions import Allowance, Sessions
from signoff.tools.grep import Grep, GrepArguments
from signoff.tools.meaning import by_meaning
from signoff.tools.read_file import ReadArguments, ReadFile
from signoff.tools.ripgrep import program
from signoff.tools.search_index import SearchIndex, query_of
from signoff.tools.tool import Attempt, Place

FILES, CHUNKS, PIECES_A_FILE, HUGE = 100_000, 100_000, 100, 1 << 30
GREP_BAR, SEARCH_BAR, READ_BAR = 1.3, 1.5, 8.0
WORDS = [
    "parse",
    "render",
    "session",
    "token",
    "buffer",
    "window",
    "socket",
    "policy",
    "ledger",
    "record",
    "review",
    "sandbox",
    "profile",
    "index",
    "query",
]
QUESTIONS = ("where is the session token parsed", "render a window into the buffer", "policy review of a record")


def measure() -> list[Figure]:
    return [_grep(), _search(), _read()]


def _grep() -> Figure:
    """Through the tool, in a warm sandbox; the reference is started anew each time, as a shell would."""
    ripgrep = program()
    if ripgrep is None:
        raise Unavailable("ripgrep")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        top = Path(name).resolve()
        for number in range(FILES):
            file = top / f"d{number // 1_000}" / f"f{number}.txt"
            if number % 1_000 == 0:
                file.parent.mkdir()
            file.write_text(f"line {number}\n" + ("the needle\n" if number % 500 == 0 else "hay\n"))
        profile = resolve(SandboxSettings(readable_roots=(ripgrep,)), str(top))
        with Sessions(profile, os.environ) as sandboxes:
            attempt = _attempt(top, sandboxes)
            arguments = GrepArguments("the needle")
            words = [ripgrep, "--hidden", "--no-config", "-n", "the needle", str(top)]
            seconds = medians(
                {
                    "tool": lambda: asyncio.run(Grep(lambda: ripgrep).run(arguments, attempt)),
                    "ripgrep": lambda: subprocess.run(words, stdout=subprocess.PIPE, check=True),
                },
                rounds=7,
            )
    ratio = seconds["tool"] / seconds["ripgrep"]
    return at_most(f"grep in {FILES:,} files", ratio, GREP_BAR, reference="ripgrep by itself")


def _search() -> Figure:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        for number in range(CHUNKS // PIECES_A_FILE):
            (top / f"f{number}.py").write_text("\n".join(_line(number, line) for line in range(PIECES_A_FILE * 40)))
        index = SearchIndex(str(top / ".git" / "index.db"), str(top))
        index.refresh(lambda path: True)
        plain = sqlite3.connect(top / ".git" / "index.db")

        def ask() -> None:
            for question in QUESTIONS:
                by_meaning(question, index.search(question, (), 40))

        def ask_plainly() -> None:
            for question in QUESTIONS:
                plain.execute(
                    "SELECT rowid, bm25(words, 4.0, 1.0) AS rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT 40",
                    (query_of(question),),
                ).fetchall()

        seconds = medians({"index": ask, "fts5": ask_plainly}, rounds=7)
        plain.close()
        index.close()
    ratio = seconds["index"] / seconds["fts5"]
    return at_most(f"codebase_search in {CHUNKS:,} pieces", ratio, SEARCH_BAR, reference="FTS5, the same words")


def _read() -> Figure:
    """A hundred lines from line 1,000 on; what comes after them is not looked at."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        top = Path(name).resolve()
        with (top / "huge").open("wb") as file:
            file.write(b"line of text that is forty letters long\n" * 2_000)
            file.truncate(HUGE)
        before = _bytes_read()
        done = asyncio.run(ReadFile().run(ReadArguments("huge", offset=1_000, limit=100), _attempt(top, None)))
        used = _bytes_read() - before
    assert done.payload is not None and done.payload["lines"] == 100
    needed = 1_100 * 40  # up to the last line
    return at_most(
        "bytes read for 100 lines of 1 GiB", used / needed, READ_BAR, reference="bytes up to the last of them"
    )


def _line(number: int, line: int) -> str:
    one, other = WORDS[(number * 7 + line) % len(WORDS)], WORDS[(number + line // 40) % len(WORDS)]
    return f"{one}_{other} = {one}({line % 10})" if line % 8 == 0 else f"    {other} += {line}"


def _bytes_read() -> int:
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


def _attempt(top: Path, sandboxes: Sessions | None) -> Attempt:
    nothing: Any = None
    return Attempt(
        call_id="call",
        place=Place(str(top), "/nonexistent"),
        outside=False,
        start=lambda request, on_output=None: (sandboxes or nothing).start(request, Allowance(), on_output),
        begin=nothing,
        progress=lambda stream, text: None,
        show=lambda event: None,
        readable=lambda path: True,
        reachable=lambda host: False,
    )
