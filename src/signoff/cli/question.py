"""A review request as lines of text. Pure: request and width in, lines out. Nothing is shortened and nothing can hide."""

import enum
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, assert_never

import msgspec

from signoff.approvals.request import Offer, ReviewRequest, Width, bewares
from signoff.domain.review import (
    AddFile,
    ApplyPatchApprovalRequestEvent,
    DeleteFile,
    ExecApprovalRequestEvent,
    FileChange,
    ListCommand,
    ReadCommand,
    Scope,
    SearchCommand,
    ToolApprovalRequestEvent,
    UnknownCommand,
    UpdateFile,
)
from signoff.domain.visible import pieces
from signoff.domain.visible import width as columns

_SHELLS = ("bash", "sh", "zsh", "dash")
_LABEL = 9  # columns of the left-hand words
RETRY = "A yes also covers one attempt outside the sandbox, should the sandbox stop this one."
OUTSIDE = "A yes runs this OUTSIDE the sandbox."


class Style(enum.Enum):
    PLAIN = ""
    STRONG = "1"
    FAINT = "2"
    ALERT = "7"
    ADDED = "32"
    REMOVED = "31"


class Span(msgspec.Struct, frozen=True):
    text: str
    style: Style = Style.PLAIN


Row = tuple[Span, ...]


def paint(row: Row, colour: bool) -> str:
    if not colour:
        return "".join(span.text for span in row).rstrip()
    return "".join(
        span.text if span.style is Style.PLAIN else f"\x1b[{span.style.value}m{span.text}\x1b[0m" for span in row
    )


def question(request: ReviewRequest, width: int) -> list[Row]:
    """The whole question but for the keys. Every row fits the width."""
    rows: list[Row] = [(Span("─" * width, Style.FAINT),)]
    rows += _block(" ", " ", _wrap(title(request), width - 1, Style.STRONG, words=True))
    subject = list(_subject(request))
    rows += [(), *(row for text, style in subject for row in _gutter(text, width, style)), ()]
    for label, text, style in _facts(request, "\n".join(text for text, _ in subject)):
        rows += fact(label, text, width, style)
    rows += _remember(request, width)
    rows.append((Span("─" * width, Style.FAINT),))
    return rows


def title(request: ReviewRequest) -> str:
    match request.event:
        case ExecApprovalRequestEvent():
            return f"{request.tool} wants to run a command"
        case ApplyPatchApprovalRequestEvent(changes=changes):
            return f"{request.tool} wants to change {len(changes)} file{'s' if len(changes) != 1 else ''}"
        case ToolApprovalRequestEvent(action=action):
            return f"{request.tool} wants to {'run a command' if _runs(request.event) else f'act: {action}'}"
        case _:
            assert_never(request.event)


def rules(request: ReviewRequest) -> tuple[Offer, ...]:
    """The offers that save a rule, in the order of their numbers."""
    return tuple(offer for offer in request.offers if offer.scope is not Scope.SESSION)


def keys_row(request: ReviewRequest, chosen: int, behind: int, width: int, *, several: bool = False) -> list[Row]:
    """What can be pressed; the refusal first, because it is what Enter does. `several`: there is something above."""
    words = [("n", "no (Enter)"), ("y", "yes, once")]
    if any(offer.scope is Scope.SESSION for offer in request.offers):
        words.append(("a", "yes, this session"))
    if rules(request):
        words += [("p", f"yes, save rule {chosen + 1}"), ("e", "edit the rule")]
        words[-1:-1] = [(f"1-{len(rules(request))}", "another rule")] if len(rules(request)) > 1 else []
    if several:
        words.append(("b", "back"))
    words.append(("Esc", "no, and stop"))
    if behind:
        words.append(("", f"({behind} more waiting)"))
    rows: list[Row] = []
    row: Row = ()
    for key, meaning in words:
        spans = (Span(f" {key} " if key else " ", Style.STRONG), Span(f"{meaning}  "))
        if row and _row_width(row) + _row_width(spans) > width:
            rows.append(row)
            row = ()
        row += spans
    return [*rows, row]


