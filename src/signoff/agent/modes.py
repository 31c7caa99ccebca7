"""How much an agent may do, and what can be chosen in a session. Data, so that the command line and every editor agree."""

from collections.abc import Mapping

import msgspec

from signoff.domain.errors import UsageError
from signoff.domain.settings import ApprovalPolicy


class Mode(msgspec.Struct, frozen=True):
    """`settings` are laid over the configuration, by key. `read_only`: only tools that change nothing are offered."""

    id: str
    name: str
    description: str
    settings: Mapping[str, str] = {}
    read_only: bool = False


ASK = Mode("ask", "Ask", "Work as the policy allows, and ask where it says so.")
PLAN = Mode("plan", "Plan", "Read and think only: nothing is changed.", {"sandbox.mode": "read-only"}, read_only=True)
AUTO = Mode("auto", "Auto", "Never ask: what would need a yes is refused.", {"policy.audit": "auto"})
MODES: tuple[Mode, ...] = (ASK, PLAN, AUTO)


class Choice(msgspec.Struct, frozen=True):
    value: str
    name: str
    description: str = ""


class Option(msgspec.Struct, frozen=True):
    """Something a session can be told. `category` is the word editors know it by."""

    id: str
    name: str
    description: str
    category: str
    choices: tuple[Choice, ...]


APPROVALS: Mapping[ApprovalPolicy, str] = {
    ApprovalPolicy.UNTRUSTED: "Ask about everything that is not known to be harmless.",
    ApprovalPolicy.ON_FAILURE: "Ask when the sandbox stopped something.",
    ApprovalPolicy.ON_REQUEST: "Ask when a rule or the agent says so.",
    ApprovalPolicy.NEVER: "Refuse instead of asking.",
}


def options(models: tuple[str, ...]) -> tuple[Option, ...]:
    """Everything that can be chosen, with `models` as `provider/model`."""
    return (
        Option(
            "mode",
            "Mode",
            "How much the agent may do",
            "mode",
            tuple(Choice(mode.id, mode.name, mode.description) for mode in MODES),
        ),
        Option("model", "Model", "Who answers", "model", tuple(Choice(name, name) for name in models)),
        Option(
            "approval",
            "Approval",
            "When a person is asked",
            "_approval",
            tuple(Choice(policy.value, policy.value, says) for policy, says in APPROVALS.items()),
        ),
    )


def mode_of(name: str) -> Mode:
    found = next((mode for mode in MODES if mode.id == name), None)
    if found is None:
        raise UsageError(f"there is no mode {name!r}", hint=f"One of: {', '.join(mode.id for mode in MODES)}.")
    return found


def settings_of(mode: Mode, chosen: Mapping[str, str] = {}) -> dict[str, str]:
    """The settings that a mode and the other choices of a session stand for; the mode has the last word."""
    known = {"approval": "approval", "model": "model.name"}
    return {**{known[option]: value for option, value in chosen.items() if option in known}, **mode.settings}
