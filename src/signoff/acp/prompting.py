"""One prompt: asked about if that is wanted, worked on, told as it goes, and answered with the reason it ended.

After a cancel, a timeout or a refusal nothing more of it is told.
"""

import asyncio
from typing import NoReturn

import msgspec

from signoff.acp import prompts
from signoff.acp.failures import RequestFailed
from signoff.acp.live import Live
from signoff.acp.peer import Call
from signoff.acp.telemetry import Name, Telemetry
from signoff.agent.event import AgentEvent, Reason, TurnEnd
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

        async def work(session: Live) -> TurnEnd:
            if self._terms.asks and not isinstance(await session.may_prompt(text, f"prompt-{told}"), Approved):
                raise PromptRefused("the prompt was not approved")
            self._telemetry.tell(Name.PROMPT_STARTED, session.id, told)
            return await session.work(parts, _command(text))

        def observe(event: AgentEvent) -> None:
            if isinstance(event, Retrying):
                self._telemetry.tell(
                    Name.PROMPT_RETRY, live.id, told, attempt=event.attempt, reason=event.reason, delayS=event.delay_s
                )

        turn = live.start(work)
        live.observe = observe
        try:
            async with asyncio.timeout(self._terms.timeout_s):
                end = await asyncio.shield(turn)
        except TimeoutError:
            await live.stop()
            self._telemetry.tell(Name.PROMPT_TIMED_OUT, live.id, told)
            limit = f"{self._terms.timeout_s:g} s"
            raise RequestFailed(jsonrpc.INTERNAL_ERROR, f"stopped after {limit}", {"code": "prompt.timeout"}) from None
        except asyncio.CancelledError:
            return await self._cancelled(live, call, turn)
        except PromptRefused:
            self._telemetry.tell(Name.PROMPT_PERMISSION_DENIED, live.id, told)
            return schema.PromptResponse(stopReason="cancelled")
        except Exception as error:
            self._telemetry.tell(Name.PROMPT_FAILED, live.id, told, error=str(error))
            raise
        return self._ended(live, told, end)

    async def _cancelled(self, live: Live, call: Call, turn: "asyncio.Task[TurnEnd]") -> schema.PromptResponse:
        """The turn was stopped, or its request was withdrawn, or its client has gone."""
        task = asyncio.current_task()
        if call.peer.ended is not None and not live.stopped:
            raise asyncio.CancelledError  # the turn runs on without anybody who waits for it
        if task is not None and task.cancelling():
            await live.stop()
            self._telemetry.tell(Name.PROMPT_CANCELLED, live.id, call.internal_id)
            raise asyncio.CancelledError
        await asyncio.wait({turn})
        self._telemetry.tell(Name.PROMPT_CANCELLED, live.id, call.internal_id)
        return schema.PromptResponse(stopReason="cancelled")

    def _ended(self, live: Live, told: str, end: TurnEnd) -> schema.PromptResponse:
        if live.stopped or end.reason in (Reason.CANCELLED, Reason.ABORTED):
            self._telemetry.tell(Name.PROMPT_CANCELLED, live.id, told)
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
