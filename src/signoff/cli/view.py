"""What a person sees while the agent works: its text as Markdown as it comes, a line with a clock for each running call."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.panel import Panel
from rich.text import Text

from signoff.agent.event import AgentEvent, CallAnnounced, Compacted, MessageDone, TurnEnded, TurnStarted
from signoff.approvals.silence import A_FEW, Silence
from signoff.cli.output import folded
from signoff.cli.talk import finished, missed, preview, printable
from signoff.domain.event import CallFinished, CallProgress, Display, PlanUpdated, Warned
from signoff.domain.visible import visible
from signoff.providers.provider import ReasoningDelta, Retrying, TextDelta

WINDOW = 8  # lines of the live window
TAIL = 1_500  # characters of an answer that is still coming
_BOXES = {"pending": "☐", "in_progress": "◐", "completed": "☑"}


class View:
    """Give it as the `show` of an agent, and work inside `with view:`. `window`: what is displayed stays in sight;
    not `answers`: whole answers are for somebody else to print. What happens during a question is shown after it."""

    def __init__(
        self,
        console: Console,
        paint: Callable[..., str],
        silence: Silence,
        *,
        window: bool = False,
        answers: bool = True,
    ) -> None:
        self._console = console
        self._silence = silence
        self._questions = 0
        self._paint = paint
        self._window = window
        self._answers = answers
        self._text = ""
        self._thinking = ""
        self._running: dict[str, tuple[str, float, str]] = {}
        self._displayed: list[str] = []
        self._live: Live | None = None

    def __enter__(self) -> "View":
        self._live = Live(
            console=self._console, get_renderable=self._drawn, transient=True, refresh_per_second=10, auto_refresh=True
        )
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The screen belongs to a question."""
        with self._silence.kept():
            if self._live is not None:
                self._live.stop()
            self._questions += 1
            try:
                yield
            finally:
                self._questions -= 1
                if self._live is not None and not self._questions:
                    self.__enter__()

    def __call__(self, event: AgentEvent) -> None:
        if isinstance(event, CallProgress):
            self._show(event)  # is only remembered
        else:
            size = A_FEW + len(event.text) if isinstance(event, TextDelta | MessageDone) else A_FEW
            self._silence.mention(
                lambda: self._show(event), lambda count: self._console.print(Text(missed(count), style="dim")), size
            )

    def _show(self, event: AgentEvent) -> None:
        match event:
            case TextDelta(text=text):
                self._text, self._thinking = self._text + text, ""
            case ReasoningDelta(text=text):
                self._thinking = (self._thinking + text)[-300:]
            case MessageDone(text=text):
                self._text = self._thinking = ""
                if self._answers:
                    self._console.print(Markdown(printable(text)))
            case CallAnnounced(call=call, look=look):
                self._thinking = ""
                self._running[call.tool_call_id] = (look.title, time.monotonic(), "")
            case CallProgress(call_id=call_id, text=text) if call_id in self._running:
                title, since, before = self._running[call_id]
                self._running[call_id] = (title, since, (before + text)[-200:])
            case CallFinished(result=result):
                title, _, _ = self._running.pop(result.tool_call_id, ("", 0.0, ""))
                if title:
                    line = folded(finished(self._paint, title, result), self._console.width, 4)
                    self._console.print(Text.from_ansi(line))
            case _:
                self._other(event)

    def _other(self, event: AgentEvent) -> None:
        match event:
            case Display(content=content, level=level, title=title, thought=thought):
                self._displayed += [preview(content, level, title)] + ([f"    {visible(thought)}"] if thought else [])
                del self._displayed[:-WINDOW]
                if not self._window:
                    self._console.print(Markdown(printable(f"**{title}** {content}" if title else content)))
            case PlanUpdated(entries=entries) if len(entries) > 1:
                for entry in entries:
                    self._console.print(Text(f"  {_BOXES[entry.status]} {visible(entry.content)}", style="dim"))
            case Warned(message=message):
                self._console.print(Text(f"  warning: {visible(message)}", style="yellow"))
            case Retrying(delay_s=delay, reason=reason):
                self._text = ""
                self._console.print(Text(f"  asking again in {delay:.1f} s: {visible(reason)}", style="dim"))
            case Compacted(before_tokens=before, after_tokens=after):
                self._console.print(Text(f"  context condensed: {before} → {after} tokens", style="dim"))
            case TurnStarted() | TurnEnded():
                self._text = self._thinking = ""
                self._running.clear()
            case _:
                pass

    def _drawn(self) -> RenderableType:
        parts: list[RenderableType] = []
        if self._window and self._displayed:
            parts.append(Panel(Text("\n".join(self._displayed)), title="the agent shows", border_style="dim"))
        if self._text:
            parts.append(Markdown(printable(self._text[-TAIL:])))
        if self._thinking:
            parts.append(Text(f"  {visible(self._thinking.splitlines()[-1][-100:])}", style="dim italic"))
        now = time.monotonic()
        for title, since, progress in self._running.values():
            said = progress.strip().splitlines()
            last = f"  {visible(said[-1])[:60]}" if said else ""
            parts.append(
                Text(f"  ● {visible(title)} {now - since:.1f} s{last}", style="cyan", overflow="ellipsis", no_wrap=True)
            )
        return Group(*parts)
