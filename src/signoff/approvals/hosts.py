"""A connection that a sandboxed command wants to make, as a case for the door."""

import itertools
import time

from signoff.approvals.case import Case
from signoff.approvals.store import key_text
from signoff.domain.call import ToolCall
from signoff.domain.intent import Action, Host, Intent

TOOL = "network"
_numbers = itertools.count(1)


def host_case(host: str, port: int, trace_id: str) -> Case:
    """A yes for the session covers this host and port."""
    place = {"host": host, "port": port}
    call = ToolCall(f"{TOOL}-{next(_numbers)}", TOOL, "", dict(place), trace_id, time.time_ns() // 1_000_000)
    return Case(
        call=call,
        intent=Intent(tool=TOOL, action=Action.NET, aspects=(Host(host, port),)),
        turn_id=trace_id,
        keys=(key_text(place),),
        source="sandbox",
    )
