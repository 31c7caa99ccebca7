"""Calls that a model writes as text, in whatever pieces it comes."""

import pytest

from signoff.agent.answer import Listening
from signoff.agent.event import AgentEvent
from signoff.providers.provider import ModelEvent, Stopped, TextDelta

CALL = '{"tool": "display", "args": {"content": "hello"}}'
TOOLS = frozenset({"display"})


def heard(pieces: list[str]) -> tuple[list[str], list[str]]:
    """What is shown, and which tools are called."""
    shown: list[AgentEvent] = []
    listening = Listening(shown.append, TOOLS)
    events: list[ModelEvent] = [*map(TextDelta, pieces), Stopped("end")]
    for event in events:
        listening.hear(event)
    requests = listening.answer().message.tool_requests
    return [event.text for event in shown if isinstance(event, TextDelta)], [request.name for request in requests]


@pytest.mark.parametrize(
    "text",
    [CALL, f"  \n{CALL}\n", f"```json\n{CALL}\n```", f"```\n{CALL}\n```", f"```{CALL}```", f"\n``` json\n{CALL}```"],
)
@pytest.mark.parametrize("length", [1, 2, 4, 5, 7, 1_000])
def test_a_call_in_pieces_is_run_or_shown_and_never_both(text: str, length: int) -> None:
    shown, called = heard([text[start : start + length] for start in range(0, len(text), length)])
    assert ("".join(shown), called) in (("", ["display"]), (text, []))


@pytest.mark.parametrize("text", [CALL, f"```json\n{CALL}\n```", f"```\n{CALL}\n```", f"```{CALL}```"])
@pytest.mark.parametrize("length", [1, 2, 4, 5, 7, 1_000])
def test_a_call_is_a_call_wherever_it_is_cut(text: str, length: int) -> None:
    pieces = [text[start : start + length] for start in range(0, len(text), length)]
    assert heard(pieces) == ([], ["display"])


@pytest.mark.parametrize(
    "pieces", [["hel", "lo"], ["`", "code`"], ["```py", "thon\n1\n```"], [" ", "hello"], ["{", "}"]]
)
def test_what_is_no_call_is_shown_whole(pieces: list[str]) -> None:
    shown, called = heard(pieces)
    assert ("".join(shown), called) == ("".join(pieces), [])
