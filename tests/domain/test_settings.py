"""What a project may change, setting by setting."""

import enum
import itertools

import pytest

from signoff.config.schema import KEYS
from signoff.domain.settings import (
    PROJECT_MAY,
    SECRETS,
    ApprovalPolicy,
    Change,
    DefaultAction,
    Network,
    OnAsk,
    Redact,
    SandboxMode,
    project_may_change,
)


def test_the_tables_name_settings_that_exist() -> None:
    assert set(PROJECT_MAY) | SECRETS <= set(KEYS)


@pytest.mark.parametrize("key", sorted(set(KEYS) - set(PROJECT_MAY)))
def test_what_names_a_file_a_key_a_destination_or_a_tool_or_bounds_the_way_back_is_the_users_alone(key: str) -> None:
    assert not project_may_change(key, None, "anything")
    assert key in SECRETS or key.startswith("undo.") or not KEYS[key].default


@pytest.mark.parametrize(
    ("key", "before", "after", "allowed"),
    [
        ("sandbox.mode", SandboxMode.WORKSPACE_WRITE, SandboxMode.READ_ONLY, True),
        ("sandbox.mode", SandboxMode.READ_ONLY, SandboxMode.WORKSPACE_WRITE, False),
        ("sandbox.mode", SandboxMode.WORKSPACE_WRITE, SandboxMode.EXTERNAL_SANDBOX, False),
        ("sandbox.mode", SandboxMode.DANGER_FULL_ACCESS, SandboxMode.DANGER_FULL_ACCESS, True),
        ("sandbox.network", Network.ON, Network.LIMITED, True),
        ("sandbox.network", Network.OFF, Network.LIMITED, False),
        ("policy.default_action", DefaultAction.ASK, DefaultAction.DENY, True),
        ("policy.default_action", DefaultAction.ASK, DefaultAction.ALLOW, False),
        ("policy.on_ask", OnAsk.DENY, OnAsk.FAIL, True),
        ("policy.on_ask", OnAsk.FAIL, OnAsk.DENY, False),
        ("ledger.redact", Redact.BASIC, Redact.STRICT, True),
        ("ledger.redact", Redact.BASIC, Redact.OFF, False),
        ("sandbox.writable_roots", ("/a", "/b"), ("/b",), True),
        ("sandbox.writable_roots", ("/a",), ("/a", "/b"), False),
        ("sandbox.exclude_slash_tmp", False, True, True),
        ("sandbox.exclude_slash_tmp", True, False, False),
        ("memory.enabled", True, False, True),
        ("memory.enabled", False, True, False),
        ("sandbox.max_processes", 256, 10, True),
        ("sandbox.max_processes", 256, 257, False),
        ("memory.limit", 6, 20, True),
    ],
)
def test_a_project_narrows_and_never_widens(key: str, before: object, after: object, allowed: bool) -> None:
    assert project_may_change(key, before, after) is allowed


def test_a_project_may_ask_for_more_questions_or_for_none_at_all_but_not_swap_the_two() -> None:
    allowed = {
        (before, after)
        for before, after in itertools.permutations(ApprovalPolicy, 2)
        if project_may_change("approval", before, after)
    }
    strict, loose = (
        (ApprovalPolicy.UNTRUSTED, ApprovalPolicy.NEVER),
        (ApprovalPolicy.ON_FAILURE, ApprovalPolicy.ON_REQUEST),
    )
    assert allowed == set(itertools.product(loose, strict))


@pytest.mark.parametrize("key", [key for key, change in PROJECT_MAY.items() if change is Change.STRICTER])
def test_narrowing_twice_is_narrowing_and_there_is_no_way_back(key: str) -> None:
    members: list[enum.Enum] = list(KEYS[key].type)
    narrower = {pair for pair in itertools.permutations(members, 2) if project_may_change(key, *pair)}
    assert narrower, key
    assert all((b, a) not in narrower for a, b in narrower)
    assert all((a, d) in narrower for (a, b), (c, d) in itertools.product(narrower, repeat=2) if b == c)
