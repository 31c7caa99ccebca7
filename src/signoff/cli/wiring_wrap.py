"""Put a supervised run together: gate, arbiter, child, keyboard, and what is said and kept at the end."""

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from signoff.approvals.request import ReviewRequest
from signoff.approvals.review import Reviewer
from signoff.approvals.silence import Silence
from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.cli.wiring_door import Run, door, reviewer_of
from signoff.cli.wiring_prompt import Prompted
from signoff.config import locations
from signoff.config.layers import Configuration
from signoff.domain.event import RunEvent, Warned
from signoff.domain.late import late
from signoff.domain.review import ReviewDecision
from signoff.domain.settings import DenyExit
from signoff.ledger.records import Event
from signoff.ledger.redact import Redactor
from signoff.ledger.spans import ParseSpan, RunSpan, SpawnSpan, StreamSpan
from signoff.ledger.tracing import Tracing
from signoff.supervisor.arbiter import Arbiter, OnUnenforcedDeny, Terms
from signoff.supervisor.diagnostics import bundle, keep
from signoff.supervisor.ends import Ending
from signoff.supervisor.events_out import EventsOut
from signoff.supervisor.foreign import mapping_of
from signoff.supervisor.hang import Patience
from signoff.supervisor.run import Demands, Limits, Watch, supervise
from signoff.supervisor.session import Lost, ParsedEvent, Session, Spec
from signoff.supervisor.session import Output as Sinks
from signoff.wire.jsonl import Demand, Modes

if TYPE_CHECKING:
    from signoff.supervisor import relay as keys
