"""Round trips over stdio against the official Python SDK: a request that changes a session and sends an update, and a
prompt to the echo model. Client and agent share one core, the arms take turns, each with several processes in turn: where
its memory happens to lie makes one process faster than the next by some per cent."""

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator

from benchmarks.acp_wire import REFERENCE, Agent, frame_of, ours
from benchmarks.figure import Figure, at_least, medians

SDK = "echo agent on the Python SDK"
PROCESSES = 3  # of each agent
ROUNDS = 21 * PROCESSES
TRIPS = 300
PROMPTS = 100


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        command, environment = ours(folder)
        starts = {"ours": (command, environment), SDK: (REFERENCE, None)}
        change_arms, prompt_arms = {}, {}
        for name, start in starts.items():
            agents = [Agent(*start) for _ in range(PROCESSES)]
            for agent in agents:
                stack.callback(agent.end)
            sessions = [opened(agent, folder) for agent in agents]
            options = [option_frames(*session) for session in sessions]
            prompts = [[prompt_frame(session_id)] for session_id, _ in sessions]
            change_arms[name] = repeated(list(zip(agents, options, strict=True)), TRIPS)
            prompt_arms[name] = repeated(list(zip(agents, prompts, strict=True)), PROMPTS)
        change = medians(change_arms, rounds=ROUNDS, warm_up=PROCESSES)
        prompt = medians(prompt_arms, rounds=ROUNDS, warm_up=PROCESSES)
    return [
        at_least("ACP set_config_option/s over stdio", change[SDK] / change["ours"], 4, reference=SDK),
        at_least("ACP prompts/s, session log on", prompt[SDK] / prompt["ours"], 1.5, reference=SDK),
    ]


HELLO = [{"type": "text", "text": "hello"}]


def prompt_frame(session_id: str) -> bytes:
    return frame_of("session/prompt", {"sessionId": session_id, "prompt": HELLO})


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


def repeated(asked: list[tuple[Agent, list[bytes]]], trips_a_round: int) -> Callable[[], None]:
    """Each round goes to the next of the agents, with its own frames."""
    turns: Iterator[tuple[Agent, list[bytes]]] = itertools.cycle(asked)

    def trips() -> None:
        agent, frames = next(turns)
        for number in range(trips_a_round):
            agent.round_trip(frames[number % len(frames)], b'"id":7')

    return trips