def _subject(request: ReviewRequest) -> Iterator[tuple[str, Style]]:
    """What is to be approved, whole, line by line."""
    match request.event:
        case ExecApprovalRequestEvent(command=command):
            yield from ((line, Style.STRONG) for line in _line(command).split("\n"))
        case ApplyPatchApprovalRequestEvent(changes=changes):
            for path, change in changes.items():
                yield from _change(path, change)
        case ToolApprovalRequestEvent(args=args) if _command(args):
            yield from ((line, Style.STRONG) for line in _command(args).split("\n"))
        case ToolApprovalRequestEvent(args=args):
            for line in msgspec.json.format(msgspec.json.encode(args), indent=2).decode().split("\n"):
                yield line, Style.STRONG
        case _:
            assert_never(request.event)


def _line(command: Sequence[str]) -> str:
    """A command as one would type it: the script itself, where a shell is only there to run it."""
    script = len(command) == 3 and command[0].rsplit("/", 1)[-1] in _SHELLS and command[1] in ("-c", "-lc")
    return command[2] if script else shlex.join(command)


def _command(args: Any) -> str:
    """The command that a call of a foreign tool is about; empty where it is about none."""
    match args:
        case {"command": str(script)}:
            return script
        case {"command": [str(), *_] as words} if all(isinstance(word, str) for word in words):
            return _line(words)
        case _:
            return ""


def _runs(event: ExecApprovalRequestEvent | ApplyPatchApprovalRequestEvent | ToolApprovalRequestEvent) -> bool:
    if isinstance(event, ToolApprovalRequestEvent):
        return bool(_command(event.args))
    return isinstance(event, ExecApprovalRequestEvent)


def _change(path: str, change: FileChange) -> Iterator[tuple[str, Style]]:
    match change:
        case AddFile(content=content):
            yield f"add {path}", Style.STRONG
            yield from ((f"+{line}", Style.ADDED) for line in content.removesuffix("\n").split("\n"))
        case DeleteFile(content=content):
            yield f"delete {path}", Style.STRONG
            yield from ((f"-{line}", Style.REMOVED) for line in content.removesuffix("\n").split("\n"))
        case UpdateFile(unified_diff=diff, move_path=move_path):
            yield f"change {path}" + (f" and move it to {move_path}" if move_path else ""), Style.STRONG
            styles = {"+": Style.ADDED, "-": Style.REMOVED}
            yield from ((line, styles.get(line[:1], Style.PLAIN)) for line in diff.removesuffix("\n").split("\n"))
        case _:
            assert_never(change)


def _facts(request: ReviewRequest, subject: str) -> Iterator[tuple[str, str, Style]]:
    event, touched = request.event, request.effects
    if isinstance(event, ExecApprovalRequestEvent):
        yield "in", event.cwd, Style.PLAIN
        if len(event.command) == 3 and event.command[2] == subject:
            yield "by", " ".join(event.command[:2]), Style.PLAIN
        for number, meaning in enumerate(_meanings(event)):
            yield "this" if number == 0 else "", meaning, Style.PLAIN
    if isinstance(event, ToolApprovalRequestEvent) and _command(event.args):
        rest = {name: value for name, value in event.args.items() if name != "command" or not isinstance(value, str)}
        if rest:
            yield "with", msgspec.json.encode(rest).decode(), Style.PLAIN
    for label, values in (
        ("reads", touched.reads),
        ("writes", touched.writes),
        ("deletes", touched.deletes),
        ("git", touched.git),
        ("connects", touched.hosts),
        ("unread", touched.unreadable),
    ):
        for number, value in enumerate(values):
            yield label if number == 0 else "", value, Style.PLAIN
    if event.reason:
        yield "it says" if request.claimed else "reason", event.reason, Style.PLAIN
    if isinstance(event, ToolApprovalRequestEvent) and event.rationale and event.rationale != event.reason:
        yield "it says", event.rationale, Style.PLAIN
    if request.asked_by:
        yield "asked by", request.asked_by, Style.PLAIN
    if isinstance(event, ApplyPatchApprovalRequestEvent) and event.grant_root:
        yield "grants", f"with a: writing anywhere under {event.grant_root} for this session", Style.STRONG
    if request.outside or request.covers_retry:
        yield "sandbox", OUTSIDE if request.outside else RETRY, Style.STRONG
    for warning in bewares(subject, runs=_runs(event)):
        yield "beware", warning, Style.ALERT


