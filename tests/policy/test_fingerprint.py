"""The fingerprint of a tool call, by which an answer is recognised."""

from signoff.policy.fingerprint import fingerprint

CALL = {"kind": "edit", "title": "Edit a.py", "locations": [{"path": "/a"}, {"path": "/b", "line": 2}]}


def test_the_same_call_has_the_same_fingerprint_and_any_other_has_another() -> None:
    one = fingerprint(**CALL, raw_input={"x": 1, "y": [1, 2]})
    assert one == fingerprint(
        kind="edit",
        title="Edit a.py",
        locations=[{"line": 2, "path": "/b"}, {"path": "/a"}],
        raw_input={"y": [1, 2], "x": 1},
    )
    others = [
        fingerprint(**{**CALL, "kind": "delete"}, raw_input={"x": 1, "y": [1, 2]}),
        fingerprint(**{**CALL, "title": "Edit b.py"}, raw_input={"x": 1, "y": [1, 2]}),
        fingerprint(**{**CALL, "locations": [{"path": "/a"}]}, raw_input={"x": 1, "y": [1, 2]}),
        fingerprint(**CALL, raw_input={"x": 1, "y": [2, 1]}),
        fingerprint(**CALL, raw_input={"x": "1", "y": [1, 2]}),
        fingerprint(**CALL),
    ]
    assert len({one, *others}) == 7


def test_text_that_is_no_text_still_has_a_fingerprint() -> None:
    assert fingerprint(kind=None, title="\ud800") != fingerprint(kind=None, title="?")
