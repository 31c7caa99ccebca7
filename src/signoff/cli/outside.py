"""The seam for `--external-policy`: our own rules judge first, then every call they do not forbid is put to whoever started
us, by the control protocol on standard input and output."""

import contextlib
from collections.abc import Callable, Iterator

import msgspec

from signoff.agent.event import AgentEvent
from signoff.approvals.case import Rulebook
from signoff.approvals.review import Reviewer


class Seam(msgspec.Struct, frozen=True):
    """What the agent is opened with."""

    show: Callable[[AgentEvent], None]
    reviewer: Reviewer | None = None
    judging: Callable[[Rulebook], Rulebook] = lambda rulebook: rulebook


@contextlib.contextmanager
def seam(external: bool, show: Callable[[AgentEvent], None]) -> Iterator[Seam]:
    if not external:
        yield Seam(show)
        return
    from signoff.cli.external import External, PutToTheOutside

    outside = External(show)
    yield Seam(outside.show, outside, PutToTheOutside)
