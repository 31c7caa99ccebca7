"""The store stays within its bounds: the oldest calls go, and copies that nobody needs."""

import os
import pathlib
import time

import pytest

from signoff.undo.prune import Bounds, Pruned, in_use, prune, prune_sometimes
from signoff.undo.records import history
from signoff.undo.snapshot import Undo
from tests.tools.workbench import write

HOUR, DAY = 3_600 * 1_000_000_000, 86_400 * 1_000_000_000


class Shop:
    def __init__(self, directory: pathlib.Path) -> None:
        self.store, self.space = directory / "undo", directory / "space"
        self.space.mkdir()

    def change(self, call: str, *, size: int = 1_000) -> None:
        undo = Undo(str(self.store), str(self.space), "run-1")
        saved = undo.before(call, "write_file", [str(self.space / call)])
        write(self.space / call, call[0] * size)
        saved.after()

    def prune(self, bounds: Bounds, *, later: int = 2 * HOUR) -> Pruned:
        return prune(str(self.store), bounds, now_ns=time.time_ns() + later)

    def calls(self) -> list[str]:
        return [one.call_id for one in history(str(self.store))]

    def objects(self) -> int:
        return sum(len(files) for _, _, files in os.walk(self.store / "objects"))


@pytest.fixture
def shop(tmp_path: pathlib.Path) -> Shop:
    return Shop(tmp_path)


def test_the_oldest_calls_go_when_there_is_too_much(shop: Shop) -> None:
    for call in ("a", "b", "c"):
        shop.change(call)

    done = shop.prune(Bounds(max_bytes=2_500))

    assert (shop.calls(), shop.objects()) == (["b", "c"], 2)
    assert done == Pruned(calls=1, objects=1, bytes_freed=1_000, bytes_left=2_000)


def test_calls_go_when_they_are_old(shop: Shop) -> None:
    shop.change("a")

    assert shop.prune(Bounds(keep_days=3), later=2 * DAY).calls == 0
    assert shop.prune(Bounds(keep_days=3), later=4 * DAY).calls == 1
    assert (shop.calls(), shop.objects()) == ([], 0)


def test_what_was_written_lately_stays_whatever_the_bounds(shop: Shop) -> None:
    shop.change("a")

    assert shop.prune(Bounds(max_bytes=1), later=0) == Pruned(0, 0, 0, 1_000)


def test_a_copy_that_a_newer_call_needs_stays(shop: Shop) -> None:
    undo = Undo(str(shop.store), str(shop.space), "run-1")
    for call, content in (("one", "x" * 100), ("two", "y" * 100), ("three", "x" * 100)):
        saved = undo.before(call, "write_file", [str(shop.space / "f")])
        write(shop.space / "f", content)
        saved.after()

    shop.prune(Bounds(max_bytes=200))

    assert shop.calls() == ["one", "two", "three"], "two copies serve three calls"
    shop.prune(Bounds(max_bytes=199))
    assert shop.calls() == []


def test_copies_of_unchanged_files_stay_while_there_is_room(shop: Shop) -> None:
    write(shop.space / "same", "s" * 500)
    os.utime(shop.space / "same", ns=(0, 0))
    past = time.time_ns()
    while time.time_ns() - past < 60_000_000:  # a file that has just changed is not remembered
        pass
    undo = Undo(str(shop.store), str(shop.space), "run-1")
    undo.before("a", "exec", None).after()

    assert shop.objects() == 1
    shop.prune(Bounds(max_bytes=600))
    assert shop.objects() == 1
    shop.prune(Bounds(max_bytes=400))
    assert shop.objects() == 0
    undo.before("b", "exec", None).after()
    assert shop.objects() == 1, "it is saved again"


def test_nothing_is_removed_while_somebody_saves(shop: Shop) -> None:
    shop.change("a")
    with in_use(str(shop.store)):
        prune_sometimes(str(shop.store), Bounds(max_bytes=1))
        assert not (shop.store / "pruned").exists()
    prune_sometimes(str(shop.store), Bounds(max_bytes=1))
    assert (shop.store / "pruned").exists()


def test_it_happens_by_itself_with_the_first_call_of_a_run_once_an_hour(shop: Shop) -> None:
    shop.change("a")
    old = time.time_ns() - 2 * HOUR
    (record,) = (shop.store / "calls" / "run-1").iterdir()
    record.write_bytes(record.read_bytes().replace(b'"at_ms":', b'"at_ms":0,"was":'))
    (copy,) = (path for path in (shop.store / "objects").rglob("*") if path.is_file())
    os.utime(copy, ns=(old, old))

    bounds = Bounds(max_bytes=1)
    Undo(str(shop.store), str(shop.space), "run-2", bounds=bounds).before("b", "t", [str(shop.space / "b")]).after()

    assert (shop.calls(), copy.exists()) == ([], False)
