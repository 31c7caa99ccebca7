"""The sandboxes of one run: each opened when it is first needed, kept warm, closed together.

A command that was cleared for more than the others (a repository to write, a root somebody granted, the outside) gets a
sandbox with exactly that profile, so that nothing is ever widened for whoever comes next.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self

import msgspec

from signoff.domain.late import late
from signoff.domain.settings import SandboxMode
from signoff.sandbox.background import in_sandbox
from signoff.sandbox.jobs import Job, Jobs
from signoff.sandbox.outcome import Allowance, OnOutput, Outcome, Request, Strength
from signoff.sandbox.profile import Profile
from signoff.sandbox.session import Attach, Session

if TYPE_CHECKING:
    import asyncio
    from concurrent import futures

    from signoff.sandbox import login
else:
    asyncio = late("asyncio")
    futures = late("concurrent.futures")
    login = late("signoff.sandbox.login")

_MOST_AT_ONCE = 16


class Sessions:
    def __init__(
        self,
        profile: Profile,
        environ: Mapping[str, str],
        *,
        require: Strength | None = None,
        attach: Attach | None = None,
        say: Callable[[str], object] = lambda note: None,
    ) -> None:
        """`say` is told why the commands lack what a login shell would give them, should that be so."""
        self._profile = profile
        self._start = functools.partial(Session, require=require, attach=attach)
        self._given, self._say = environ, say
        self._environ: Mapping[str, str] | None = None  # with the first command: asking a login shell takes time
        self._asking = threading.Lock()
        self._lock = threading.Lock()
        self._sessions: dict[Profile, Session] = {}
        self._closing = contextlib.ExitStack()
        self.jobs = Jobs()  # `begin` says how each is started
        self._threads: futures.ThreadPoolExecutor | None = None  # with the first command

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.jobs.__exit__()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        self._closing.close()

    @property
    def confined(self) -> bool:
        return self._profile.confined

    async def start(self, request: Request, allowance: Allowance, on_output: OnOutput | None = None) -> Outcome:
        """Run one command to its end. Whoever stops waiting stops the command; `on_output` is called in a thread."""
        stop = threading.Event()
        loop = asyncio.get_running_loop()
        if self._threads is None:
            self._threads = futures.ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="sandbox")
        running = loop.run_in_executor(self._threads, self._run, request, allowance, on_output, stop)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait({running})  # bounded: the sandbox kills what does not end by itself
            running.exception()  # how it ended is of no interest any more
            raise

    async def begin(self, request: Request, allowance: Allowance) -> Job:
        """Start a command that goes on in the background, in a sandbox of its own."""
        profile = allowed(self._profile, allowance)
        starter = in_sandbox(lambda: self._open(profile))
        return await asyncio.to_thread(self.jobs.start, request, by=starter)

    def _open(self, profile: Profile) -> Session:
        with self._asking:
            if self._environ is None:
                alone = "SHLVL" not in self._given  # no shell started us
                self._environ = login.for_session(self._given, self._say) if alone else self._given
        return self._start(profile, self._environ)

    def _run(
        self, request: Request, allowance: Allowance, on_output: OnOutput | None, stop: threading.Event
    ) -> Outcome:
        return self._session(allowed(self._profile, allowance)).run(request, on_output, stop)

    def _session(self, profile: Profile) -> Session:
        with self._lock:
            if profile not in self._sessions:
                self._sessions[profile] = self._closing.enter_context(self._open(profile))
            return self._sessions[profile]


def allowed(profile: Profile, allowance: Allowance) -> Profile:
    """The profile with what was allowed in addition."""
    if allowance.outside:
        return msgspec.structs.replace(profile, mode=SandboxMode.DANGER_FULL_ACCESS)
    return msgspec.structs.replace(
        profile,
        git_write=profile.git_write or allowance.git_write,
        writable=(*profile.writable, *(root for root in allowance.writable if root not in profile.writable)),
        unmasked=(*profile.unmasked, *(path for path in allowance.unmasked if path not in profile.unmasked)),
    )
