"""What a patch says and where it goes, without any file."""

import pytest

from signoff.domain.errors import InvalidArguments, ToolConflict
from signoff.tools.patch_apply import updated
from signoff.tools.patch_format import Add, Change, Delete, Update
from signoff.tools.patch_unified import parse_patch
from tests.clauses import requirement


def marked(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def changed(text: str, *lines: str) -> str:
    (change,) = parse_patch(marked("*** Update File: f", *lines))
    assert isinstance(change, Update)
    return updated("f", text, change.chunks)


def by_diff(text: str, *lines: str) -> str:
    (change,) = parse_patch("\n".join(("--- a/f", "+++ b/f", *lines)) + "\n")
    assert isinstance(change, Update)
    return updated("f", text, change.chunks)


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("a\nb\nc\n", (" a", "-b", "+B", " c"), "a\nB\nc\n"),
        ("a\nb\nc\n", ("@@", " a", "-b", "+B"), "a\nB\nc\n"),
        ("a\nb\nc\n", ("@@ a", "-b", "+B"), "a\nB\nc\n"),
        ("a\n\nc\n", ("@@", " a", "", "-c", "+C"), "a\n\nC\n"),
        ("a\nb\n", ("@@", "-b", "+B", ""), "a\nB\n"),  # a blank line before the end is nobody's
        ("a\nb\n", ("@@", "+c"), "a\nb\nc\n"),
        ("a\nb\na\n", ("@@", "-a", "+A", "*** End of File"), "a\nb\nA\n"),
        ("x\na\ny\na\n", ("@@ y", "-a", "+A"), "x\na\ny\nA\n"),
        ("a\nb\nc\nd\n", ("@@", "-a", "+A", "@@", "-d", "+D"), "A\nb\nc\nD\n"),
        # whoever comes closest wins, and what is kept keeps its own bytes
        ("\ta  \nb\n", (" a", "-b", "+B"), "\ta  \nB\n"),
        ("x = “a”\ny\n", (' x = "a"', "-y", "+z"), "x = “a”\nz\n"),
        (" a\na\nb\n", ("@@", "-a", "+A"), " a\nA\nb\n"),
        # line endings
        ("a\r\nb\r\n", (" a", "-b", "+B", "+C"), "a\r\nB\r\nC\r\n"),
        ("a\r\nb\nc\n", (" b", "+x", " c"), "a\r\nb\nx\nc\n"),
        ("a\nb", (" a", "-b", "+B"), "a\nB"),
        ("a\nb", (" a", " b", "+c"), "a\nb\nc"),
        ("a\nb", (" a", "-b"), "a\n"),
        ("\ufeffa\nb\n", ("-a", "+A"), "\ufeffA\nb\n"),
        ("", ("@@", "+a"), "a\n"),
    ],
)
def test_a_marked_patch_changes_what_it_says_and_nothing_else(text: str, lines: tuple[str, ...], expected: str) -> None:
    assert changed(text, *lines) == expected


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("a\nb\nc\n", ("@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"), "a\nB\nc\n"),
        ("a\nb\nc\n", ("@@ -1,9 +1,9 @@", " a", "-b", "+B", " c"), "a\nB\nc\n"),  # wrong counts
        ("0\na\nb\n", ("@@ -1,2 +1,2 @@", " a", "-b", "+B"), "0\na\nB\n"),  # wrong place
        ("x\ny\nx\ny\n", ("@@ -3,2 +3,2 @@", " x", "-y", "+z"), "x\ny\nx\nz\n"),  # the number decides
        ("-- a\nb\n", ("@@ -1,2 +1,2 @@", "--- a", "+++ A", " b"), "++ A\nb\n"),  # looks like a header, is content
        ("a\nb", ("@@ -1,2 +1,2 @@", " a", "-b", "\\ No newline at end of file", "+b"), "a\nb\n"),
        ("a\nb\n", ("@@ -1,2 +1,2 @@", " a", "-b", "+b", "\\ No newline at end of file"), "a\nb"),
        ("a\r\nb\n", ("@@ -1,2 +1,3 @@", " a\r", "+x\r", " b"), "a\r\nx\r\nb\n"),
        ("a\nb\n", ("@@ -1,0 +2 @@", "+x"), "a\nx\nb\n"),
        ("a\nb\n", ("@@", " a", "+x"), "a\nx\nb\n"),
    ],
)
def test_a_unified_diff_changes_what_it_says_and_nothing_else(text: str, lines: tuple[str, ...], expected: str) -> None:
    assert by_diff(text, *lines) == expected


