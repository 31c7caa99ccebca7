"""The first page of `session/list` with ten thousand sessions kept, against a hundred."""

import pathlib
import tempfile
from collections.abc import Callable

from benchmarks.acp_wire import Agent, frame_of, ours
from benchmarks.figure import Figure, at_most, medians
from signoff.agent.sessions import Sessions

FEW, MANY = 100, 10_000
ROUNDS, LISTS = 7, 20


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        agents = {FEW: filled(few, FEW), MANY: filled(many, MANY)}
        try:
            seconds = medians({str(count): listed(agent) for count, agent in agents.items()}, rounds=ROUNDS)
        finally:
            for agent in agents.values():
                agent.end()
    reference = f"the same with {FEW}"
    return [
        at_most(f"ACP session/list, {MANY:,} sessions", seconds[str(MANY)] / seconds[str(FEW)], 2, reference=reference)
    ]


def filled(home: str, count: int) -> Agent:
    command, environment = ours(home)
    place = pathlib.Path(environment["XDG_STATE_HOME"]) / "signoff" / "sessions"
    place.mkdir(parents=True, mode=0o700)
    sessions = Sessions(str(place))
    for number in range(count):
        sessions.create("/project", "echo/echo", "ask", title=f"session {number}").close()
    agent = Agent(command, environment)
    agent.initialize()
    assert len(agent.ask("session/list", {})["sessions"]) == 50
    return agent


def listed(agent: Agent) -> Callable[[], None]:
    frame = frame_of("session/list", {})

    def lists() -> None:
        for _ in range(LISTS):
            agent.round_trip(frame, b'"id":7')

    return lists
