"""What a person sees of a run that is no chat: a line for each call on stderr, and the answer on stdout."""

import sys
from collections.abc import Callable

from signoff.agent.event import AgentEvent, CallAnnounced, Compacted, MessageDone
from signoff.approvals.silence import A_FEW, Silence
from signoff.cli.output import Output, Style, folded, room
from signoff.domain.call import ToolResult
from signoff.domain.event import CallFinished, CallProgress, Display, Warned
from signoff.domain.visible import visible
from signoff.providers.provider import Retrying, TextDelta

LONGEST_PREVIEW = 200
_SHOWN_OTHERWISE = frozenset({"display", "update_plan"})
_MARKS = {"info": "·", "success": "✓", "warning": "!", "error": "✗", "progress": "…"}


class Talk:
    """Give it as the `show` of an agent. On a terminal the answer is written as it comes; in a pipe only at the end.
    What happens during a question is told after it."""

    def __init__(self, output: Output, silence: Silence, *, streams: bool | None = None) -> None:
        self._output = output
        self._silence = silence
        self._streams = sys.stdout.isatty() if streams is None else streams
        self._titles: dict[str, tuple[str, str]] = {}

    def __call__(self, event: AgentEvent) -> None:
        if not isinstance(event, CallProgress):  # nothing is told of it
            size = A_FEW + len(event.text) if isinstance(event, TextDelta | MessageDone) else A_FEW
            self._silence.mention(lambda: self._tell(event), lambda count: self._output.say(missed(count)), size)

    def _tell(self, event: AgentEvent) -> None:
        match event:
            case CallAnnounced(call=call, look=look):
                self._titles[call.tool_call_id] = (call.name, look.title)
            case CallFinished(result=result):
                name, title = self._titles.pop(result.tool_call_id, ("", ""))
                if name and (name not in _SHOWN_OTHERWISE or not result.ok):
                    self._output.say(folded(finished(self._output.paint, title, result), room(sys.stderr), 4))
            case Display(content=content, level=level, title=title):
                self._output.say(preview(content, level, title))
            case Warned(message=message):
                self._output.warn(message)
            case Retrying(delay_s=delay, reason=reason):
                self._output.say(f"  the model is asked again in {delay:.1f} s: {visible(reason)}")
            case Compacted(before_tokens=before, after_tokens=after):
                self._output.say(f"  the context was condensed from about {before} to {after} tokens")
            case TextDelta(text=text) if self._streams:
                sys.stdout.write(printable(text))
                sys.stdout.flush()
            case MessageDone() if self._streams:
                sys.stdout.write("\n")
            case _:
                pass

    def answer(self, text: str) -> None:
        """The last answer, where it was not written as it came."""
        if not self._streams and text:
            self._output.text(printable(text))


def missed(count: int) -> str:
    return f"  … more than fits happened while the question stood here: {count} pieces of it are not shown"


def finished(paint: Callable[..., str], title: str, result: ToolResult) -> str:
    code = (result.payload or {}).get("exit_code")
    style = Style.BAD if result.error is not None else Style.WARNING if code else Style.GOOD
    mark = paint("✓" if style is Style.GOOD else "✗", style, err=True)
    said = f": {visible(result.error.message)}" if result.error is not None else f" (exit {code})" if code else ""
    took = f"{result.duration_ms} ms" if result.duration_ms < 10_000 else f"{result.duration_ms / 1_000:.1f} s"
    return f"  {mark} {visible(title)}{said} {paint(took, Style.FAINT, err=True)}"


def preview(content: str, level: str, title: str | None) -> str:
    """A line of what the agent shows; all of it is in the record."""
    line = " ".join(content.split())
    shown = line if len(line) <= LONGEST_PREVIEW else line[: LONGEST_PREVIEW - 1] + "…"
    return f"  {_MARKS.get(level, '·')} {visible(f'{title}: {shown}' if title else shown)}"


def printable(text: str) -> str:
    """The model's text without anything that would steer the terminal."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))
