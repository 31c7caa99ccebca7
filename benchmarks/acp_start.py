"""From starting the agent to its answer to `initialize`, against an echo agent on the official Python SDK."""

import tempfile

from benchmarks.acp_wire import REFERENCE, Agent, ours
from benchmarks.figure import Figure, at_most, medians

SDK = "echo agent on the Python SDK"
ROUNDS = 7


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        command, environment = ours(folder)
        seconds = medians(
            {"ours": lambda: start(command, environment), SDK: lambda: start(REFERENCE, None)}, rounds=ROUNDS, warm_up=2
        )
    return [at_most("ACP initialize from spawn", seconds["ours"] / seconds[SDK], 0.2, reference=SDK)]


def start(command: list[str], environment: dict[str, str] | None) -> None:
    agent = Agent(command, environment)
    try:
        agent.initialize()
    finally:
        agent.kill()
