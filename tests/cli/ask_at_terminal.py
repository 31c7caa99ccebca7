"""Ask the questions of one scene at the terminal this runs in, and print the answers: the other side of test_terminal."""

import asyncio
import sys

import msgspec

from signoff.approvals.review import ask
from signoff.cli.terminal import TerminalReviewer
from signoff.cli.wiring_door import controlling_terminal
from signoff.domain.review import ReviewDecision
from tests.cli.scenes import SCENES


async def main(scene: str, colour: str, arm_s: str, limit_s: str, answers: str) -> None:
    terminal = controlling_terminal()
    if terminal is None:
        print("no terminal")
        return
    found = TerminalReviewer.on(terminal, colour=colour == "colour")
    reviewer = TerminalReviewer(found._terminal, found._screen, colour=colour == "colour", arm_s=float(arm_s))
    asked = [asyncio.ensure_future(ask(reviewer, request, float(limit_s))) for request in SCENES[scene]]
    decisions: list[ReviewDecision] = await asyncio.gather(*asked)
    with open(answers, "wb") as file:
        file.write(msgspec.json.encode(decisions))
    print("answered", flush=True)


asyncio.run(main(*sys.argv[1:]))
