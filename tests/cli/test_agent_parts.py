"""What the agent's commands share, without a process: statuses, options, words, lines of the stream."""

import ast
from pathlib import Path

import pytest

from signoff.agent.event import Denial, Reason, TurnEnd
from signoff.agent.modes import AUTO, PLAN
from signoff.cli.agent_end import status_of, words
from signoff.cli.agent_options import Chosen
from signoff.cli.stream_json import Stream, TextLine, line_of
from signoff.domain.call import Failure
from signoff.domain.errors import UsageError
from signoff.domain.settings import DenyExit
from signoff.providers.provider import TextDelta
from tests.clauses import requirement

SOURCE = Path(__file__).parents[2] / "src" / "signoff"


def denial(code: str) -> Denial:
    return Denial("c", "run_terminal_cmd", "rm -rf x", code, "builtin.command.dangerous", "no")


ENDINGS = [
    (TurnEnd(Reason.END), 0),
    (TurnEnd(Reason.END, denials=(denial("policy.denied"),)), 40),
    (TurnEnd(Reason.END, denials=(denial("review.denied"), denial("review.timeout"))), 40),
    (TurnEnd(Reason.END, denials=(denial("review.timeout"),)), 41),
    (TurnEnd(Reason.ABORTED, denials=(denial("review.aborted"),)), 40),
    (TurnEnd(Reason.CANCELLED), 130),
    (TurnEnd(Reason.BUDGET), 42),
    (TurnEnd(Reason.LOOP), 43),
    (TurnEnd(Reason.LENGTH), 4),
    (TurnEnd(Reason.REFUSED), 4),
    (TurnEnd(Reason.ERROR, error=Failure("model.timeout", "slow")), 4),
    (TurnEnd(Reason.ERROR, error=Failure("ledger.unwritable", "full")), 5),
    (TurnEnd(Reason.ERROR), 5),
]


@requirement("ACP-005")
@pytest.mark.parametrize(("end", "status"), ENDINGS)
def test_every_ending_has_its_status_and_its_words(end: TurnEnd, status: int) -> None:
    assert status_of(end) == status
    assert bool(words(end)) is (status != 0)
    if end.reason is Reason.END:
        assert status_of(end, DenyExit.CHILD) == 0


@requirement("ACP-005")
def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(UsageError):
        _ = Chosen(as_json=True, output_format="stream-json").format
    with pytest.raises(UsageError):
        _ = Chosen(plan=True, mode="auto").chosen_mode
    assert Chosen(plan=True).chosen_mode is PLAN
    assert Chosen(mode="auto").chosen_mode is AUTO
    assert Chosen().chosen_mode is None
    assert Chosen(as_json=True).format == "json"
    assert Chosen(max_turns=3, context_tokens=5_000).limits.context_tokens == 5_000


@requirement("ACP-005")
def test_lines_are_numbered_without_gaps() -> None:
    written: list[bytes] = []
    stream = Stream("s-1", written.append)
    stream(TextDelta("a"))
    stream.put(TextLine(text="b"))
    assert [b'"seq":1' in line or b'"seq":2' in line for line in written] == [True, True]
    assert line_of(TextDelta("a")) == TextLine(text="a")


@requirement("ACP-004")
def test_entry_configuration_commands_providers_and_output_are_parts_of_their_own() -> None:
    """Providers know nothing of the command line, the loop nothing of either's files, and no command parses for another."""
    for room, forbidden in {
        "providers": ("signoff.cli", "signoff.agent", "signoff.gate"),
        "config": ("signoff.cli", "signoff.agent", "signoff.providers"),
        "agent": ("signoff.cli", "signoff.config", "click", "rich"),
    }.items():
        for path in (SOURCE / room).rglob("*.py"):
            names = [
                name
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                for name in (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module or ""]
                    if isinstance(node, ast.ImportFrom)
                    else []
                )
            ]
            assert not [name for name in names if name.startswith(forbidden)], path
