"""Nothing in shown text can hide, move the cursor or change the order of what is read."""

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.visible import hidden, lookalikes, spelled, steerless, visible, width

SHOWN = {
    "ls -l": "ls -l",
    "über naïve 文字 ✓": "über naïve 文字 ✓",
    "ls\x1b[2K\rrm": "ls‹ESC›[2K‹CR›rm",
    "a\tb\nc\bd\x00": "a‹TAB›b‹LF›c‹BS›d‹NUL›",
    "abc\u202egnp.exe": "abc‹U+202E›gnp.exe",
    "pass\u200bword\ufeff": "pass‹U+200B›word‹U+FEFF›",
    "a\u00a0b\u2028c\u3164d": "a‹U+00A0›b‹U+2028›c‹U+3164›d",
    "ls" + " " * 200 + "; rm -rf ~": "ls‹200 blanks›; rm -rf ~",
    "    indented    code": "    indented    code",
    "e\u0301\u0302\u0303\u0304": "e\u0301\u0302‹U+0303›‹U+0304›",
    "‹ESC›": "‹U+2039›ESC‹U+203A›",
    "\ud800": "‹U+D800›",
    "a\U0001d159b\U00013441": "a‹U+1D159›b‹U+13441›",
    "\U000e0041tag": "‹U+E0041›tag",
    "": "",
}


@pytest.mark.parametrize("text", SHOWN, ids=ascii)
def test_what_cannot_be_seen_is_named(text: str) -> None:
    assert visible(text) == SHOWN[text]


def test_what_was_hidden_is_listed_once_in_order() -> None:
    assert hidden("a\u200bb\x1bc\u200bd") == ("‹U+200B›", "‹ESC›")


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_shown_text_never_holds_a_character_that_acts(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert not {unicodedata.bidirectional(character) for character in shown} & {"LRE", "RLE", "LRO", "RLO", "PDF"}
    if shown == text:
        assert hidden(text) == ()


def test_our_colours_and_lines_pass_the_last_guard_and_nothing_else_that_acts() -> None:
    ours = "\x1b[31m‹ESC›\x1b[0m\n\tüber"
    assert steerless(ours) == ours
    assert (
        steerless("a\x1b[2J\x1b]0;x\x07\x1b[31;5m\x9b1m\u202e")
        == "a‹ESC›[2J‹ESC›]0;x‹U+0007›‹ESC›[31;5m‹U+009B›1m‹U+202E›"
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_a_json_document_means_the_same_without_a_character_that_acts(text: str) -> None:
    document = spelled(json.dumps(text, ensure_ascii=False))
    assert document.isprintable()
    assert json.loads(document) == text


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("文字", 4), ("e\u0301", 1), ("‹ESC›", 5)])
def test_width_counts_columns(text: str, columns: int) -> None:
    assert width(text) == columns


def test_what_can_be_taken_for_something_else_is_named_and_a_wide_letter_is_not() -> None:
    assert lookalikes("git аdd 修复 ∕etc é") == (
        "é latin small letter e with acute",
        "а cyrillic small letter a",
        "∕ division slash",
    )
    assert lookalikes("plain ~\u200b‹›") == ()
