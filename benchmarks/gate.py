"""What the way through the door costs: a call of a tool that does nothing, against one durable append to a ledger."""

import asyncio
import os
import tempfile
from pathlib import Path

from benchmarks.figure import Figure, at_most, medians
from signoff.approvals.rulebook import SessionRules
from signoff.approvals.unattended import Unattended
from signoff.config.rules import Places, RuleBook
from signoff.domain.call import ToolCall
from signoff.domain.context import Context
from signoff.domain.intent import Action
from signoff.domain.settings import ApprovalPolicy, DefaultAction, OnAsk, Redact
from signoff.gate import Gate
from signoff.ledger.log import Ledger
from signoff.ledger.place import new_run_id
from signoff.ledger.records import DecidedBy, Decision, Genesis, Outcome
from signoff.sandbox.profile import Profile
from signoff.sandbox.sessions import Sessions
from signoff.tools.registry import Registry
from signoff.tools.tool import Place

ROUNDS = 400
BAR = 2.5


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name, asyncio.Runner() as runner:
        directory = Path(name).resolve()
        ours, bare = _ledger(directory), _ledger(directory)
        with Sessions(Profile(workspace=name), os.environ) as sandboxes:
            gate = Gate(
                registry=Registry(),
                rulebook=SessionRules(
                    RuleBook(Places({"HOME": name}, directory, "benchmark")),
                    Context(workspace=name, home=name, approval=ApprovalPolicy.NEVER),
                ),
                reviewer=Unattended(DefaultAction.ASK, OnAsk.DENY),
                ledger=ours,
                sandboxes=sandboxes,
                place=Place(workspace=name, home=name),
                approval=ApprovalPolicy.NEVER,
            )
            call = ToolCall("call-1", "nothing", "", {"note": "hello"}, "trace-1", 0)
            append = Decision("call-1", "nothing", Action.READ, Outcome.ALLOW, DecidedBy.POLICY)
            seconds = medians(
                {"call": lambda: runner.run(gate.call(call)), "append": lambda: bare.write(append)},
                rounds=ROUNDS,
                warm_up=20,
            )
        ours.close()
        bare.close()
    ratio = seconds["call"] / seconds["append"]
    return [at_most("gate.call of a tool that does nothing", ratio, BAR, reference="one durable ledger append")]


def _ledger(directory: Path) -> Ledger:
    genesis = Genesis(("benchmark",), str(directory), "benchmark", "0", Redact.BASIC)
    return Ledger.create(str(directory / "runs"), new_run_id(), genesis, key=b"k" * 32)
