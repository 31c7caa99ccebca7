"""Memory around the turns of our own agent: what helps goes into what the model is told, what was learnt is kept."""

import time

from signoff.cli import wiring
from signoff.cli.output import Output
from signoff.cli.wiring_agent import Remembering
from signoff.cli.wiring_door import Run
from signoff.cli.wiring_memory import open_memory
from signoff.config.layers import Configuration
from signoff.domain.errors import MemoryFailed
from signoff.ledger import reading
from signoff.ledger.records import Event, Line
from signoff.ledger.tracing import Tracing
from signoff.memory.interface import Memory, NoMemory
from signoff.memory.recall import Recall
from signoff.memory.signals import Observed, steps


def remembered(output: Output, loaded: Configuration, run: Run, tracing: Tracing) -> Remembering:
    memory: Memory = NoMemory()
    try:
        memory = open_memory(loaded.settings.memory)
    except MemoryFailed as error:
        output.warn(f"{error.message}; the run goes on without memory")
    recall = Recall(
        memory,
        loaded.settings.memory,
        wiring.project_name(loaded),
        tracing=tracing,
        record=run.ledger.submit,
        say=output.warn,
    )
    return _Remembered(recall, memory)


class _Remembered(Remembering):
    """The first prompt is what the memory is asked about, and what it is told about at the end."""

    def __init__(self, recall: Recall, memory: Memory) -> None:
        self._recall, self._memory = recall, memory
        self._started = time.monotonic()
        self._asked = False

    def before(self, asked: str) -> tuple[str, str]:
        merged = self._recall.before(asked)
        self._asked = True
        return merged.system, merged.user.removesuffix(asked).rstrip()

    def close(self) -> None:
        self._memory.close()  # a server opens one for every session

    def after(self, run: Run, status: int, text: str) -> None:
        if not self._asked:
            return
        elapsed = int((time.monotonic() - self._started) * 1_000)
        run.ledger.write(Event("run.end", {"exit_code": status, "duration_ms": elapsed}))
        with run.file.open("rb") as file:
            records = [line.what for line in reading.read(file) if isinstance(line, Line)]
        self._recall.after(Observed(status, text, "", steps(records), run_id=run.run_id, duration_ms=elapsed))
