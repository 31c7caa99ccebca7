"""The catalog equals the published tables, and the guard finds every way to differ from it."""

import json

from signoff.acp.catalog import CATALOG, deviations
from signoff.wire import acp_schema
from tests.acp.schema import FOLDER
from tests.clauses import requirement


def published(name: str, side: str) -> set[str]:
    return set(json.loads((FOLDER / name).read_text(encoding="utf-8"))[f"{side}Methods"].values())


@requirement("ACP-110", "ACP-111")
def test_the_baselines_are_the_published_tables() -> None:
    for side in ("agent", "client"):
        stable = published("meta.json", side)
        assert set(CATALOG.stable_baseline[side]) == stable  # type: ignore[index]
        assert set(CATALOG.unstable_baseline[side]) == published("meta.unstable.json", side) - stable  # type: ignore[index]
    assert set(acp_schema.PROTOCOL_METHODS) == published("meta.json", "protocol")


@requirement("ACP-112")
def test_set_model_is_the_only_method_of_our_own_and_fork_the_only_unstable_one() -> None:
    assert CATALOG.project_extensions == {"agent": ("session/set_model",)}
    assert CATALOG.unstable_supported == {"agent": ("session/fork",)}
    assert CATALOG.all_supported("agent") == {*published("meta.json", "agent"), "session/fork", "session/set_model"}
    assert CATALOG.all_supported("client") == published("meta.json", "client")


def test_every_method_of_the_catalog_has_its_types() -> None:
    assert set(acp_schema.AGENT_METHODS) == CATALOG.all_supported("agent")
    assert set(acp_schema.CLIENT_METHODS) == CATALOG.all_supported("client")


def test_the_guard_names_what_is_missing_unstable_or_unheard_of() -> None:
    supported = set(CATALOG.all_supported("agent"))
    assert deviations("agent", supported | {"_own"}) == []
    assert deviations("agent", (supported - {"logout"}) | {"session/archive", "session/stop"}) == [
        "logout: no handler",
        "session/archive: unstable, and not one we support",
        "session/stop: in no table of the protocol",
    ]
