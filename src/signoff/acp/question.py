"""The question to the person behind a client: what is to happen, why it is asked, and what each answer means. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

import msgspec
from msgspec import UNSET

from signoff.acp.updates import LONGEST_TITLE, cut, printable
from signoff.approvals.request import bewares
from signoff.domain.intent import Action
from signoff.domain.review import (
    AddFile,
    ApplyPatchApprovalRequestEvent,
    Approved,
    DeleteFile,
    Denied,
    ExecApprovalRequestEvent,
    FileChange,
    ReviewDecision,
    ToolApprovalRequestEvent,
    UpdateFile,
)
from signoff.domain.visible import hidden, visible
from signoff.wire import acp_schema as schema

if TYPE_CHECKING:
    from signoff.approvals.request import Effects, ReviewRequest

_KINDS: dict[Action, schema.ToolKind] = {
    Action.READ: "read",
    Action.WRITE: "edit",
    Action.NET: "fetch",
    Action.EXEC: "execute",
}

_QUOTES = set(hidden("‹›"))  # can be seen in a text that is shown as it is


class Choice(msgspec.Struct, frozen=True):
    """One answer that is offered. `standing`: it is remembered for the session, as a yes or a no."""

    option: schema.PermissionOption
    decision: ReviewDecision
    standing: bool | None = None


def choices(request: ReviewRequest | None = None) -> tuple[Choice, ...]:
    """The four answers of the protocol, and a further "always" for each rule that could be saved."""
    offers = [] if request is None else [offer for offer in request.offers if offer.prefix]
    rules = (
        _choice(
            f"save_rule_{number}",
            visible(f"Allow, and save {offer.rule}: {offer.reach}"),
            "allow_always",
            offer.decision,
        )
        for number, offer in enumerate(offers, 1)
    )
    return (
        _choice("allow_once", "Allow once", "allow_once", Approved()),
        _choice("allow_always", "Always allow this in this session", "allow_always", Approved(), True),
        *rules,
        _choice("reject_once", "Reject", "reject_once", Denied()),
        _choice("reject_always", "Always reject this in this session", "reject_always", Denied(), False),
    )


def _choice(
    name: str, words: str, kind: schema.PermissionOptionKind, decision: ReviewDecision, standing: bool | None = None
) -> Choice:
    return Choice(schema.PermissionOption(optionId=name, name=words, kind=kind), decision, standing)


def question(request: ReviewRequest, known: schema.ToolCall | None) -> schema.ToolCallUpdate:
    """The call the client already knows, with the reason and, for files, the differences. Secrets were masked before."""
    event = request.event
    differing: list[schema.Diff] = []
    raw: object = UNSET
    match event:
        case ExecApprovalRequestEvent(command=command, cwd=cwd):
            script = command[2] if command[:2] == ("bash", "-c") and len(command) == 3 else shlex.join(command)
            heading, raw = script, {"command": list(command), "cwd": cwd}
        case ApplyPatchApprovalRequestEvent(changes=changes):
            heading = f"Change {', '.join(changes)}"
            differing = [diff for path, change in changes.items() for diff in differences(path, change)]
        case ToolApprovalRequestEvent(args=args, tool=tool):
            heading, raw = f"{tool} {', '.join(map(str, args.values()))}", args
        case _:
            assert_never(event)
    lines = heading.removesuffix("\n").split("\n")
    title = visible(" ⏎ ".join(lines))
    content: list[schema.ToolCallContent] = [
        _text("\n".join((*_reasons(request), *_bewares(heading, differing)))),
        *differing,
    ]
    if len(title) > LONGEST_TITLE:  # what is approved is shown whole
        content.insert(0, _text("\n".join(map(visible, lines))))
    return schema.ToolCallUpdate(
        toolCallId=event.call_id,
        title=cut(title, LONGEST_TITLE),
        name=request.tool,
        kind=_KINDS[request.action] if known is None else known.kind,
        status="pending",
        content=content,
        locations=UNSET if known is None else known.locations,
        rawInput=raw,
    )


def _reasons(request: ReviewRequest) -> Iterator[str]:
    if request.event.reason:
        yield f"{'It says' if request.claimed else 'Why'}: {visible(request.event.reason)}"
    if request.asked_by:
        yield f"Asked by: {visible(request.asked_by)}"
    yield from _touches(request.effects)
    if request.outside:
        yield "A yes runs it OUTSIDE the sandbox."
    elif request.covers_retry:
        yield "A yes also covers one attempt outside the sandbox, should the sandbox stop the first."


def _bewares(heading: str, differing: list[schema.Diff]) -> Iterator[str]:
    for warning in bewares(heading, runs=not differing):
        yield f"Beware: {warning}"
    unseen = {name for diff in differing for name in hidden(diff.newText) if name.startswith("‹U+")} - _QUOTES
    if unseen:
        yield f"Beware: the new text holds characters that cannot be seen: {', '.join(sorted(unseen))}"


def _touches(effects: Effects) -> Iterator[str]:
    said = {
        "Reads": effects.reads,
        "Writes": effects.writes,
        "Deletes": effects.deletes,
        "Git": effects.git,
        "Connects to": effects.hosts,
        "Could not be read": effects.unreadable,
    }
    for word, things in said.items():
        if things:
            yield f"{word}: {', '.join(map(visible, things))}"


def differences(path: str, change: FileChange) -> list[schema.Diff]:
    """Old and new text; of a change in the middle of a file, each changed stretch with its surroundings."""
    match change:
        case AddFile(content=content):
            return [schema.Diff(path=path, newText=printable(content))]
        case DeleteFile(content=content):
            return [schema.Diff(path=path, oldText=printable(content), newText="")]
        case UpdateFile(unified_diff=text, move_path=moved):
            stretches = _stretches(printable(text))
            return [schema.Diff(path=moved or path, oldText=old, newText=new) for old, new in stretches]
        case _:
            assert_never(change)


def _stretches(text: str) -> Iterator[tuple[str, str]]:
    for part in ("\n" + text).split("\n@@ ")[1:]:
        rows = part.split("\n")[1:]
        old = "".join(f"{row[1:]}\n" for row in rows if row[:1] in (" ", "-"))
        new = "".join(f"{row[1:]}\n" for row in rows if row[:1] in (" ", "+"))
        yield old, new


def _text(words: str) -> schema.Content:
    return schema.Content(content=schema.TextContent(text=words))
