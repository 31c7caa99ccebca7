"""More that a person at the terminal can be asked by somebody else's agent: to pick one of its options, to fill in its form."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signoff.acp.answering import refusal
from signoff.acp.forms import Field, Value
from signoff.approvals.request import ReviewRequest
from signoff.cli.question import Row, Span, Style, fact, question
from signoff.cli.terminal import NO, TerminalReviewer
from signoff.cli.terminal_pages import STOP, Pages
from signoff.domain.errors import UsageError
from signoff.domain.review import Abort
from signoff.domain.visible import visible
from signoff.wire import acp_schema as schema

if TYPE_CHECKING:
    import asyncio

KEYS = "123456789acdehilmopqrstuvwxyz"  # none of those that turn pages or say no
Options = Sequence[schema.PermissionOption]


class TerminalForms(TerminalReviewer):
    async def choose(self, request: ReviewRequest, options: Options) -> schema.PermissionOption | None:
        """One of the options, all of them shown by name; None: called off."""

        def say(chosen: schema.PermissionOption | None) -> str:
            return "called off" if chosen is None else chosen.name

        return await self._standing(lambda keys: self._choose(request, options, keys), None, None, say)

    async def fill(self, message: str, fields: Sequence[Field]) -> Mapping[str, Value] | None:
        """What was typed into each field; None: the person would not."""

        def say(content: Mapping[str, Value] | None) -> str:
            return "not answered" if content is None else "answered"

        return await self._standing(lambda keys: self._fill(message, fields, keys), None, None, say)

    async def _choose(
        self, request: ReviewRequest, options: Options, keys: "asyncio.Queue[bytes]"
    ) -> schema.PermissionOption | None:
        width, height = self._size()
        offered = dict(zip(KEYS, options, strict=False))
        rows = [*question(request, width), *_listed(offered, width)]
        pages, armed = Pages(tuple(rows), max(height - 2, 1)), False
        self._begin(pages)
        while True:
            early = await self._read_on(pages, keys)
            if early is not None:
                return None if isinstance(early, Abort) else refusal(options)
            self._write(f"{self._erase()} {KEYS[0]}–{list(offered)[-1]}: choose   Enter: no   Esc: call it off ")
            armed = armed or await self._arm(keys)
            key = await self._pressed(keys)
            if pages.goes_back(key):
                self._write(self._wiped(1) + self._turned(pages, key))
                armed = False
            elif key in STOP:
                return None
            elif key in NO:
                return refusal(options)
            elif (chosen := offered.get(key.decode("utf-8", "replace"))) is not None:
                return chosen
            else:
                self._write("\a")

    async def _fill(
        self, message: str, fields: Sequence[Field], keys: "asyncio.Queue[bytes]"
    ) -> Mapping[str, Value] | None:
        width, height = self._size()
        pages = Pages(tuple(fact("asks", message, width, Style.STRONG)), max(height - 2, 1))
        self._begin(pages)
        if await self._read_on(pages, keys) is not None:
            return None
        await self._arm(keys)
        content: dict[str, Value] = {}
        for field in fields:
            self._write(self._painted(tuple(_described(field, width))))
            text = field.default
            while True:
                typed = await self._type(visible(field.label), text, keys)
                if typed is None:
                    return None
                try:
                    value, text = field.read(typed), typed
                except UsageError as error:
                    self._write(f"\n {visible(error.message)}")
                else:
                    break
            self._write("\n")
            if value is not None:
                content[field.name] = value
        return content


def _listed(offered: Mapping[str, schema.PermissionOption], width: int) -> list[Row]:
    return [row for key, option in offered.items() for row in fact(key, f"{option.name} ({option.kind})", width)]


def _described(field: Field, width: int) -> list[Row]:
    rows: list[Row] = [(), (Span(f" {visible(field.label)}", Style.STRONG),)]
    for hint in field.hints:
        rows += fact("", hint, width, Style.FAINT)
    for number, (_, title) in enumerate(field.choices, 1):
        rows += fact(str(number), title, width)
    return rows
