"""One prompt: asked about if that is wanted, worked on, told as it goes, and answered with the reason it ended.

After a cancel, a timeout or a refusal nothing more of it is told.
"""

import asyncio
import functools

import msgspec

from signoff.acp import prompts
from signoff.acp.failures import RequestFailed
from signoff.acp.live import Interruption, Live
from signoff.acp.peer import Call
from signoff.acp.telemetry import Name, Telemetry
from signoff.agent.event import Reason, TurnEnd
from signoff.domain.errors import ModelUnauthorized, Refused
from signoff.domain.review import Approved
from signoff.providers.provider import Retrying
from signoff.wire import acp_schema as schema
from signoff.wire import jsonrpc

STOPS: dict[Reason, schema.StopReason] = {
    Reason.END: "end_turn",
    Reason.CANCELLED: "cancelled",
    Reason.ABORTED: "cancelled",
    Reason.BUDGET: "max_turn_requests",
    Reason.LOOP: "max_turn_requests",
    Reason.LENGTH: "max_tokens",
    Reason.REFUSED: "refusal",
}

_OTHERWISE = (Reason.CANCELLED, Reason.ABORTED, Reason.ERROR)  # than by themselves


class PromptRefused(Refused):
    """The person did not want this prompt worked on."""


class Terms(msgspec.Struct, frozen=True):
    asks: bool = False  # about each prompt, before anything happens
    timeout_s: float | None = None


class Prompting:
    def __init__(self, terms: Terms, telemetry: Telemetry) -> None:
        self._terms = terms
        self._telemetry = telemetry

    async def prompt(self, live: Live, call: Call, request: schema.PromptRequest) -> schema.PromptResponse:
        self._telemetry.tell(Name.PROMPT_REQUESTED, live.id, call)
        parts, typed = prompts.taken(request.prompt)
        live.begin(call.peer.outlive(call, live.withdraw))
        first, timer = None, None
        if self._terms.timeout_s is not None:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(self._terms.timeout_s, live.interrupt, Interruption.TIMED_OUT)
        if self._terms.asks:
            first = functools.partial(self._ask_about, live, call, typed)
        if self._telemetry.heard:
            live.on_retry = functools.partial(self._retried, live.id, call)
            if not self._terms.asks:
                self._telemetry.tell(Name.PROMPT_STARTED, live.id, call)
        try:
            end = await live.work(parts, _command(typed) if typed.startswith("/") else None, first)
        except PromptRefused:
            self._telemetry.tell(Name.PROMPT_PERMISSION_DENIED, live.id, call)
            return schema.PromptResponse(stopReason="cancelled")
        except (Exception, asyncio.CancelledError) as error:
            if live.interrupted is None:
                self._telemetry.tell(Name.PROMPT_FAILED, live.id, call, error=str(error))
                raise
            end = TurnEnd(Reason.CANCELLED)
        finally:
            if timer is not None:
                timer.cancel()
        return self._ended(live, call, end)

    async def _ask_about(self, live: Live, call: Call, typed: str) -> None:
        if not isinstance(await live.may_prompt(typed, f"prompt-{call.internal_id}"), Approved):
            raise PromptRefused("the prompt was not approved")
        self._telemetry.tell(Name.PROMPT_STARTED, live.id, call)

    def _retried(self, session_id: str, call: Call, event: Retrying) -> None:
        about = {"attempt": event.attempt, "reason": event.reason, "delayS": event.delay_s}
        self._telemetry.tell(Name.PROMPT_RETRY, session_id, call, **about)

    def _ended(self, live: Live, call: Call, end: TurnEnd) -> schema.PromptResponse:
        if live.interrupted is None and end.reason not in _OTHERWISE:
            if self._telemetry.heard:
                self._telemetry.tell(Name.PROMPT_COMPLETED, live.id, call, stopReason=STOPS[end.reason])
            return schema.PromptResponse(stopReason=STOPS[end.reason])
        if live.interrupted is Interruption.TIMED_OUT:
            self._telemetry.tell(Name.PROMPT_TIMED_OUT, live.id, call)
            limit = f"{self._terms.timeout_s:g} s"
            raise RequestFailed(jsonrpc.INTERNAL_ERROR, f"stopped after {limit}", {"code": "prompt.timeout"})
        if live.interrupted is not None or end.reason is not Reason.ERROR:
            self._telemetry.tell(Name.PROMPT_CANCELLED, live.id, call)
            if live.interrupted is Interruption.WITHDRAWN:
                raise asyncio.CancelledError
            return schema.PromptResponse(stopReason="cancelled")
        self._telemetry.tell(Name.PROMPT_FAILED, live.id, call, error=end.error.message if end.error else "")
        raise _failure(end)


def _failure(end: TurnEnd) -> RequestFailed:
    code = end.error.code if end.error else "internal"
    message = end.error.message if end.error else "the turn failed"
    rpc = jsonrpc.AUTH_REQUIRED if code == ModelUnauthorized.code else jsonrpc.INTERNAL_ERROR
    return RequestFailed(rpc, message, {"code": code})


def _command(text: str) -> tuple[str, str]:
    name, _, rest = text[1:].partition(" ")
    return name.strip(), rest.strip()
