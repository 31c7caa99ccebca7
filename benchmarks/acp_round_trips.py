"""Round trips over stdio against the official Python SDK: a request that changes a session and sends an update, and a
prompt to the echo model. Client and agent share one core, the arms take turns."""

import tempfile
from collections.abc import Callable

from benchmarks.acp_wire import REFERENCE, Agent, frame_of, ours
from benchmarks.figure import Figure, at_least, medians

SDK = "echo agent on the Python SDK"
ROUNDS = 21
TRIPS = 300
PROMPTS = 100


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        command, environment = ours(folder)
        agents = {"ours": Agent(command, environment), SDK: Agent(REFERENCE)}
        try:
            sessions = {name: opened(agent, folder) for name, agent in agents.items()}
            options = {name: option_frames(*sessions[name]) for name in agents}
            prompts = {
                name: frame_of("session/prompt", {"sessionId": sessions[name][0], "prompt": HELLO}) for name in agents
            }
            change = medians({n: repeated(a, options[n]) for n, a in agents.items()}, rounds=ROUNDS)
            prompt = medians({n: repeated(a, [prompts[n]], PROMPTS) for n, a in agents.items()}, rounds=ROUNDS)
        finally:
            for agent in agents.values():
                agent.end()
    return [
        at_least("ACP set_config_option/s over stdio", change[SDK] / change["ours"], 4, reference=SDK),
        at_least("ACP prompts/s, session log on", prompt[SDK] / prompt["ours"], 1.5, reference=SDK),
    ]


HELLO = [{"type": "text", "text": "hello"}]


def opened(agent: Agent, cwd: str) -> tuple[str, list[dict[str, object]]]:
    agent.initialize()
    new = agent.new_session(cwd)
    return new["sessionId"], new["configOptions"]


def option_frames(session_id: str, options: list[dict[str, object]]) -> list[bytes]:
    """The same option set to its first and its last choice in turn: each request changes something, and sends one update.

    Not the mode: agents tell of it twice, as a mode and as an option.
    """
    for option in options:
        choices = option.get("options")
        if isinstance(choices, list) and len(choices) > 1 and option.get("category") != "mode":
            values = (choices[0]["value"], choices[-1]["value"])
            ask = {"sessionId": session_id, "configId": option["id"]}
            return [frame_of("session/set_config_option", ask | {"value": value}) for value in values]
    raise AssertionError("no option has two choices")


def repeated(agent: Agent, frames: list[bytes], trips_a_round: int = TRIPS) -> Callable[[], None]:
    def trips() -> None:
        for number in range(trips_a_round):
            agent.round_trip(frames[number % len(frames)], b'"id":7')

    return trips
