"""A question to a person, with everything needed to answer it honestly: the event on the wire, what the call touches, and
what each "do not ask again" would save."""

import enum
from collections.abc import Iterator
from typing import Any

import msgspec

from signoff.domain.intent import Action, Command, FileDelete, FileRead, FileWrite, GitWrite, Host, Intent, Opaque
from signoff.domain.review import ApprovalRequestEvent, FileChange, ReviewDecision, Scope
from signoff.domain.visible import hidden, lookalikes


class Width(enum.StrEnum):
    """How much of a call a remembered rule covers."""

    COMMAND = "this command"
    PREFIX = "this prefix"
    TOOL = "this tool"
    PLACE = "this tool, there"


class Offer(msgspec.Struct, frozen=True):
    """One way to say yes for longer: the exact text that would be kept, and how far it reaches."""

    width: Width
    scope: Scope
    rule: str
    reach: str
    decision: ReviewDecision
    prefix: tuple[str, ...] = ()


class Effects(msgspec.Struct, frozen=True):
    """What the call would touch, as far as it could be read."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    git: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class CommandSubject(msgspec.Struct, frozen=True):
    """A process to be started."""

    command: tuple[str, ...]
    cwd: str


class PatchSubject(msgspec.Struct, frozen=True):
    """Files to be changed. `grant_root`: writing under it is asked for, for the rest of the session."""

    changes: dict[str, FileChange]
    grant_root: str | None = None


class CallSubject(msgspec.Struct, frozen=True):
    """Anything else: the arguments as they came."""

    args: dict[str, Any]
    rationale: str | None = None


Subject = CommandSubject | PatchSubject | CallSubject


class ReviewRequest(msgspec.Struct, frozen=True):
    """What a reviewer gets. `event` is the part that has a shape on the wire."""

    event: ApprovalRequestEvent
    tool: str
    action: Action
    effects: Effects = Effects()
    offers: tuple[Offer, ...] = ()
    asked_by: str | None = None  # the rule that asks, with its file and line
    covers_retry: bool = False  # a yes also covers one attempt outside the sandbox, should the sandbox stop the first
    outside: bool = False  # a yes runs it outside the sandbox at once
    claimed: bool = False  # the reason is what the agent says for itself: nobody else vouches for it
    words: tuple[str, ...] = ()  # the command a saved prefix has to cover, never shown as such


def effects(intent: Intent) -> Effects:
    found: dict[type, list[str]] = {}
    for aspect in intent.aspects:
        match aspect:
            case FileRead(path=shown) | FileWrite(path=shown) | FileDelete(path=shown) | GitWrite(operation=shown):
                pass
            case Host(name=name, port=port):
                shown = name if port is None else f"{name}:{port}"
            case Opaque(text=text, reason=reason):
                shown = f"{text} ({reason})"
            case Command():
                continue  # the command is shown whole
        found.setdefault(type(aspect), []).append(shown)

    def of(kind: type) -> tuple[str, ...]:
        return tuple(dict.fromkeys(found.get(kind, ())))

    return Effects(
        reads=of(FileRead),
        writes=of(FileWrite),
        deletes=of(FileDelete),
        git=of(GitWrite),
        hosts=of(Host),
        unreadable=of(Opaque),
    )


def bewares(subject: str, *, runs: bool) -> Iterator[str]:
    """What a person should know of the characters of what is shown, and of look-alikes in what `runs`."""
    if unseen := hidden(subject.replace("\n", "")):
        names = ", ".join(escape[1:-1] for escape in unseen)
        yield f"what cannot be seen is written in pointed quotes: {names}"
    if runs and (others := lookalikes(subject)):
        yield f"characters that may look like others: {', '.join(others)}"
