"""signoff run: one task for our own agent, from a person or a script."""

import asyncio
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import click
import msgspec

from signoff.agent.event import AgentEvent, TurnEnd
from signoff.agent.loop import nobody
from signoff.approvals.silence import Silence
from signoff.cli.agent_end import status_of, words
from signoff.cli.agent_options import Chosen, agent_options, enter, piped, read_bytes
from signoff.cli.agent_session import Begun, begun
from signoff.cli.output import Output
from signoff.cli.quiet import Quiet, Quietly
from signoff.cli.stream_json import AnyLine, ResultLine, SessionLine, Stream, stamp
from signoff.cli.talk import Talk
from signoff.cli.typed import Typist
from signoff.cli.wiring_agent import Wants, Wired, opened_agent
from signoff.cli.wiring_door import controlling_terminal, reviewer_of
from signoff.domain.errors import UsageError
from signoff.domain.settings import Audit
from signoff.domain.visible import visible
from signoff.providers.provider import Text
from signoff.tools.ask_user import nobody as nobody_answers


@click.command()
@agent_options
@click.option("--input", "input_", metavar="FILE", help="Add the content of this file to the task.")
@click.option("--external-policy", is_flag=True, help="Put every call to whoever started us, by the control protocol.")
@click.argument("task", required=False)
@click.pass_obj
def run(output: Output, /, task: str | None, input_: str | None, **options: Any) -> int:
    """Give our own agent a task: every call judged, confined, recorded.

    The answer goes to standard output, everything else to standard error; what comes on standard input is added to the
    task. Ends with 0; 3 without a model, 4 when the model fails, 40 if something was denied, 41 if questions stayed
    unanswered, 42 when a budget is used up, 43 when the agent goes round in circles, 130 when it was interrupted.

    \b
    Examples:
      signoff run "fix the failing test"
      git diff | signoff run --plan "review this"
      signoff run -m ollama/qwen3 --max-turns 20 --json "update the changelog"
      signoff run -c "now the same for the other module"
      signoff wrap -- signoff run --external-policy "tidy up"
    """
    chosen = msgspec.convert(options, Chosen)
    enter(chosen.cwd)
    asked = _task(task, input_, stdin=not chosen.external_policy)
    with begun(output, chosen) as session:
        return worked(output, chosen, session, asked)


def worked(output: Output, chosen: Chosen, session: Begun, asked: str) -> int:
    """One prompt in a session, told in the format that was chosen."""
    live = chosen.live and chosen.format == "text" and sys.stderr.isatty()
    silence = Silence()
    teller = _Live(output, session, silence) if live else _TELLERS[chosen.format](output, session, silence)
    wants = Wants(
        model=session.model,
        mode=session.mode,
        limits=chosen.limits,
        text_calls=chosen.tool_calls == "text",
        together=not chosen.external_policy,
        schema=chosen.schema(),
    )
    typist = _typist(session, teller.quiet)
    person = reviewer_of(output, session.loaded.settings.policy, silence)
    started = time.monotonic()
    from signoff.cli.outside import seam

    with (
        seam(chosen.external_policy, teller.show) as outside,
        opened_agent(
            output,
            session.loaded,
            session.log,
            wants,
            command=("signoff", "run", asked[:200]),
            show=outside.show,
            reviewer=outside.reviewer or Quietly(person, teller.quiet),
            judging=outside.judging,
            asker=typist.ask if typist else nobody_answers,
            ask=typist.go_on if typist else nobody,
        ) as wired,
    ):
        teller.begin(wired.run.run_id)
        end = asyncio.run(_turn(wired, asked))
        status = wired.run.status = status_of(end, chosen.deny_exit)
        wired.learn(status, end.text)
        teller.end(end, status, wired.run.run_id, int((time.monotonic() - started) * 1_000))
    return status


async def _turn(wired: Wired, asked: str) -> TurnEnd:
    """Ctrl-C and a request to end stop the turn; what had begun is recorded, and the end is told."""
    work = asyncio.ensure_future(_with_servers(wired, asked))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        return await work
    finally:
        await wired.provider.aclose()


async def _with_servers(wired: Wired, asked: str) -> TurnEnd:
    async with wired.run.tool_servers():
        return await wired.turn((Text(asked),))


