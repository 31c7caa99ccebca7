"""Nothing gets out: every attack through the real program and through a warm session, as root and as an ordinary user."""

import json
import pathlib
import shutil
import time
from collections.abc import Iterator

import pytest

from tests.sandbox import attacks
from tests.sandbox.arena import Arena, arena, arms, through_a_session, usable
from tests.sandbox.attacks import Attack


@pytest.fixture(scope="module", params=arms(), ids=lambda arm: arm.name)
def place(request: pytest.FixtureRequest) -> Iterator[Arena]:
    with arena(usable(request.param)) as made:
        yield made


def tidy(place: Arena) -> None:
    """Take away what earlier programs left in the workspace, which was theirs to change."""
    for path in place.workspace.iterdir():
        if not path.name.startswith((".git", ".env", "file.txt")):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def test_every_attack_is_stopped_in_one_warm_session(place: Arena) -> None:
    before = place.photograph()
    commands = [place.with_facts(one.language, one.code) for one in attacks.ALL]
    results = through_a_session(place, commands)
    through = [
        (one.name, result["stdout"], result["stderr"])
        for one, result in zip(attacks.ALL, results, strict=True)
        if one.judge == "both" and result["status"] == 0
    ]
    assert through == []
    assert place.photograph() == before
    assert all(result.get("backend") == "namespaces" for result in results)


@pytest.mark.parametrize("attack", attacks.ALL[::9], ids=lambda attack: attack.name)
def test_an_attack_is_stopped_through_the_command_line(place: Arena, attack: Attack) -> None:
    before = place.photograph()
    ran = place.run(*place.with_facts(attack.language, attack.code))
    assert attack.judge == "host" or ran.status != 0, ran
    assert place.photograph() == before


def test_nothing_outlives_its_call(place: Arena) -> None:
    commands = [place.with_facts(one.language, one.code) for one in attacks.LATE]
    results = through_a_session(place, commands)
    for one in attacks.LATE:
        place.run(*place.with_facts(one.language, one.code))
    assert [result["leftovers"] for result in results] == [pytest.approx(1, abs=1)] * len(results)
    time.sleep(3.2)  # as long as the longest of them would have waited
    assert not (place.workspace / "late").exists()


def measured(cases: pathlib.Path) -> list[dict[str, str]]:
    lines = (cases / "sandbox" / "probes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


HIDDEN_LOOKS_EMPTY = {"fs08"}  # what is out of view looks truncated from inside
NOT_A_VIOLATION = {"reaped", "timeout", "killed", "truncated", "private", "allowed-but-confined"}


def judge(probe: dict[str, str], status: object) -> bool:
    if probe["expected"] == "allowed":
        return status == 0
    if probe["expected"] == "blocked":
        return status != 0 or probe["id"] in HIDDEN_LOOKS_EMPTY
    return probe["expected"] in NOT_A_VIOLATION


def test_every_known_probe_is_stopped_and_every_control_works_in_a_warm_session(
    place: Arena, cases: pathlib.Path
) -> None:
    tidy(place)
    before = place.photograph()
    probes = measured(cases)
    results = through_a_session(place, [place.with_facts(probe["lang"], probe["code"]) for probe in probes])
    wrong = [
        (probe["id"], result)
        for probe, result in zip(probes, results, strict=True)
        if not judge(probe, result["status"])
    ]
    assert wrong == []
    time.sleep(3.2)  # as long as the slowest would have waited
    assert not (place.workspace / "late2").exists()
    assert place.photograph() == before


def test_every_known_probe_is_stopped_and_every_control_works_through_the_command_line(
    place: Arena, cases: pathlib.Path
) -> None:
    tidy(place)
    before = place.photograph()
    for probe in measured(cases):
        ran = place.run(*place.with_facts(probe["lang"], probe["code"]))
        assert judge(probe, ran.status), (probe["id"], ran)
    time.sleep(3.2)
    assert not (place.workspace / "late2").exists()
    assert place.photograph() == before
