"""Start a background job in a sandbox of its own, so that it takes no place from the commands in the foreground."""

import threading
from collections.abc import Callable

import msgspec

from signoff.domain.errors import ChildFailed, Exit, SignoffError
from signoff.sandbox.jobs import OnEnd, Running, Starter
from signoff.sandbox.outcome import OnOutput, Request
from signoff.sandbox.session import Session

_A_DAY_MS = 86_400_000
_START_SECONDS, _STOP_SECONDS = 30.0, 30.0


def in_sandbox(open_session: Callable[[], Session]) -> Starter:
    """For `Jobs`: each job runs in the session that `open_session` makes for it, for a day at most unless it says less."""

    def start(request: Request, on_output: OnOutput, on_end: OnEnd) -> Running:
        job = _Sandboxed(open_session(), request, on_output, on_end)
        job.begin()
        return job

    return start


class _Sandboxed:
    def __init__(self, session: Session, request: Request, on_output: OnOutput, on_end: OnEnd) -> None:
        limit = _A_DAY_MS if request.timeout_ms is None else request.timeout_ms
        self._session, self._request = session, msgspec.structs.replace(request, timeout_ms=limit)
        self._on_output, self._on_end = on_output, on_end
        self._under_way, self._stop = threading.Event(), threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="signoff-job", daemon=True)
        self.pid = 0

    def begin(self) -> None:
        self._thread.start()
        if not self._under_way.wait(_START_SECONDS):
            self.stop()
            raise ChildFailed(f"{self._request.argv[0]} did not start within {_START_SECONDS:g} s")
        if self._error is not None and not self.pid:
            raise self._error

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        try:
            with self._session as session:
                outcome = session.run(self._request, self._on_output, self._stop, self._started)
            self._on_end(outcome.status)
        except Exception as error:  # whatever it is, the job has ended
            self._error = error
            self._on_output(2, f"signoff: {error}\n".encode())
            self._on_end(int(error.exit if isinstance(error, SignoffError) else Exit.INTERNAL))
        finally:
            self._under_way.set()

    def _started(self, pid: int) -> None:
        self.pid = pid
        self._under_way.set()
