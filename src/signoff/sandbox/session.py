"""A sandbox that stays open: one profile, warm zygotes, any number of commands from any number of threads.

with Session(profile, os.environ) as session:
    outcome = session.run(Request(("make", "test")))
"""

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Self

import msgspec

from signoff.domain.errors import ChildFailed, ChildLost, UsageError
from signoff.sandbox import launch, plan
from signoff.sandbox.cgroups import MEMORY
from signoff.sandbox.converse import Conversation, Exchange
from signoff.sandbox.denial import Evidence, Host, explain
from signoff.sandbox.environment import settable
from signoff.sandbox.ground import Ground, Start
from signoff.sandbox.identity import Identity
from signoff.sandbox.inside import serve
from signoff.sandbox.launch import Zygote
from signoff.sandbox.notices import Refusal
from signoff.sandbox.outcome import STRENGTH, Backend, Cause, Denial, OnOutput, Outcome, Request, Strength
from signoff.sandbox.profile import Limits, Profile

# Serve a listening descriptor until left, and tell which host:port was refused.
Attach = Callable[[int, Callable[[str], None]], contextlib.AbstractContextManager[object]]
_MOST_AT_ONCE = 16


class Session:
    """`environ` is ours, unfiltered: commands get the little of it that `environment` lets through, and `given`.

    `attach` serves the loopback listener of each zygote when the network is limited; without it nothing is reachable.
    """

    def __init__(
        self,
        profile: Profile,
        environ: Mapping[str, str],
        *,
        given: Mapping[str, str] | None = None,
        require: Strength | None = None,
        attach: Attach | None = None,
        start: Start = launch.spawn,
        only: Backend | None = None,
        layers: frozenset[plan.Layer] = plan.ALL_LAYERS,
    ) -> None:
        wanted = require if require is not None else Strength.PARTIAL if profile.confined else Strength.NONE
        self._ground = Ground(
            profile, environ, start, given=settable(given or {}), require=wanted, only=only, layers=layers
        )
        self._profile = profile
        self._attach = attach
        self._lock = threading.Lock()
        self._freed = threading.Condition(self._lock)
        self._busy = 0
        self._idle: list[Zygote] = []
        self._served: dict[Zygote, contextlib.AbstractContextManager[object]] = {}
        self._generation = 0
        self._born: dict[Zygote, int] = {}

    def __enter__(self) -> Self:
        try:
            with self._lock:
                self._idle.append(self._start())
        except BaseException:
            self._ground.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Ends every zygote and takes the placeholders away. Commands must have ended."""
        with self._lock:
            self._end_idle()
            self._ground.close()

    @property
    def backend(self) -> Backend:
        return self._ground.backend

    @property
    def identity(self) -> Identity:
        return self._ground.identity

    @property
    def strength(self) -> Strength:
        return STRENGTH[self.backend]

    def run(
        self,
        request: Request,
        on_output: OnOutput | None = None,
        stop: threading.Event | None = None,
        on_start: Callable[[int], object] | None = None,
    ) -> Outcome:
        """Run one command to its end; setting `stop` ends it as if its time were up.

        Raises ChildFailed when it cannot be started, ChildLost when the sandbox dies under it.
        """
        _check(request)
        limits = _limits(self._profile.limits, request)
        workspace = self._profile.workspace
        cwd = os.path.join(workspace, request.cwd) if request.cwd is not None else workspace
        began = time.monotonic()
        zygote = self._take()
        answered = False
        try:
            if on_start is not None:
                on_start(zygote.process)  # ending that process ends the command and all it started
            exchange = Exchange(zygote, limits, stop)
            conversation = exchange.converse(cwd, request.argv, request.stdin, on_output)
            answered = conversation.reply is not None
            told = zygote.notices.take() if zygote.notices is not None else None
            refused = tuple(zygote.refused)
            conversation = _with_limit(conversation, zygote)
        finally:
            self._give_back(zygote, answered)
        outcome = self._outcome(conversation, request, cwd, (time.monotonic() - began) * 1000)
        forbidden = self._ground.undo_forbidden()
        if forbidden is not None:
            denial = Denial(Cause.PROTECTED, forbidden, None, certain=True)
            return msgspec.structs.replace(outcome, denial=denial)
        if outcome.exit_code == 0:
            return outcome
        return msgspec.structs.replace(outcome, denial=self._denial(outcome, request, cwd, refused, told))

    def _take(self) -> Zygote:
        """A zygote to oneself."""
        with self._lock:
            while self._busy >= _MOST_AT_ONCE:
                self._freed.wait()
            if not self._ground.intact():
                self._generation += 1
                self._end_idle()
                self._ground.renew()
            zygote = self._idle.pop() if self._idle else self._start()
            self._busy += 1
            return zygote

    def _give_back(self, zygote: Zygote, answered: bool) -> None:
        """It goes back to the others only after an answered command: another state of it is not known."""
        with self._lock:
            if self._busy >= _MOST_AT_ONCE:
                self._freed.notify()
            self._busy -= 1
            zygote.refused.clear()
            if answered and self._born[zygote] == self._generation:
                self._idle.append(zygote)
            else:
                zygote.lost = not answered
                self._end(zygote)

    def _end_idle(self) -> None:
        for zygote in self._idle:
            self._end(zygote)
        self._idle = []

    def _start(self) -> Zygote:
        zygote = self._ground.zygote()
        self._born[zygote] = self._generation
        if self._attach is not None and zygote.listener is not None:
            served = self._attach(zygote.listener, zygote.refused.append)
            zygote.listener = None
            served.__enter__()
            self._served[zygote] = served
        return zygote

    def _end(self, zygote: Zygote) -> None:
        del self._born[zygote]
        zygote.close()
        served = self._served.pop(zygote, None)
        if served is not None:
            served.__exit__(None, None, None)

    def _outcome(self, talk: Conversation, request: Request, cwd: str, duration_ms: float) -> Outcome:
        if talk.reply is None and not (talk.timed_out or talk.exhausted):
            raise ChildLost("the sandbox ended while the command ran", hint="The next command starts a new one.")
        kind, status, leftovers = talk.reply or (serve.ENDED, 9, 0)
        if kind == serve.NO_DIRECTORY:
            raise ChildFailed(f"the directory {cwd} cannot be entered inside the sandbox: {os.strerror(status)}")
        if kind == serve.NO_PROGRAM:
            raise ChildFailed(
                f"{request.argv[0]} cannot be started inside the sandbox: {os.strerror(status)}",
                hint=_what_to_do(request.argv[0], cwd, status, self._ground.environ.get("PATH", "")),
            )
        killed = os.WIFSIGNALED(status)
        return Outcome(
            exit_code=None if killed else os.WEXITSTATUS(status),
            signal=os.WTERMSIG(status) if killed else None,
            timed_out=talk.timed_out,
            stdout=talk.stdout,
            stderr=talk.stderr,
            backend=self.backend,
            duration_ms=duration_ms,
            leftovers=leftovers,
            exhausted=talk.exhausted,
        )

    def _denial(
        self,
        outcome: Outcome,
        request: Request,
        cwd: str,
        refused: tuple[str, ...],
        told: tuple[Refusal, ...] | None,
    ) -> Denial | None:
        if outcome.timed_out or not self._profile.confined:
            return None
        evidence = Evidence(
            argv=request.argv,
            cwd=cwd,
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            stdout=outcome.stdout.text(),
            stderr=outcome.stderr.text(),
            exhausted=outcome.exhausted,
            refused_hosts=refused,
            refused_calls=told,
        )
        return explain(evidence, self._ground.reach, Host())


def _with_limit(talk: Conversation, zygote: Zygote) -> Conversation:
    """Say which limit the kernel enforced on a command that failed."""
    failed = talk.reply is None or talk.reply[1] != 0
    if zygote.group is None or talk.exhausted is not None or not failed:
        return talk
    enforced = zygote.group.exhausted()
    if enforced is None:
        return talk
    return msgspec.structs.replace(talk, exhausted="memory" if enforced == MEMORY else "processes")


def _check(request: Request) -> None:
    if not request.argv or not request.argv[0]:
        raise UsageError("there is no program to run")
    if "\0" in "".join(request.argv) or "\0" in (request.cwd or ""):
        raise UsageError("a word of the command contains a NUL character")


def _what_to_do(program: str, cwd: str, code: int, path: str) -> str | None:
    """About a program that the kernel would not start."""
    if code == errno.EACCES:
        return "It must be a file that may be executed: chmod +x."
    if code == errno.ENOEXEC:
        return "It is no program, and no script that names its interpreter in the first line."
    if code != errno.ENOENT:
        return None
    places = [cwd] if "/" in program else path.split(":")
    outside = next((found for place in places if os.path.exists(found := os.path.join(place, program))), None)
    if outside is None:
        return "Check the name, or give its full path."
    return f"{outside} is there, but it or the interpreter it names cannot be seen inside: name a readable root."


def _limits(limits: Limits, request: Request) -> Limits:
    if request.timeout_ms is None and request.max_output_bytes is None:
        return limits
    return msgspec.structs.replace(
        limits,
        timeout_ms=limits.timeout_ms if request.timeout_ms is None else request.timeout_ms,
        max_output_bytes=limits.max_output_bytes if request.max_output_bytes is None else request.max_output_bytes,
    )
