"""codebase_search: plain words find code; the index follows the files; without one it says so."""

import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from signoff.domain.settings import SandboxSettings
from signoff.sandbox.profile import resolve
from signoff.sandbox.sessions import Sessions
from signoff.tools import meaning
from signoff.tools.codebase_search import CodebaseSearch
from signoff.tools.meaning import by_meaning
from signoff.tools.search_index import Found, SearchIndex, query_of, words
from tests.clauses import requirement
from tests.tools.workbench import Workbench, write

BY = "index and meaning" if meaning.available() else "index"
FILES = {
    "net/http_client.py": "class HTTPClient:\n    def fetchPage(self, url):\n        retry_with_backoff(url)\n",
    "db/store.py": "def save_record(row):\n    connection.execute('insert')\n",
    "docs/guide.md": "How to configure the database connection.\n",
    "out/built.py": "def save_record(): pass\n",
    ".gitignore": "out/\n",
    ".env": "SAVE_RECORD_TOKEN=1\n",
}


@pytest.fixture
def bench(tmp_path: pathlib.Path) -> Iterator[Workbench]:
    for name, content in FILES.items():
        write(tmp_path / "space" / name, content)
    with Sessions(resolve(SandboxSettings(), str(tmp_path / "space")), dict(os.environ)) as sandboxes:
        yield Workbench(tmp_path, sandboxes=sandboxes, tools=[CodebaseSearch(str(tmp_path / "cache"))])


def search(bench: Workbench, query: str, *directories: str) -> dict[str, Any]:
    result = bench.call("codebase_search", query=query, target_directories=list(directories))
    assert result.error is None
    return result.payload or {}


@requirement("CLU-037")
def test_plain_words_find_names_in_code(bench: Workbench) -> None:
    for query, first in (
        ("fetch a page with http", "net/http_client.py"),
        ("where are records saved", "db/store.py"),
        ("retry backoff", "net/http_client.py"),
    ):
        found = search(bench, query)
        assert (found["by"], found["hits"][0]["path"], found["hits"][0]["first_line"]) == (BY, first, 1), query
    paths = {hit["path"] for hit in search(bench, "save record token")["hits"]}
    assert paths == {"db/store.py"}  # neither what is ignored nor what holds secrets
    assert {hit["path"] for hit in search(bench, "connection", "docs")["hits"]} == {"docs/guide.md"}
    assert search(bench, "?!")["hits"] == ()


def test_the_index_follows_the_files(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "w" / "a.py", "alpha\n")
    write(tmp_path / "w" / "b.py", "beta\n")
    index = SearchIndex(str(tmp_path / "i.db"), str(tmp_path / "w"))
    assert index.refresh(lambda path: True) == 2
    assert index.refresh(lambda path: True) == 0
    write(tmp_path / "w" / "a.py", "gamma delta\n")
    os.utime(tmp_path / "w" / "b.py", (1, 1))  # touched, not changed
    assert index.refresh(lambda path: True) == 1
    assert [one.path for one in index.search("gamma", (), 5)] == ["a.py"]
    assert index.search("alpha", (), 5) == []
    (tmp_path / "w" / "b.py").unlink()
    index.refresh(lambda path: True)
    assert index.search("beta", (), 5) == []
    assert index.search('" OR * NEAR(', (), 5) == []
    index.close()


def test_without_an_index_words_are_grepped_and_that_is_said(bench: Workbench, tmp_path: pathlib.Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    found = search(bench, "save record")
    assert found["by"] == "words"
    assert "no index" in found["note"]
    assert found["hits"][0]["path"] == "db/store.py"


def test_words_are_split_where_people_join_them() -> None:
    assert words("readFile read_file HTTPServer2 été") == "read File readFile read file HTTP Server 2 HTTPServer2 été"


def test_meaning_puts_what_was_meant_before_what_only_has_the_word() -> None:
    if not meaning.available():
        pytest.skip("the extra embedding is not installed")
    found = [
        Found("notes.txt", 1, "the bank of the river was muddy after the rain, and the boat lay there", 2.0),
        Found("pay.py", 1, "def transfer_money(account): bank.withdraw(account, amount)", 1.9),
        Found("last.txt", 1, "bank", 0.1),
    ]

    assert by_meaning("send money from a bank account", found)[0].path == "pay.py"
    assert sorted(one.path for one in by_meaning("bank", found)) == ["last.txt", "notes.txt", "pay.py"]


def test_words_that_say_nothing_are_not_asked_for() -> None:
    assert query_of("Where is the readFile of this?") == '"read" OR "file" OR "readfile"'
    assert query_of("what is this") == '"what" OR "is" OR "this"'
    assert query_of("!?") == ""
