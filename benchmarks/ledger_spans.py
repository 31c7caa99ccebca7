"""What tracing costs when nobody listens: a decision's span opened, filled and closed, against one ledger record prepared
and chained, the least that a decision costs anyway."""

from benchmarks.figure import Figure, at_most, medians
from benchmarks.ledger_commit import RECORD
from signoff.ledger.canonical import encode
from signoff.ledger.chain import Chain
from signoff.ledger.log import stamp
from signoff.ledger.place import new_run_id
from signoff.ledger.spans import DecideSpan
from signoff.ledger.tracing import Tracing

ROUNDS = 20_000
REFERENCE = "encoding and chaining one record"


def measure() -> list[Figure]:
    seconds = medians({"spans": spans, REFERENCE: records}, rounds=7)
    return [at_most("a span nobody listens to", seconds["spans"] / seconds[REFERENCE], 0.5, reference=REFERENCE)]


def spans() -> None:
    tracing = Tracing.of({}, "run", "project", str)
    for _ in range(ROUNDS):
        with tracing.span(DecideSpan(tool="shell", action="exec")) as decide:
            decide.fields.decision = "allow"
            decide.fields.rule_id = "allow.tests"


def records() -> None:
    chain = Chain(new_run_id())
    for _ in range(ROUNDS):
        chain.link(encode(RECORD), *stamp())
