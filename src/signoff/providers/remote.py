"""A model behind HTTP: sends what a dialect makes of a request, reads what comes back, tries again where that helps.

The key is in the headers of the requests and nowhere else. Every wait has a limit: to connect, and for each silence.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from signoff.domain.errors import ConfigError, ModelBadResponse, ModelError, ModelTimeout, ModelUnreachable
from signoff.domain.late import late
from signoff.domain.settings import Redact
from signoff.domain.unreadable import UNREADABLE
from signoff.providers.carrier import STREAM, BadAddress, Carrier, Event, Lost, Response, Silent, Unreachable
from signoff.providers.dialect import Dialect, Trouble, rows, string, table
from signoff.providers.endpoint import Endpoint
from signoff.providers.provider import ModelEvent, ModelRequest, Retrying
from signoff.providers.retries import Retries

if TYPE_CHECKING:
    from signoff.ledger import redact
    from signoff.providers import failures, over_httpx, over_loopback
else:
    failures = late("signoff.providers.failures")
    redact = late("signoff.ledger.redact")
    over_httpx = late("signoff.providers.over_httpx")
    over_loopback = late("signoff.providers.over_loopback")

DRAIN_S = 0.25
LARGEST_ERROR = 64 * 1024
LARGEST_LIST = 8 * 1024 * 1024
HEADERS = {"user-agent": "signoff", "content-type": "application/json"}


class Outside(msgspec.Struct, frozen=True):
    """Time and chance; a test gives its own."""

    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    now: Callable[[], float] = time.time


def carrier(endpoint: Endpoint, headers: dict[str, str], silence_s: float) -> Carrier:
    if endpoint.is_local and endpoint.url.startswith("http:"):
        return over_loopback.OverLoopback(headers, silence_s)
    return over_httpx.OverHttpx(headers, silence_s)


class Remote:
    def __init__(
        self,
        name: str,
        dialect: Dialect,
        endpoint: Endpoint,
        *,
        silence_s: float = 300.0,
        retries: Retries | None = None,
        outside: Outside | None = None,
    ) -> None:
        self.name = name
        self._dialect = dialect
        self._endpoint = endpoint
        self._silence_s = silence_s
        self._retries = retries or Retries()
        self._outside = outside or Outside()
        self._carrier: Carrier | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        body = msgspec.json.encode(self._dialect.body(request))
        attempt = 1
        while True:
            try:
                async with contextlib.aclosing(self._attempt(body)) as events:
                    async for event in events:
                        yield event
                return
            except Trouble as trouble:
                delay = self._retries.delay(trouble, attempt, self._outside.chance())
                if delay is None:
                    raise self._told(trouble, attempt) from None  # the chain below may quote headers
                reason = self._clean(trouble.error.message)
            attempt += 1
            yield Retrying(attempt, delay, reason)
            await self._outside.sleep(delay)

    async def models(self) -> tuple[str, ...]:
        try:
            with self._translated():
                async with self._way().send("GET", self._endpoint.url + self._dialect.models_path) as response:
                    body = await response.beginning(LARGEST_LIST)
            if response.status != 200:
                raise failures.judge_status(response.status, response.headers, body, 0.0)
        except Trouble as trouble:
            raise self._told(trouble, 1) from None
        try:
            listed = msgspec.json.decode(body)
        except UNREADABLE:
            raise ModelBadResponse(f"{self._where()} did not answer with a list of models") from None
        found = (string(row.get("id")).removeprefix("models/") for row in rows(table(listed).get("data")))
        return tuple(sorted(filter(None, found)))

    async def aclose(self) -> None:
        if self._carrier is not None:
            await self._carrier.aclose()
            self._carrier = None

    async def _attempt(self, body: bytes) -> AsyncGenerator[ModelEvent, None]:
        reading = self._dialect.reading()
        with self._translated():
            async with self._way().send("POST", self._endpoint.url + self._dialect.path, body) as response:
                await self._check(response)
                async with contextlib.aclosing(response.events()) as told:
                    try:
                        async for event in told:
                            for said in reading.feed(event.name, event.data) if event.data else ():
                                yield said
                            if reading.whole:
                                break
                    except Lost:
                        pass  # whether that was an end or a cut is for the reading to say
                    except Silent:
                        silence = f"the model fell silent in the middle of its answer for {self._silence_s:g} s"
                        raise Trouble(ModelTimeout(silence), again=True) from None
                    for said in reading.finish():
                        yield said
                    await _drain(told)

    async def _check(self, response: Response) -> None:
        if response.status != 200:
            body = await response.beginning(LARGEST_ERROR)
            raise failures.judge_status(response.status, response.headers, body, self._outside.now())
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != STREAM:
            message = failures.describe(await response.beginning(LARGEST_ERROR))[1]
            raise Trouble(
                ModelBadResponse(
                    f"{self._where()} answered with {kind or 'nothing'} and not with a stream: {message[:200]}",
                    hint="Is the base URL right? It usually ends in /v1.",
                )
            )

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Unreachable as error:
            raise self._unreachable(error) from None
        except Silent:
            limit = f"{self._where()} did not answer within {self._silence_s:g} s"
            raise Trouble(ModelTimeout(limit), again=True) from None
        except BadAddress:
            raise ConfigError(f"the base URL of {self.name} is no http address") from None
        except Lost as error:
            raise Trouble(ModelUnreachable(f"{self._where()} hung up: {error}"), again=True) from None

    def _unreachable(self, error: Unreachable) -> Trouble:
        """Nobody is at home on this machine: waiting does not help. Elsewhere it may."""
        local = self._endpoint.is_local
        hint = "Is the server running?" if local else "Check the network and the base URL."
        said = f"{self._where()} cannot be reached: {error}"
        return Trouble(ModelUnreachable(said, hint=hint), again=not local)

    def _told(self, trouble: Trouble, attempts: int) -> ModelError:
        """The error a person sees: without the key, with what was tried."""
        error = trouble.error
        tried = f" ({attempts} attempts)" if attempts > 1 else ""
        if trouble.after_s is not None and trouble.after_s > self._retries.patience_s:
            tried += f"; it wants to be left alone for {trouble.after_s:.0f} s"
        return type(error)(self._clean(error.message) + tried, hint=error.hint)

    def _clean(self, text: str) -> str:
        key = self._endpoint.key
        return redact.Redactor(Redact.STRICT, reversible=False).text(text.replace(key, "[key]") if key else text)

    def _where(self) -> str:
        return f"{self.name} at {self._endpoint.host}"

    def _way(self) -> Carrier:
        if self._carrier is None:
            headers = {**HEADERS, **self._dialect.headers(self._endpoint.key)}
            self._carrier = carrier(self._endpoint, headers, self._silence_s)
        return self._carrier


async def _drain(told: AsyncGenerator[Event, None]) -> None:
    """Read to the end of the bytes as well, if it is there: then the connection can be used again."""
    with contextlib.suppress(TimeoutError, Lost, Silent):
        async with asyncio.timeout(DRAIN_S):
            async for _ in told:
                pass