class _Teller(Protocol):
    """Tells the caller what happens, in one of the formats."""

    show: Callable[[AgentEvent], None]
    quiet: Quiet  # while a question stands

    def begin(self, run_id: str) -> None: ...

    def end(self, end: TurnEnd, status: int, run_id: str, duration_ms: int) -> None: ...


class _Text:
    """For a person: the answer, and a line for each call."""

    def __init__(self, output: Output, session: Begun, silence: Silence) -> None:
        self._output = output
        self._talk = Talk(output, silence)
        self.show: Callable[[AgentEvent], None] = self._talk
        self.quiet: Quiet = silence.kept

    def begin(self, run_id: str) -> None:
        return None

    def end(self, end: TurnEnd, status: int, run_id: str, duration_ms: int) -> None:
        self._talk.answer(end.text)
        for line in words(end):
            self._output.say(f"signoff: {visible(line)}")


class _Live(_Text):
    """For a person who wants to watch: a window that moves on stderr, and the answer on stdout."""

    def __init__(self, output: Output, session: Begun, silence: Silence) -> None:
        from rich.console import Console

        from signoff.cli.view import View

        super().__init__(output, session, silence)
        console = Console(stderr=True, no_color=not output.colourful(err=True), highlight=False)
        self._talk = Talk(output, silence, streams=False)
        self._view = View(console, output.paint, silence, window=True, answers=False)
        self.show, self.quiet = self._view, self._view.paused

    def begin(self, run_id: str) -> None:
        self._view.__enter__()

    def end(self, end: TurnEnd, status: int, run_id: str, duration_ms: int) -> None:
        self._view.__exit__()
        super().end(end, status, run_id, duration_ms)


class _Json:
    """For a script: one document at the end."""

    def __init__(self, output: Output, session: Begun, silence: Silence) -> None:
        self._output = output
        self._session_id = session.log.id
        self.quiet: Quiet = silence.kept
        self.show: Callable[[AgentEvent], None] = lambda event: None

    def begin(self, run_id: str) -> None:
        return None

    def end(self, end: TurnEnd, status: int, run_id: str, duration_ms: int) -> None:
        self._output.json(stamp(_result(end, status, run_id, duration_ms), self._session_id, 1))


class _StreamJson:
    """For a program: a line for each event."""

    def __init__(self, output: Output, session: Begun, silence: Silence) -> None:
        self._session = session
        self.quiet: Quiet = silence.kept
        self._stream = Stream(session.log.id, _write)
        self.show: Callable[[AgentEvent], None] = self._stream

    def begin(self, run_id: str) -> None:
        session = self._session
        self._stream.put(
            SessionLine(
                model=session.model,
                mode=session.mode.id,
                cwd=session.log.opened.cwd,
                run_id=run_id,
                resumed=session.resumed,
            )
        )

    def end(self, end: TurnEnd, status: int, run_id: str, duration_ms: int) -> None:
        self._stream.put(_result(end, status, run_id, duration_ms))


_TELLERS: dict[str, Callable[[Output, Begun, Silence], _Teller]] = {
    "text": _Text,
    "json": _Json,
    "stream-json": _StreamJson,
}


def _result(end: TurnEnd, status: int, run_id: str, duration_ms: int) -> AnyLine:
    return ResultLine(
        status=end.reason.value,
        exit_code=int(status),
        text=end.text,
        usage=end.spent,
        cost_usd=end.spent.cost_usd,
        calls=end.calls,
        denials=end.denials,
        error=end.error,
        run_id=run_id,
        duration_ms=duration_ms,
    )


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _typist(session: Begun, quiet: Quiet) -> Typist | None:
    policy = session.loaded.settings.policy
    terminal = controlling_terminal() if policy.audit is Audit.PROMPT else None
    return None if terminal is None else Typist(terminal, policy.decision_timeout_ms / 1_000, quiet)


def _task(task: str | None, input_: str | None, *, stdin: bool) -> str:
    given = [task or "", read_bytes(input_).decode("utf-8", "replace") if input_ else "", piped() if stdin else ""]
    asked = "\n\n".join(part for part in given if part.strip())
    if not asked:
        raise UsageError("there is no task", hint='Example: signoff run "fix the failing test"')
    return asked
