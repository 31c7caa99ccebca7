"""Patterns that are not compiled in vain still find what they would find."""

import re

import pytest

from signoff.ledger.redact.pattern import literal_head, pattern


@pytest.mark.parametrize(
    ("source", "head"),
    [
        ("abc", "abc"),
        (r"-us\d{1,2}", "-us"),
        (r"\.atlasv1\.[\w=-]{60,70}", ".atlasv1."),
        (r"\|[\w-]{27}", "|"),
        ("ab?c", "a"),
        ("ab+c", "ab"),
        ("ab*", "a"),
        ("a{2}", ""),
        ("a|b", ""),
        ("(?:a|b)c", ""),
        ("x(?:a|b)", "x"),
        ("x[|]y", "x"),
        (r"x\|y", "x|y"),
        (r"\bword", ""),
        ("^line", ""),
        ("", ""),
    ],
)
def test_the_head_is_what_every_match_begins_with(source: str, head: str) -> None:
    assert literal_head(source) == head
    texts = ["abc", "x|y", "xa", "-us12", "aac", "ab", "abb", "b", "a", "", "xyz", "aa"]
    for text in texts:
        assert [m.span() for m in pattern(source).finditer(text)] == [m.span() for m in re.finditer(source, text)]