@requirement("CLU-034")
def test_two_places_that_fit_equally_well_are_an_error_that_lists_them() -> None:
    with pytest.raises(ToolConflict) as caught:
        changed("def f():\n    go()\ndef g():\n    go()\n", "@@", "-    go()", "+    stay()")
    assert "fits 2 places" in caught.value.message
    assert "line 2: go()" in caught.value.message
    assert "line 4: go()" in caught.value.message


def test_an_anchor_that_fits_twice_is_ambiguous_too_but_two_anchors_may_not_be() -> None:
    text = "class A\n  def run\n    go\nclass B\n  def run\n    go\n"
    with pytest.raises(ToolConflict, match="2 places"):
        changed(text, "@@   def run", "-    go", "+    stay")
    assert changed(text, "@@ class B", "@@   def run", "-    go", "+    stay") == text[:-3] + "stay\n"


def test_lines_that_are_not_there_are_answered_with_the_nearest() -> None:
    text = "one\ntwo\ndef total(values):\n    return sum(values)\n"
    with pytest.raises(ToolConflict) as caught:
        changed(text, "@@", " def total(values):", "-    return max(values)", "+    return 0")
    assert "  3: def total(values):\n  4:     return sum(values)" in caught.value.message
    (change,) = parse_patch(marked("*** Update File: f", "@@", "-four", "+five"))
    assert isinstance(change, Update)
    with pytest.raises(ToolConflict) as hidden:
        updated("f", "secret=four\n", change.chunks, show=False)
    assert "secret" not in hidden.value.message


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("hello", "this is no patch"),
        ("*** Begin Patch\n*** Add File: a\n+x", "the last line must be"),
        (marked("*** Frobnicate File: a"), "is no header"),
        (marked("*** Update File: a"), "contains no change"),
        (marked("*** Update File: a", "*** Move to: b"), "contains no change"),
        (marked("*** Update File: a", "@@"), "contains no lines"),
        (marked("*** Update File: a", "@@", "?x"), "begins with none of"),
        (marked("*** Delete File: a", "*** Add File: a", "+x"), "more than one change names 'a'"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n", "mode 120000"),
        ("diff --git a/s b/s\nnew file mode 160000\n", "mode 160000"),
        ("diff --git a/s b/s\nold mode 100644\nnew mode 100755\n", "mode"),
        ("diff --git a/s b/s\nindex 1..2 100644\nBinary files a/s and b/s differ\n", "binary"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n", "no lines"),
    ],
)
def test_what_is_no_patch_is_refused_with_the_reason(patch: str, says: str) -> None:
    with pytest.raises(InvalidArguments, match=says):
        parse_patch(patch)


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (marked("*** Add File: a", "+x", "+y"), (Add("a", "x\ny\n"),)),
        (marked("*** Add File: a"), (Add("a", ""),)),
        (marked("*** Delete File: b"), (Delete("b"),)),
        ("<<'EOF'\n" + marked("*** Delete File: b") + "\nEOF", (Delete("b"),)),
        (marked("*** Delete File: b").replace("\n", "\r\n"), (Delete("b"),)),
        (
            "diff --git a/x b/x\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+hi\n",
            (Add("x", "hi\n", executable=True, may_replace=False),),
        ),
        ("diff --git a/x b/x\nnew file mode 100644\nindex 0..1\n", (Add("x", "", may_replace=False),)),
        (
            "diff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n",
            (Update("p", (), "q"),),
        ),
    ],
)
def test_what_a_patch_says(patch: str, expected: tuple[Change, ...]) -> None:
    assert parse_patch(patch) == expected