else:
    keys = late("signoff.supervisor.relay")


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The flags of `wrap` that are no settings."""

    sandbox: str | None
    network: str
    require_enforcement: bool
    on_unenforced_deny: OnUnenforcedDeny
    deny_exit: DenyExit
    events: Demand
    no_prefix_events: bool
    no_json_events: bool
    show_events: bool
    max_parse_errors: int | None
    events_out: str | None
    tty: bool
    env: dict[str, str]
    timeout_ms: int | None
    abort_grace_ms: int
    kill_grace_ms: int
    hang_ms: int | None
    prompt: str | None
    inject_into: str | None


class Keyboard:
    """A reviewer that has the keyboard to itself while it asks, also when the agent is on a terminal of its own."""

    def __init__(self, reviewer: Reviewer) -> None:
        self._reviewer = reviewer
        self.relay: keys.Relay | None = None
        self.name = reviewer.name
        self.is_person = reviewer.is_person

    async def review(self, request: ReviewRequest) -> ReviewDecision:
        with self.relay.paused() if self.relay is not None else contextlib.nullcontext():
            return await self._reviewer.review(request)


def wrapped(output: Output, loaded: Configuration, command: tuple[str, ...], options: Options) -> int:
    settings = loaded.settings

    def show(event: RunEvent) -> None:
        if isinstance(event, Warned):
            silence.say(lambda: output.warn(event.message))

    silence = Silence()
    keyboard = Keyboard(reviewer_of(output, settings.policy, silence))
    guarded = options.sandbox is not None
    with door(output, loaded, ("signoff", "wrap", *command), reviewer=keyboard, show=show, guarded=guarded) as run:
        redactor = Redactor(settings.ledger.redact, reversible=False)
        tracing = Tracing.of(os.environ, run.run_id, wiring.project_name(loaded), redactor.text)
        if tracing.problem:
            output.warn(tracing.problem)
        with contextlib.closing(tracing), tracing.span(_run_span(loaded, command)) as span:
            supervision = _Supervision(output, loaded, options, run, redactor, tracing, silence)
            recalled = Prompted.of(output, loaded, options.prompt, options.inject_into, run, tracing)
            run.status = supervision.run(recalled.command(command), keyboard)
            recalled.learn(run.status, supervision.tails)
            span.fields.exit_code = run.status
    return run.status


def _run_span(loaded: Configuration, command: tuple[str, ...]) -> RunSpan:
    settings = loaded.settings
    return RunSpan(
        memory_on=settings.memory.enabled,
        inject_mode=settings.memory.inject_mode,
        gatekeeper=settings.memory.gatekeeper,
        audit=settings.policy.audit,
        redact=settings.ledger.redact,
        codecli_program=command[0],
    )


class _Supervision:
    def __init__(
        self,
        output: Output,
        loaded: Configuration,
        options: Options,
        run: Run,
        redactor: Redactor,
        tracing: Tracing,
        silence: Silence,
    ) -> None:
        self._silence = silence
        self._output = output
        self._options = options
        self._run = run
        self._redactor = redactor
        self._tracing = tracing
        self.tails = ("", "")  # after the run: the last of stdout and stderr
        self._terms = Terms(
            run_id=run.run_id,
            cwd=os.getcwd(),
            home=str(locations.home(os.environ)),
            audit=loaded.settings.policy.audit,
            on_unenforced_deny=options.on_unenforced_deny,
            max_parse_errors=options.max_parse_errors,
            decision_timeout_s=loaded.settings.policy.decision_timeout_ms / 1_000,
            mapping=mapping_of(loaded.settings.policy.tools),
        )

    def run(self, command: tuple[str, ...], keyboard: Keyboard) -> int:
        watch = Watch()
        arbiter = Arbiter(
            self._run.gate,
            self._run.ledger,
            self._terms,
            warn=lambda said: self._silence.say(lambda: self._output.warn(said)),
            stop=watch.request,
            tracing=self._tracing,
        )
        with contextlib.ExitStack() as closing:
            closing.callback(watch.close)
            hear = closing.enter_context(self._hearing(arbiter))
            session = self._start(command, hear)
            closing.callback(session.close)
            keyboard.relay = closing.enter_context(_keys(session))
            self._output.note(f"run {self._run.run_id} began: {command[0]} is process {session.child.pid}")
            ending = self._stay(session, arbiter, watch)
            self.tails = (_text(session, "stdout"), _text(session, "stderr"))
            self._report(session, arbiter, ending)
        return ending.exit_code

    @contextlib.contextmanager
    def _hearing(self, arbiter: Arbiter) -> Iterator[Callable[[Session, ParsedEvent], None]]:
        """To the arbiter, and to a file where that was asked for."""
        path = self._options.events_out
        if path is None:
            yield arbiter.hear
            return
        with EventsOut(path, self._run.run_id, self._redactor.value, self._output.warn) as out:

            def hear(session: Session, event: ParsedEvent) -> None:
                if arbiter.tally.spoke or not isinstance(event, Lost):
                    out.keep(event)
                arbiter.hear(session, event)

            yield hear

    def _start(self, command: tuple[str, ...], hear: Callable[[Session, ParsedEvent], None]) -> Session:
        with self._tracing.span(SpawnSpan(program=command[0], args_len=len(command) - 1, cwd=self._terms.cwd)):
            session = Session(_spec(command, self._options, self._terms), Sinks(1, 2, self._silence), hear)
        for pump in session.pumps.values():
            pump.counts_lines = self._tracing.on
        return session

    def _stay(self, session: Session, arbiter: Arbiter, watch: Watch) -> Ending:
        def note(text: str) -> None:
            self._run.ledger.submit(Event("supervisor", {"note": text}, "warning"))

        with self._tracing.span(StreamSpan(stream_stdout=True, stream_stderr="stderr" in session.pumps)) as stream:
            limits, demands = _limits(self._options), _demands(self._options)
            ending = supervise(session, arbiter, watch, limits, demands, note, self._tracing)
            stream.fields.captured_bytes_stdout = session.pumps["stdout"].tail.total
            if "stderr" in session.pumps:
                stream.fields.captured_bytes_stderr = session.pumps["stderr"].tail.total
        for source in ("stdout", "stderr"):
            if source in session.pumps:
                pump = session.pumps[source]
                parsed = ParseSpan(source=source, lines_seen=pump.lines)
                with self._tracing.span(parsed) as span:
                    span.fields.events_parsed, span.fields.errors = pump.scanner.events, pump.scanner.failed
        return ending

    def _report(self, session: Session, arbiter: Arbiter, ending: Ending) -> None:
        tally = arbiter.tally
        self._output.note(
            f"run {self._run.run_id} ended with {ending.exit_code}: {tally.requests} requests, {tally.allowed} allowed,"
            f" {tally.denied} denied, {tally.parse_errors} bad event lines"
        )
        forged = session.trust.forged
        if forged:
            self._output.warn(
                f"{forged} lines looked like events and were not the agent's; they were passed on as text"
            )
        if ending.bad:
            content = bundle(session, arbiter, ending, self._redactor.text)
            path = keep(str(locations.diagnostics(os.environ)), self._run.run_id, content)
            self._output.warn(f"{ending.reason}; what is known about it: {path}")
        elif arbiter.tally.denied:
            self._output.say(f"signoff: {ending.reason}\n  See: signoff audit show {self._run.run_id}")


def _text(session: Session, name: str) -> str:
    return session.pumps[name].tail.bytes().decode("utf-8", "replace") if name in session.pumps else ""


def _spec(command: tuple[str, ...], options: Options, terms: Terms) -> Spec:
    return Spec(
        argv=command,
        cwd=terms.cwd,
        environ={**os.environ, **({} if options.sandbox else options.env)},  # the sandbox hands them on
        run_id=terms.run_id,
        tty=options.tty,
        modes=Modes(prefix=not options.no_prefix_events, bare=not options.no_json_events),
        demand=options.events,
        show_events=options.show_events,
        decision_timeout_ms=int(terms.decision_timeout_s * 1_000),
    )


def _limits(options: Options) -> Limits:
    return Limits(
        total=None if options.timeout_ms is None else options.timeout_ms / 1_000,
        abort_grace=options.abort_grace_ms / 1_000,
        kill_grace=options.kill_grace_ms / 1_000,
        patience=_patience(options.hang_ms),
    )


def _patience(hang_ms: int | None) -> Patience:
    """A silence is always noticed; it ends the run only where somebody said how long is too long."""
    return Patience(grace=math.inf) if hang_ms is None else Patience(silence=hang_ms / 1_000, execution=hang_ms / 1_000)


def _demands(options: Options) -> Demands:
    return Demands(options.deny_exit, options.require_enforcement)


@contextlib.contextmanager
def _keys(session: Session) -> Iterator["keys.Relay | None"]:
    if session.child.terminal is None or not sys.stdin.isatty():
        yield None
        return
    with keys.Relay(sys.stdin.fileno(), session.child.terminal) as relay:
        yield relay
