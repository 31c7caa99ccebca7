"""signoff exec: one command through the whole gate."""

import asyncio
import os
import shlex
import signal
from typing import Any

import click
import msgspec

from signoff.approvals.silence import Silence
from signoff.approvals.unattended import NOBODY
from signoff.cli import wiring
from signoff.cli.app import complain
from signoff.cli.judging import COMMAND_LINE, approval_option, sandbox_option
from signoff.cli.output import Output, json_option
from signoff.cli.wiring_door import Run, reviewer_of
from signoff.cli.wiring_gate import opened
from signoff.domain.call import Failure, ToolResult
from signoff.domain.errors import ChildFailed, Exit, Refused, SandboxDenied, exit_of
from signoff.domain.event import CallJudged, ReviewAnswered, RunEvent, Warned
from signoff.domain.visible import visible
from signoff.sandbox.outcome import Cause
from signoff.tools.exec import Exec


class Report(msgspec.Struct, frozen=True):
    """What --json prints. `verdict` and `rule_id` are None when the call was not even judged."""

    run_id: str
    exit_status: int
    ok: bool
    verdict: str | None
    rule_id: str | None
    review: str | None
    error: Failure | None
    payload: dict[str, Any] | None
    duration_ms: int


class _Watch:
    """What happened on the way, for the report."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.verdict: str | None = None
        self.rule_id: str | None = None
        self.review: str | None = None

    def __call__(self, event: RunEvent) -> None:
        match event:
            case CallJudged(verdict=verdict):
                self.verdict = verdict.decision.word
                self.rule_id = verdict.winner.rule_id if verdict.winner else None
            case ReviewAnswered(decision=decision):
                self.review = str(type(decision).__struct_config__.tag)
            case Warned(message=message):
                self._output.warn(message)
            case _:
                pass


@click.command("exec", context_settings=COMMAND_LINE)
@approval_option
@sandbox_option
@click.option("--timeout-ms", type=click.IntRange(min=1), help="Wall time; 300000 unless configured.")
@json_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def exec_(
    output: Output,
    command: tuple[str, ...],
    approval: str | None,
    sandbox: str | None,
    timeout_ms: int | None,
    as_json: bool,
) -> int:
    """Run one command: judged, asked about, confined, recorded.

    Standard input, output and error are the command's, and so is the exit status; 40 when it was denied, 41 when nobody
    answered in time, 44 when the sandbox is not possible here, 124 when its time was up.

    \b
    Examples:
      signoff exec -- make test
      signoff exec --approval never --sandbox read-only -- rg TODO
      signoff exec --json -- git push --force
    """
    flags = {"approval": approval, "sandbox.mode": sandbox}
    chosen = {**output.flags, **{key: value for key, value in flags.items() if value}}
    loaded = wiring.configuration(msgspec.structs.replace(output, flags=chosen))
    watch, silence = _Watch(output), Silence()
    tool = Exec(stdin=_stdin(), on_output=None if as_json else silence.write)
    args: dict[str, Any] = {"argv": list(command)} | ({"timeout_ms": timeout_ms} if timeout_ms else {})
    reviewer = reviewer_of(output, loaded.settings.policy, silence)
    with opened(output, loaded, ("signoff", "exec", *command), tools=[tool], reviewer=reviewer, show=watch) as run:
        result = asyncio.run(_carry(run, args))
        run.status = _status(result)
    if as_json:
        output.json(
            Report(
                run_id=run.run_id,
                exit_status=run.status,
                ok=result.ok,
                verdict=watch.verdict,
                rule_id=watch.rule_id,
                review=watch.review,
                error=result.error,
                payload=result.payload,
                duration_ms=result.duration_ms,
            )
        )
    elif result.error is not None:
        complain(result.error.message, _hint(result.error, command), exit_of(result.error.code))
    return run.status


def _hint(error: Failure, command: tuple[str, ...]) -> str | None:
    """What to do next."""
    if error.code == Refused.code:
        asked = "Run it at a terminal to be asked. " if error.message == NOBODY else ""
        return f'{asked}"signoff why -- {visible(shlex.join(command))}" names the rule.'
    if error.code == ChildFailed.code and len(command) == 1 and " " in command[0]:
        return f"That is one word; write: signoff exec -- {visible(command[0])}"
    if error.code == SandboxDenied.code and (error.details or {}).get("denial", {}).get("cause") == Cause.NETWORK:
        return (
            f'To open the network for one call: "signoff -c sandbox.network=on exec -- {visible(shlex.join(command))}".'
        )
    return None


async def _carry(run: Run, args: dict[str, Any]) -> ToolResult:
    """The one call; a request to end stops the command and is recorded."""
    work = asyncio.ensure_future(run.gate.call(run.call("exec", args), source="shell"))
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        return await work
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _status(result: ToolResult) -> int:
    """The command's own status if it ran to its end, whatever the sandbox kept it from doing on the way."""
    if result.payload is not None:
        return int(result.payload["exit_code"])
    if result.error is None:
        return Exit.OK
    status = exit_of(result.error.code)
    return Exit.INTERNAL if status is Exit.FOUND else status  # it did not run: that is no finding


def _stdin() -> int | None:
    try:
        os.fstat(0)
    except OSError:
        return None
    return 0
