"""What the redactor promises whoever holds it."""

import pytest

from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor, keyed_digest
from signoff.ledger.redact.mask import KINDS
from signoff.ledger.redact.names import Promise, promise

TOKEN = "ghp_" + "kbwd2ef338fdnhldib49kaji8y5e01j6rqv2"


def test_a_text_comes_back_without_the_secret_and_the_holder_can_restore_it() -> None:
    redactor = Redactor(Redact.BASIC)
    masked = redactor.text(f"export GH={TOKEN} # deploy")
    assert TOKEN not in masked
    assert redactor.restore(masked) == f"export GH={TOKEN} # deploy"
    assert Redactor(Redact.BASIC).restore(masked) == masked


def test_an_irreversible_redactor_masks_without_a_trace_of_the_secret() -> None:
    redactor = Redactor(Redact.BASIC, reversible=False)
    assert redactor.text(f"export GH={TOKEN}") == "export GH=REDACTED_github"
    assert redactor.kinds == {"github"}


def test_off_changes_nothing() -> None:
    redactor = Redactor(Redact.OFF)
    assert redactor.text(TOKEN) == TOKEN
    assert redactor.value({"password": TOKEN}) == {"password": TOKEN}
    stream = redactor.stream()
    assert stream.feed(TOKEN.encode()) + stream.finish() == TOKEN.encode()


def test_a_value_keeps_its_structure() -> None:
    redactor = Redactor(Redact.BASIC, reversible=False)
    assert redactor.value(
        {"cmd": ["login", "--password", "hunter2!x"], "n": 1, "env": {"API_TOKEN": "k1d6amt6rip1ifh96"}}
    ) == {
        "cmd": ["login", "--password", "REDACTED_assigned"],
        "n": 1,
        "env": {"API_TOKEN": "REDACTED_assigned"},
    }


def test_a_keyed_digest_ignores_the_order_of_fields_and_needs_the_key() -> None:
    assert (
        keyed_digest({"a": 1, "b": 2}, b"k")
        == keyed_digest({"b": 2, "a": 1}, b"k")
        != keyed_digest({"a": 1, "b": 2}, b"other")
    )


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_kind_promises_a_secret_to_a_second_pass(kind: str) -> None:
    assert promise(f"REDACTED_{kind}") is Promise.NONE