def _meanings(event: ExecApprovalRequestEvent) -> Iterator[str]:
    """What the command looks like, where it looks like something; the effects below come from the policy."""
    for parsed in event.parsed_cmd:
        match parsed:
            case ReadCommand(path=path):
                yield f"shows {path}"
            case ListCommand(path=where):
                yield f"lists {where or 'the directory'}"
            case SearchCommand(query=query, path=where):
                yield f"searches {where or 'the directory'}" + (f" for {query}" if query else "")
            case UnknownCommand():
                pass
            case _:
                assert_never(parsed)


def _remember(request: ReviewRequest, width: int) -> Iterator[Row]:
    number = 0
    for offer in request.offers:
        if offer.scope is Scope.SESSION:
            key, name = "a", f"{_whole(request, offer)}, this session"
        else:
            number += 1
            key, name = f"p {number}", f"{offer.width}, saved"
        yield from fact(key, name, width, Style.STRONG)
        for line in offer.rule.split("\n"):
            yield from fact("", line, width)
        yield from fact("", offer.reach, width, Style.FAINT)


def _whole(request: ReviewRequest, offer: Offer) -> str:
    """What a yes for the session is about, in the words of the question."""
    match request.event:
        case ExecApprovalRequestEvent():
            return str(offer.width)
        case ApplyPatchApprovalRequestEvent():
            return "these files"
        case ToolApprovalRequestEvent():
            return "this call" if offer.width is Width.COMMAND else str(offer.width)
        case _:
            assert_never(request.event)


def fact(label: str, text: str, width: int, style: Style = Style.PLAIN) -> Iterator[Row]:
    """A text with a word on its left, in as many rows as it takes."""
    return _block(f" {label:<{_LABEL}}", " " * (_LABEL + 1), _wrap(text, width - _LABEL - 1, style, words=True))


def note(text: str, width: int) -> Iterator[Row]:
    """A word to the person, in as many rows as it takes."""
    return _block(" ", " ", _wrap(text, width - 1, Style.PLAIN, words=True))


def _gutter(text: str, width: int, style: Style) -> Iterator[Row]:
    """A line of what is approved. A bar starts each of its lines, a dotted one where a long line goes on."""
    return _block("  │ ", "  ┊ ", _wrap(text, width - 4, style))


def _block(first: str, others: str, rows: Iterable[Row]) -> Iterator[Row]:
    for number, row in enumerate(rows):
        yield (Span(first if number == 0 else others, Style.FAINT), *row)


def _wrap(text: str, width: int, style: Style, *, words: bool = False) -> Iterator[Row]:
    """Break by columns, never in the middle of an escape, and lose nothing."""
    row: list[Span] = []
    left = width
    for piece in pieces(text):
        for part in (piece.text,) if piece.escaped else _cut(piece.text, left, width, words):
            if columns(part) > left and row:
                yield tuple(row)
                row, left = [], width
            row.append(Span(part, Style.ALERT if piece.escaped else style))
            left -= columns(part)
    yield tuple(row)


def _cut(text: str, first: int, width: int, words: bool) -> Iterator[str]:
    """Parts that fit: the first into what is left of a row, the others into whole rows."""
    start, room, ascii_only = 0, max(first, 1), text.isascii()
    while start < len(text):
        end, used = (min(start + room, len(text)) if ascii_only else start), 0
        while not ascii_only and end < len(text) and (used := used + columns(text[end])) <= room:
            end += 1
        if words and end < len(text):
            end = text.rfind(" ", start, end) + 1 or end
        end = max(end, start + 1)
        yield text[start:end]
        start, room = end, width


def _row_width(row: Row) -> int:
    return sum(columns(span.text) for span in row)
