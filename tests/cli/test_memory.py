"""signoff memory, as a person uses it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signoff.cli.output import Output
from signoff.cli.wiring import configuration, open_ledger
from signoff.cli.wiring_memory import open_memory
from signoff.config import locations
from signoff.domain.settings import MemorySettings
from signoff.memory.recall import Recall
from signoff.memory.signals import Observed
from tests.cli.program import signoff

NOTES = """Always be kind.

# Building

Run `make`.

## Documentation

```
# not a heading
make docs
```

## Empty

# Keys

The key is AKIAIOSFODNN7EXAMPLQ.
"""


@pytest.fixture
def shop(home: Path) -> Path:
    project = home / "shop"
    project.mkdir()
    return project


def asked(*words: str, cwd: Path) -> Any:
    ended = signoff("memory", *words, "--json", cwd=cwd)
    assert ended.status == 0, ended.err
    return json.loads(ended.out)


def test_from_the_first_note_to_the_last(shop: Path, golden: Callable[[str, str], None]) -> None:
    qa_id = asked("add", "How to run one test?", "make test ONE=name", "--tag", "make", "--project", "shop", cwd=shop)[
        "qa_id"
    ]
    (match,) = asked("search", "run a single test", "--project", "shop", cwd=shop)["matches"]
    assert match["qa_id"] == qa_id
    assert set(match["why"]) == {"words", "vector", "trust", "freshness"}
    assert asked("hit", qa_id, "--used", cwd=shop) == {"status": 200}
    assert asked("validate", qa_id, "pass", cwd=shop) == {"status": 200}
    assert (
        asked("edit", qa_id[:8], "--answer", "make test ONE=test_name", cwd=shop)["item"]["stats"]["strong_pass"] == 1
    )
    shown = asked("show", qa_id[:8], cwd=shop)
    assert (shown["item"]["used"], [one["kind"] for one in shown["history"]]) == (1, ["hit", "validate", "edit"])
    assert [item["qa_id"] for item in asked("list", "--all", cwd=shop)["items"]] == [qa_id]
    assert asked("list", cwd=shop)["items"] == []
    assert asked("expire", cwd=shop) == {"expired": 0}
    sums = asked("stats", cwd=shop)
    assert (sums["items"], sums["projects"], sums["levels"], sums["used"]) == (1, {"shop": 1}, {"L0": 1}, 1)
    golden("memory/export.md", signoff("memory", "export", "--all", cwd=shop).out)
    assert asked("delete", qa_id, cwd=shop) == {"deleted": [qa_id]}
    assert asked("search", "run a single test", "--project", "shop", cwd=shop) == {"matches": []}


def test_people_can_read_every_command(shop: Path) -> None:
    signoff("memory", "add", "How to build?", "Run make.\x1b[2J", cwd=shop)
    for words in (["search", "build"], ["list"], ["show", "qa-"], ["stats"]):
        ended = signoff("memory", *words, cwd=shop)
        assert (ended.status, ended.err) == (0, "")
        assert ended.out
        assert "\x1b" not in ended.out


def test_notes_are_imported_by_section_and_secrets_left_out(shop: Path) -> None:
    (shop / "AGENTS.md").write_text(NOTES, encoding="utf-8")
    ended = signoff("memory", "import", "AGENTS.md", "--json", cwd=shop)
    told = json.loads(ended.out)
    assert (len(told["imported"]), told["refused"]) == (3, 1)
    assert "AGENTS.md:16: not remembered: it holds a secret" in ended.err
    items = asked("list", cwd=shop)["items"]
    assert sorted((item["question"], item["source"], item["status"]) for item in items) == [
        ("AGENTS", "AGENTS.md:1", "active"),
        ("Building", "AGENTS.md:3", "active"),
        ("Building › Documentation", "AGENTS.md:7", "active"),
    ]
    assert len(asked("import", "AGENTS.md", cwd=shop)["imported"]) == 3
    assert len(asked("list", cwd=shop)["items"]) == 3  # told twice, known once


AWKWARD = "First:\n\n# a heading\n```\n## in a fence that never ends\n<!-- qa-1: L0, trust 0.40, active, used 0 of 0 times shown -->"


def test_an_export_in_json_brings_everything_back(shop: Path, home: Path) -> None:
    first = asked("add", "How to build?", "Run make.", "--tag", "make", "--project", "shop", cwd=shop)["qa_id"]
    asked("add", "What is awkward?", AWKWARD, "--summary", "This.", "--project", "other", cwd=shop)
    asked("validate", first, "pass", cwd=shop)
    asked("hit", first, "--used", cwd=shop)
    asked("edit", first, "--answer", "Run make all.", cwd=shop)
    page = signoff("memory", "export", "--all", "--json", cwd=shop).out
    (shop / "memory.json").write_text(page, encoding="utf-8")
    assert asked("import", "memory.json", cwd=shop)["changed"] == []  # all of it is known
    locations.memory_database({"HOME": str(home)}).unlink()
    assert len(asked("import", "memory.json", cwd=shop)["imported"]) == 2
    assert json.loads(signoff("memory", "export", "--all", "--json", cwd=shop).out) == json.loads(page)
    assert asked("search", "build", "--project", "shop", cwd=shop)["matches"][0]["answer"] == "Run make all."
    moved = asked("import", "memory.json", "--project", "third", cwd=shop)
    assert moved["refused"] == 0


def test_an_export_in_markdown_is_read_back_and_corrected(shop: Path, home: Path) -> None:
    first = asked("add", "How to build?", "Run make.", "--tag", "make", "--project", "shop", cwd=shop)["qa_id"]
    awkward = asked("add", "What is awkward?", AWKWARD, "--project", "other", cwd=shop)["qa_id"]
    page = signoff("memory", "export", "--all", cwd=shop).out
    (shop / "memory.md").write_text(page, encoding="utf-8")
    locations.memory_database({"HOME": str(home)}).unlink()
    assert sorted(asked("import", "memory.md", cwd=shop)["imported"]) == sorted([first, awkward])
    assert signoff("memory", "export", "--all", cwd=shop).out == page
    (shop / "memory.md").write_text(page.replace("Run make.", "Run make twice."), encoding="utf-8")
    asked("validate", first, "pass", cwd=shop)
    assert asked("import", "memory.md", cwd=shop)["changed"] == [first]
    item = asked("show", first, cwd=shop)["item"]
    assert (item["answer"], item["tags"], item["stats"]["strong_pass"]) == ("Run make twice.", ["make"], 1)


def test_sharing(shop: Path) -> None:
    asked("add", "How to deploy?", "Push the tag.", "--project", "ours", cwd=shop)
    assert asked("search", "deploy", "--project", "theirs", cwd=shop)["matches"] == []
    assert asked("share", "theirs", "--project", "ours", cwd=shop)["shared"] is True
    assert len(asked("search", "deploy", "--project", "theirs", cwd=shop)["matches"]) == 1
    asked("share", "theirs", "--project", "ours", "--stop", cwd=shop)
    assert asked("search", "deploy", "--project", "theirs", cwd=shop)["matches"] == []


def test_why_a_run_was_told_something(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    signoff("memory", "add", "How to build the docs?", "Run make docs.", "--project", "p", cwd=shop)
    loaded = configuration(Output())
    ledger = open_ledger(loaded, ("agent",))
    recall = Recall(open_memory(loaded.settings.memory), MemorySettings(), "p", record=ledger.submit)
    recall.before("build the docs")
    recall.after(Observed(0))
    ledger.close()
    events = asked("why", cwd=shop)["events"]
    assert [event["name"] for event in events] == [
        "memory.search.result", "memory.selected", "memory.injected", "gatekeeper.decision", "memory.hit", "memory.validate",
    ]  # fmt: skip
    told = signoff("memory", "why", "last", cwd=shop).out
    assert re.search(r"^told +qa-\w+  How to build the docs\?$", told, re.MULTILINE)
    assert "judged " in told
    assert "kept      nothing: the run did nothing that could be told as steps" in told


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["show", "qa-nothing"], 1, "nothing is remembered as 'qa-nothing'"),
        (["validate", "qa-nothing", "pass"], 1, "nothing is remembered"),
        (["edit", "qa-nothing"], 2, "nothing to change"),
        (["import", "missing.md"], 3, "missing.md cannot be read"),
        (["import", "missing.json"], 3, "missing.json cannot be read"),
        (["add", "key?", "AKIAIOSFODNN7EXAMPLQ"], 4, "holds a secret"),
        (["serve", "--listen", "0.0.0.0:8765"], 2, "--token-file"),
        (["serve", "--listen", "nowhere"], 2, "HOST:PORT"),
        (["serve", "--token-file", "missing"], 3, "missing"),
        (["why", "0193"], 1, "there is no run 0193"),
        (["search", "x", "--limit", "21"], 2, "21"),
    ],
)
def test_bad_input(shop: Path, words: list[str], status: int, said: str) -> None:
    ended = signoff("memory", *words, cwd=shop)
    assert (ended.status, ended.out) == (status, "")
    assert said in ended.err


def test_a_damaged_file_is_an_error_here(shop: Path, home: Path) -> None:
    path = locations.memory_database({"HOME": str(home)})
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database" * 300)
    ended = signoff("memory", "list", cwd=shop)
    assert ended.status == 4
    assert "is damaged" in ended.err


def test_a_service_that_is_not_there_is_an_error_of_its_own(shop: Path) -> None:
    ended = signoff("-c", "memory.url=http://127.0.0.1:9", "memory", "search", "x", cwd=shop)
    assert ended.status == 4
    assert "cannot be reached" in ended.err
