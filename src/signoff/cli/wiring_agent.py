"""Put our own agent together: a provider, a gate, the tools, a session's log, what the project says and what is remembered."""

import contextlib
import datetime
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from signoff.agent import prompt
from signoff.agent.asking import Breathe, Terms, at_once
from signoff.agent.conversation import Conversation
from signoff.agent.event import AgentEvent, TurnEnd
from signoff.agent.instructions import instructions
from signoff.agent.limits import Limits
from signoff.agent.loop import Agent, Ask, nobody
from signoff.agent.modes import ASK, Mode
from signoff.agent.session_log import RunOpened, SessionLog
from signoff.agent.sessions import Sessions
from signoff.agent.toolbox import Toolbox
from signoff.agent.watch import Watch
from signoff.approvals.review import Reviewer
from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.cli.wiring_door import Judging, Run
from signoff.cli.wiring_gate import opened
from signoff.cli.wiring_model import model_name, provider_for
from signoff.config import locations
from signoff.config.layers import Configuration
from signoff.gate import Sandboxes
from signoff.ledger.reading import OPENED
from signoff.ledger.records import Event
from signoff.ledger.redact import Redactor
from signoff.ledger.tracing import Tracing
from signoff.providers.provider import Image, Message, Provider, Text
from signoff.tools.ask_user import Asker, AskUser
from signoff.tools.ask_user import nobody as nobody_answers
from signoff.tools.tool import FileAccess, Place, Tool


class Wants(msgspec.Struct, frozen=True):
    """What a caller wants of the agent, beyond the settings."""

    model: str | None = None  # provider/model; None: as configured
    mode: Mode = ASK
    limits: Limits = Limits()
    text_calls: bool = False
    together: bool = True
    schema: dict[str, Any] | None = None
    memory: bool = True


class Wired:
    """An agent that is ready. `turn` with memory around it; `agent` for those who want the bare one."""

    def __init__(
        self, agent: Agent, run: Run, conversation: Conversation, provider: Provider, remembering: "Remembering"
    ) -> None:
        self.agent = agent
        self.run = run
        self.conversation = conversation
        self.provider = provider
        self._remembering = remembering
        self._reminded = False

    def turn(self, parts: tuple[Text | Image, ...]) -> Coroutine[Any, Any, TurnEnd]:
        return self.agent.turn(self.conversation, parts if self._reminded else self._reminding(parts))

    def _reminding(self, parts: tuple[Text | Image, ...]) -> tuple[Text | Image, ...]:
        """The first prompt is what the memory is asked about."""
        self._reminded = True
        system, beside = self._remembering.before(Message("user", parts).text)
        if system:
            self.agent.model.system += f"\n\n{system}"
        return (*parts, Text(f"\n\n{beside}")) if beside else parts

    def learn(self, status: int, text: str) -> None:
        """After the last turn: tell the memory how it went."""
        self._remembering.after(self.run, status, text)


class Remembering:
    """Without a memory nothing is done and nothing of it is imported."""

    def before(self, asked: str) -> tuple[str, str]:
        """What the model is told: with the instructions, and beside what the person asks."""
        return "", ""

    def after(self, run: Run, status: int, text: str) -> None:
        return None

    def close(self) -> None:
        return None


def open_sessions() -> Sessions:
    return Sessions(str(locations.sessions(os.environ)))


@contextlib.contextmanager
def opened_agent(
    output: Output,
    loaded: Configuration,
    log: SessionLog,
    wants: Wants,
    *,
    command: tuple[str, ...],
    show: Callable[[AgentEvent], None],
    reviewer: Reviewer | None = None,
    asker: Asker = nobody_answers,
    ask: Ask = nobody,
    tools: Iterable[Tool[Any]] = (),
    workspace: Path | None = None,
    files: FileAccess | None = None,
    elsewhere: Sandboxes | None = None,
    judging: Judging = lambda rulebook: rulebook,
    breathe: Breathe = at_once,
) -> Iterator[Wired]:
    """One stretch of a session, with a run of its own. `loaded` already holds the settings of the mode. Whoever awaits
    turns closes the provider on the same event loop."""
    here = (workspace or Path.cwd()).resolve()
    provider = provider_for(wants.model, loaded, os.environ)
    watch = Watch(show)
    with opened(
        output,
        loaded,
        command,
        tools=(AskUser(asker), *tools),
        reviewer=reviewer,
        show=watch,
        workspace=here,
        files=files,
        elsewhere=elsewhere,
        judging=judging,
    ) as run:
        conversation = _taken_up(log, run, {"model": str(model_name(wants.model, loaded)), "mode": wants.mode.id})
        redactor = Redactor(loaded.settings.ledger.redact, reversible=False)
        tracing = Tracing.of(os.environ, run.run_id, wiring.project_name(loaded), redactor.text)
        if tracing.problem:
            output.warn(tracing.problem)
        place = Place(workspace=str(here), home=str(locations.home(os.environ)))
        toolbox = Toolbox(run.registry, place, read_only=wants.mode.read_only)
        agent = Agent(
            provider,
            run.gate,
            toolbox,
            watch,
            _terms(wants, loaded, here, run),
            ask=ask,
            tracing=tracing,
            breathe=breathe,
        )
        agent.model.system = prompt.system(_surroundings(loaded, here), wants.mode, instructions(here))
        with (
            contextlib.closing(tracing),
            contextlib.closing(_remembering(output, loaded, wants, run, tracing)) as remembering,
        ):
            yield Wired(agent, run, conversation, provider, remembering)


def _terms(wants: Wants, loaded: Configuration, here: Path, run: Run) -> Terms:
    return Terms(
        model=model_name(wants.model, loaded).model,
        workspace=str(here),
        trace_id=run.run_id,
        limits=wants.limits,
        text_calls=wants.text_calls,
        together=wants.together,
        schema=wants.schema,
    )


def _taken_up(log: SessionLog, run: Run, facts: dict[str, str]) -> Conversation:
    """The conversation so far. Log and ledger name each other."""
    conversation = Conversation.resumed(log)
    previous = conversation.run_id
    log.append(RunOpened(run.run_id))
    run.ledger.submit(Event(OPENED, {"session_id": log.id, **facts, **_previous(previous)}))
    return conversation


def _previous(run_id: str) -> dict[str, str]:
    """The head of the run this session was in before, so that the two ledgers are one story."""
    if not run_id:
        return {}
    from signoff.ledger.verify import verify

    try:
        with (locations.runs(os.environ) / f"{run_id}.jsonl").open("rb") as file:
            return {"previous_run": run_id, "previous_head": verify(file).head}
    except OSError:
        return {"previous_run": run_id}


def _surroundings(loaded: Configuration, here: Path) -> prompt.Surroundings:
    settings, machine = loaded.settings, os.uname()
    return prompt.Surroundings(
        workspace=str(here),
        platform=f"{machine.sysname} {machine.machine}",
        date=datetime.datetime.now().astimezone().date().isoformat(),
        sandbox=settings.sandbox.mode.value,
        network=settings.sandbox.network.value,
        approval=settings.approval.value,
        git=(here / ".git").exists(),
    )


def _remembering(output: Output, loaded: Configuration, wants: Wants, run: Run, tracing: Tracing) -> Remembering:
    if not wants.memory or not loaded.settings.memory.enabled:
        return Remembering()
    from signoff.cli.wiring_recall import remembered

    return remembered(output, loaded, run, tracing)
