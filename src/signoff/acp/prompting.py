"""One prompt: asked about if that is wanted, worked on, told as it goes, and answered with the reason it ended.

After a cancel, a timeout or a refusal nothing more of it is told.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn

import msgspec

from signoff.acp import prompts
from signoff.acp.failures import RequestFailed
from signoff.acp.live import Interruption, Live
from signoff.acp.peer import Call
from signoff.acp.telemetry import Name, Telemetry
from signoff.agent.event import Reason, TurnEnd
from signoff.domain.errors import ModelUnauthorized, Refused
from signoff.domain.review import Approved
from signoff.providers.provider import Image, Retrying, Text
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
        told = call.internal_id
        self._telemetry.tell(Name.PROMPT_REQUESTED, live.id, told)
        parts, text = prompts.parts(request.prompt), prompts.text(request.prompt)

        live.begin()
        live.on_retry = self._observer(live.id, told)
        call.peer.outlive(call, lambda: live.interrupt(Interruption.WITHDRAWN))
        timer = self._timer(live)
        work = self._asked_about if self._terms.asks else self._begun
        try:
            end = await live.through(work(live, told, parts, text))
        except PromptRefused:
            self._telemetry.tell(Name.PROMPT_PERMISSION_DENIED, live.id, told)
            return schema.PromptResponse(stopReason="cancelled")
        except (Exception, asyncio.CancelledError) as error:
            if live.interrupted is None:
                self._telemetry.tell(Name.PROMPT_FAILED, live.id, told, error=str(error))
                raise
            end = TurnEnd(Reason.CANCELLED)
        finally:
            if timer is not None:
                timer.cancel()
        return self._ended(live, told, end)

    async def _asked_about(self, live: Live, told: str, parts: tuple[Text | Image, ...], text: str) -> TurnEnd:
        if not isinstance(await live.may_prompt(text, f"prompt-{told}"), Approved):
            raise PromptRefused("the prompt was not approved")
        return await self._begun(live, told, parts, text)

    def _begun(self, live: Live, told: str, parts: tuple[Text | Image, ...], text: str) -> Awaitable[TurnEnd]:
        self._telemetry.tell(Name.PROMPT_STARTED, live.id, told)
        return live.work(parts, _command(text))

    def _timer(self, live: Live) -> asyncio.TimerHandle | None:
        if self._terms.timeout_s is None:
            return None
        return asyncio.get_running_loop().call_later(self._terms.timeout_s, live.interrupt, Interruption.TIMED_OUT)

    def _observer(self, session_id: str, told: str) -> Callable[[Retrying], None]:
        def observe(event: Retrying) -> None:
            about = {"attempt": event.attempt, "reason": event.reason, "delayS": event.delay_s}
            self._telemetry.tell(Name.PROMPT_RETRY, session_id, told, **about)

        return observe

    def _ended(self, live: Live, told: str, end: TurnEnd) -> schema.PromptResponse:
        if live.interrupted is Interruption.TIMED_OUT:
            self._telemetry.tell(Name.PROMPT_TIMED_OUT, live.id, told)
            limit = f"{self._terms.timeout_s:g} s"
            raise RequestFailed(jsonrpc.INTERNAL_ERROR, f"stopped after {limit}", {"code": "prompt.timeout"})
        if live.interrupted is not None or end.reason in (Reason.CANCELLED, Reason.ABORTED):
            self._telemetry.tell(Name.PROMPT_CANCELLED, live.id, told)
            if live.interrupted is Interruption.WITHDRAWN:
                raise asyncio.CancelledError
            return schema.PromptResponse(stopReason="cancelled")
        if end.reason is Reason.ERROR:
            self._telemetry.tell(Name.PROMPT_FAILED, live.id, told, error=end.error.message if end.error else "")
            _fail(end)
        self._telemetry.tell(Name.PROMPT_COMPLETED, live.id, told, stopReason=STOPS[end.reason])
        return schema.PromptResponse(stopReason=STOPS[end.reason])


def _fail(end: TurnEnd) -> NoReturn:
    code = end.error.code if end.error else "internal"
    message = end.error.message if end.error else "the turn failed"
    rpc = jsonrpc.AUTH_REQUIRED if code == ModelUnauthorized.code else jsonrpc.INTERNAL_ERROR
    raise RequestFailed(rpc, message, {"code": code})


def _command(text: str) -> tuple[str, str] | None:
    if not text.startswith("/"):
        return None
    name, _, rest = text[1:].partition(" ")
    return name.strip(), rest.strip()
