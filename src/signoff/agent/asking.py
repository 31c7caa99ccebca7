"""Ask the model: send the conversation, listen to the answer, and make room in the context where there is too little."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from signoff.agent import compaction
from signoff.agent.answer import Answer, Listening
from signoff.agent.conversation import Conversation, Told
from signoff.agent.event import AgentEvent, Compacted, MessageDone, UsageNoted
from signoff.agent.limits import Budget, Limits
from signoff.agent.text_calls import as_text, manual
from signoff.agent.toolbox import Tools
from signoff.domain.errors import ContextOverflow, SignoffError
from signoff.domain.late import late
from signoff.ledger.spans import ModelSpan
from signoff.ledger.tracing import Tracing
from signoff.providers.provider import Message, ModelRequest, Provider, ReasoningDelta, Text, TextDelta, ToolSpec

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = late("asyncio")


_SHOWN = (TextDelta, ReasoningDelta)

Breathe: TypeAlias = Callable[[], Awaitable[None] | None]
"""What to wait for while nobody reads what was shown; None where it is read as it comes."""


def at_once() -> None:
    return None


class Terms(msgspec.Struct, frozen=True):
    """What holds for every turn."""

    model: str
    workspace: str
    trace_id: str
    limits: Limits = Limits()
    text_calls: bool = False  # the model has no tool calls of its own
    together: bool = True  # calls that only read may run together
    schema: dict[str, object] | None = None  # what the last answer has to look like


class Asking:
    """`system` is what the model is told first; it may be changed between turns."""

    def __init__(
        self,
        provider: Provider,
        tools: Tools,
        terms: Terms,
        budget: Budget,
        show: Callable[[AgentEvent], object],
        tracing: Tracing,
        breathe: Breathe = at_once,
    ) -> None:
        self._provider = provider
        self._tools = tools
        self._specs: tuple[ToolSpec, ...] = ()
        self._names: frozenset[str] = frozenset()  # of those tools
        self._overhead = 0  # what every request carries besides the conversation, in tokens
        self._terms = terms
        self._budget = budget
        self._show = show
        self._tracing = tracing
        self._breathe = breathe
        self._first = Message("system", (Text(""),))

    @property
    def system(self) -> str:
        return self._first.text

    @system.setter
    def system(self, words: str) -> None:
        if words != self._first.text:
            self._first = Message("system", (Text(words),))
            self._weigh()

    async def answer(self, conversation: Conversation) -> Answer:
        """The model's next answer, added to the conversation."""
        if (specs := self._tools.specs()) is not self._specs:
            self._offer(specs)
        if conversation.tokens + self._overhead > self._terms.limits.context_tokens * compaction.FULL:
            await self._make_room(conversation, compaction.FULL)
        try:
            answer = await self._asked(conversation)
        except ContextOverflow:
            room = int(compaction.HALVED * conversation.tokens)
            await self._make_room(conversation, 0.0)
            conversation.condense(compaction.fitted(conversation.messages, room))
            answer = await self._asked(conversation)
        conversation.add(answer.message)
        if answer.text:
            self._show(MessageDone(answer.text))
        return answer

    def _offer(self, specs: tuple[ToolSpec, ...]) -> None:
        self._specs, self._names = specs, frozenset(spec.name for spec in specs)
        self._weigh()

    def _weigh(self) -> None:
        self._overhead = compaction.tokens((self._first,), self._specs)

    async def compact(self, conversation: Conversation) -> None:
        """Make room now, because a person wants it."""
        await self._make_room(conversation, 0.0)

    async def _asked(self, conversation: Conversation) -> Answer:
        limits, tools = self._terms.limits, () if self._terms.text_calls else self._specs
        messages = self._as_text(conversation) if self._terms.text_calls else Told(self._first, conversation.messages)
        request = ModelRequest(self._terms.model, messages, tools, limits.output_tokens, self._terms.schema)
        listening = Listening(self._show, self._names)
        try:
            answer = await (self._traced if self._tracing.on else self._listen)(request, listening)
        except asyncio.CancelledError:
            partial = listening.cut_short()
            if partial is not None:
                conversation.add(partial)
            raise
        self._budget.spend(answer.usage)
        context = answer.usage.input_tokens or compaction.tokens(messages, tools)
        self._show(UsageNoted(answer.usage, self._budget.spent, context, limits.context_tokens))
        return answer

    def _as_text(self, conversation: Conversation) -> Sequence[Message]:
        told = f"{self.system}\n\n{manual(self._specs)}"
        return [Message("system", (Text(told),)), *as_text(conversation.messages)]

    async def _make_room(self, conversation: Conversation, full: float) -> None:
        limit = self._terms.limits.context_tokens
        overhead = self._overhead
        before = conversation.tokens + overhead
        if len(conversation.messages) < 3:
            return
        start = compaction.split(conversation.messages, int(min(limit, before) * compaction.KEPT))
        shorter = compaction.without_results(conversation.messages, start)
        if full == 0.0 or compaction.tokens(shorter) + overhead > limit * full * compaction.ENOUGH:
            summary = await self._summary(shorter[:start])
            shorter = compaction.summarised(shorter, start, summary, conversation.plan)
        conversation.condense(shorter)
        self._show(Compacted(before, compaction.tokens(shorter) + overhead))

    async def _summary(self, messages: tuple[Message, ...]) -> str:
        """In the model's words; where it cannot give them, in a line for each message."""
        asked = Message("user", (Text(compaction.SUMMARISE),))
        listening = Listening(lambda event: None, frozenset())
        request = ModelRequest(self._terms.model, (*as_text(messages), asked), max_output_tokens=1_024)
        try:
            answer = await self._listen(request, listening)
        except SignoffError:
            return compaction.digest(messages)
        self._budget.spend(answer.usage)
        return answer.text or compaction.digest(messages)

    async def _traced(self, request: ModelRequest, listening: Listening) -> Answer:
        with self._tracing.span(ModelSpan(provider=self._provider.name, model=self._terms.model)) as live:
            answer = await self._listen(request, listening)
            live.fields.input_tokens, live.fields.output_tokens = answer.usage.input_tokens, answer.usage.output_tokens
            live.fields.finish_reason = answer.stop
        return answer

    async def _listen(self, request: ModelRequest, listening: Listening) -> Answer:
        """To the end of the stream, at the pace of whoever is shown it. However it ends, the exchange is over."""
        if (congestion := self._breathe()) is not None:
            await congestion
        stream = self._provider.stream(request)
        try:
            async for event in stream:
                listening.hear(event)
                if type(event) in _SHOWN and (congestion := self._breathe()) is not None:
                    await congestion
        except BaseException:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()
            raise
        return listening.answer()
