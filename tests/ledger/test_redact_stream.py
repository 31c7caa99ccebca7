"""The same output for any cutting, nothing twice, nothing lost, nothing slow."""

import itertools
import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor
from signoff.ledger.redact.stream import AHEAD, WINDOW

TOKEN = "ghp_" + "kbwd2ef338fdnhldib49kaji8y5e01j6rqv2"
SNIPPETS = [
    TOKEN,
    "password: hunter2!x",
    "password:\n",
    "  x9Kq2mZr8Lw0pTb5\n",
    '"api_key": "x9Kq2mZr8Lw0pTb5"',
    "'x9Kq2mZr8Lw0pTb5x9Kq2m'",
    "key='",
    "token = ",
    "https://a:x8Fj2_kd@h/",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
    "-----END RSA PRIVATE KEY-----\n",
    "kind: Secret\ndata:\n  a: Ym9iOmI=\n",
    "Cookie: sid=0d98ef66290d7e50; ",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
    "bob@example.org 10.0.0.1 ",
    "REDACTED_github ",
    "REDACTED_assigned_0123abcd",
    " sha256=",
    "\\n",
    "\\",
    '"',
    "'",
    "\n",
    "\r\n",
    "é\x00ÿ ",
    "=",
    " ",
]
LEVELS = st.sampled_from([Redact.BASIC, Redact.STRICT])
TEXTS = st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=12), max_size=14).map("".join)
FEW = settings(max_examples=150, suppress_health_check=list(HealthCheck))


def whole(data: bytes, level: Redact = Redact.BASIC) -> bytes:
    return in_pieces(data, [], level)


def in_pieces(data: bytes, cuts: list[int], level: Redact = Redact.BASIC) -> bytes:
    stream = Redactor(level, reversible=False).stream()
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return b"".join(stream.feed(data[a:b]) for a, b in itertools.pairwise(edges)) + stream.finish()


@FEW
@given(TEXTS, st.lists(st.integers(0, 10_000), max_size=12), LEVELS)
def test_any_cutting_gives_the_same_output(text: str, cuts: list[int], level: Redact) -> None:
    data = text.encode("utf-8", "surrogatepass")
    assert in_pieces(data, cuts, level) == whole(data, level)
    assert Redactor(level, reversible=False).text(text).encode("utf-8", "surrogatepass") == whole(data, level)


@FEW
@given(TEXTS, LEVELS)
def test_a_second_pass_changes_nothing_and_no_line_is_lost(text: str, level: Redact) -> None:
    redactor = Redactor(level, reversible=False)
    once = redactor.text(text)
    assert redactor.text(once) == once
    assert once.count("\n") == text.count("\n")


@FEW
@given(TEXTS, LEVELS)
def test_whoever_holds_the_redactor_gets_everything_back(text: str, level: Redact) -> None:
    redactor = Redactor(level)
    masked = redactor.text(text)
    if "number" not in redactor.kinds:
        assert redactor.restore(masked) == text


@FEW
@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3) | st.integers() | st.none(), max_size=4), LEVELS)
def test_json_stays_json(document: dict[str, object], level: Redact) -> None:
    redactor = Redactor(level)
    for line in (json.dumps(document), json.dumps(document, ensure_ascii=False), json.dumps(json.dumps(document))):
        masked = redactor.text(line)
        assert type(json.loads(masked)) is type(json.loads(line))
    json.dumps(redactor.value(document))


@given(st.binary(max_size=200))
def test_bytes_that_are_no_text_pass_unchanged_around_a_secret(noise: bytes) -> None:
    data = noise.replace(b"\n", b"") + b"\n" + TOKEN.encode() + b" \xff\xfe\n"
    assert whole(data).endswith(b"\nREDACTED_github \xff\xfe\n")


@pytest.mark.parametrize("offset", [-50, -37, -20, -1, 0, 1])
def test_a_secret_on_the_edge_of_a_window_is_masked_whole(offset: int) -> None:
    data = b"a " * (WINDOW // 2) + b"b " * WINDOW
    position = WINDOW + offset
    data = data[:position] + b" " + TOKEN.encode() + b" " + data[position:]
    for cuts in ([], [WINDOW - 3, WINDOW + 3], list(range(0, len(data), 9_973))):
        masked = in_pieces(data, cuts)
        assert TOKEN.encode()[8:] not in masked
        assert masked.count(b"REDACTED_github") == 1
        assert len(masked) == len(data) - len(TOKEN) + len(b"REDACTED_github")


def test_never_more_is_held_back_than_a_window_and_a_bit() -> None:
    stream = Redactor(Redact.BASIC, reversible=False).stream()
    given_out = 0
    for taken_in in range(4_096, 4_096 * 100, 4_096):
        given_out += len(stream.feed(b"x " * 2_048))
        assert taken_in - given_out <= WINDOW + AHEAD + 4_096


HOSTILE = {
    "names": "key=",
    "names and quotes": "token='",
    "web tokens": "ey",
    "prefixes": "sntrys_",
    "prefixes with signs": "=fo1_",
    "cookies": "cookie:",
    "commands": "mysql a ",
    "addresses": "://a:",
    "comparisons": "==password",
    "hexadecimal": "0d98ef66",
    "backslashes": "\\",
    "quotes": '"',
    "armour": "-----BEGIN PRIVATE KEY-----\n////+",
    "base64": "Ab1/",
    "colons": ":5432:a",
    "masks": "REDACTED_github",
    "at signs": "a@a.",
    "digits and dots": "1.",
    "colons and digits": "1:",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_input_makes_it_slow_out_of_proportion(unit: str) -> None:
    """Eight times the input may cost at most some thirty times the time; a quadratic rule would need sixty-four."""
    redactor = Redactor(Redact.STRICT, reversible=False)

    def spent(text: str) -> float:
        start = time.process_time()
        redactor.text(text)
        return time.process_time() - start

    small, large = (
        min(spent(unit * (size // len(unit))) for _ in range(4)) for size in (8_000, 64_000)
    )  # the least of a few: what else happens on the machine only adds
    assert large < 30 * max(small, 0.002)
