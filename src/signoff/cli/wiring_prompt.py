"""The prompt of a supervised agent: what is remembered goes into it before the run, what was learnt is kept after it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.cli.wiring_door import Run
from signoff.config.layers import Configuration
from signoff.domain.errors import MemoryFailed, UsageError
from signoff.domain.settings import Settings
from signoff.ledger.records import Event, Line
from signoff.ledger.tracing import Tracing

if TYPE_CHECKING:
    from signoff.memory.interface import Memory

PLACEHOLDER = "{prompt}"
LONGEST_PROMPT = 16 * 1024 * 1024  # characters
LONGEST_TAIL = 2_000  # characters of each stream that the next run may look back on


class Prompted:
    """Without a prompt nothing is done and nothing of the memory is even imported."""

    def __init__(self, text: str | None, into: str | None, run: Run) -> None:
        self._text = text
        self._into = into
        self._run = run
        self._started = time.monotonic()

    @classmethod
    def of(
        cls, output: Output, loaded: Configuration, given: str | None, into: str | None, run: Run, tracing: Tracing
    ) -> "Prompted":
        if given is None and into is not None:
            raise UsageError("--inject-into needs a --prompt to write there")
        text = None if given is None else _read(given)
        if text is None or not loaded.settings.memory.enabled:
            return cls(text, into, run)
        return _Remembered(text, into, run, output, loaded, tracing)

    def command(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """The command with the prompt in it: in its place, in a file, or as the last word."""
        if self._text is None:
            return command
        text = self.prompt(self._text)
        if self._into is not None:
            try:
                with open(self._into, "w", encoding="utf-8") as file:
                    file.write(text)
            except OSError as error:
                raise UsageError(f"cannot write the prompt to {self._into}: {error.strerror}") from error
            return command
        if any(PLACEHOLDER in word for word in command):
            return tuple(word.replace(PLACEHOLDER, text) for word in command)
        return (*command, text)

    def prompt(self, text: str) -> str:
        return text

    def learn(self, exit_code: int, tails: tuple[str, str]) -> None:
        """Nothing to learn without a memory."""


class _Remembered(Prompted):
    def __init__(
        self, text: str, into: str | None, run: Run, output: Output, loaded: Configuration, tracing: Tracing
    ) -> None:
        from signoff.cli.wiring_memory import open_memory
        from signoff.memory.interface import NoMemory
        from signoff.memory.recall import Recall

        super().__init__(text, into, run)
        self._settings: Settings = loaded.settings
        self._project_id = wiring.project_name(loaded)
        memory: Memory = NoMemory()
        try:
            memory = open_memory(loaded.settings.memory)
        except MemoryFailed as error:
            output.warn(f"{error.message}; the run goes on without memory")
        self._recall = Recall(
            memory,
            loaded.settings.memory,
            self._project_id,
            tracing=tracing,
            record=run.ledger.submit,
            say=output.warn,
        )

    def prompt(self, text: str) -> str:
        from signoff.cli.wiring_sources import texts
        from signoff.memory.inject import prepend

        said = texts(self._settings.memory, Path.cwd(), self._run.file.parent, self._project_id, self._run.run_id)
        return prepend(self._recall.before(text, said))

    def learn(self, exit_code: int, tails: tuple[str, str]) -> None:
        from signoff.ledger import reading
        from signoff.memory.signals import Observed, steps

        elapsed = int((time.monotonic() - self._started) * 1_000)
        stdout, stderr = tails
        ended = {"exit_code": exit_code, "duration_ms": elapsed}
        ends = {"stdout_tail": stdout[-LONGEST_TAIL:], "stderr_tail": stderr[-LONGEST_TAIL:]}
        self._run.ledger.write(Event("run.end", {**ended, **ends}))
        with self._run.file.open("rb") as file:
            records = [line.what for line in reading.read(file) if isinstance(line, Line)]
        self._recall.after(
            Observed(exit_code, stdout, stderr, steps(records), run_id=self._run.run_id, duration_ms=elapsed)
        )


def _read(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        with open(given[1:], encoding="utf-8") as file:
            prompt = file.read(LONGEST_PROMPT + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the prompt from {given[1:]}: {error}") from error
    if len(prompt) > LONGEST_PROMPT:
        raise UsageError(f"the prompt in {given[1:]} has more than {LONGEST_PROMPT} characters")
    return prompt
