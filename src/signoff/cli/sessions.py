"""signoff sessions: what was worked on, and how to go on with it."""

import contextlib
import datetime
import sys
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec
from click.shell_completion import CompletionItem

from signoff.agent.session_index import Summary
from signoff.agent.session_log import CallBegan, Entry, Said
from signoff.agent.sessions import summarise
from signoff.cli.app import Group
from signoff.cli.output import Output, Style, json_option
from signoff.cli.talk import printable
from signoff.cli.wiring_agent import open_sessions
from signoff.domain.visible import visible

SHORT = 18  # characters of an id that tell it from the others


def _complete(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    with contextlib.closing(open_sessions()) as store:
        found = store.list(None).sessions
    return [CompletionItem(one.id, help=visible(one.title)) for one in found if one.id.startswith(incomplete)]


session_argument = click.argument("session", shell_complete=_complete)


@click.group("sessions", cls=Group)
def sessions() -> None:
    """See what the agent worked on, and go on with it.

    An id may be shortened to its beginning.

    \b
    Examples:
      signoff sessions list
      signoff sessions show 01a1
      signoff sessions resume 01a1 "now the tests"
    """


@sessions.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Not only those of this directory.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="How many, the last one first."
)
@click.option("--cursor", help="Go on where an earlier list ended.")
@json_option
@click.pass_obj
def list_(output: Output, everywhere: bool, limit: int, cursor: str | None, as_json: bool) -> None:
    """List sessions, the last one first.

    \b
    Examples:
      signoff sessions list
      signoff sessions list --all --json
    """
    with contextlib.closing(open_sessions()) as store:
        page = store.list(None if everywhere else str(Path.cwd()), cursor, limit)
    if as_json:
        output.json({"sessions": page.sessions, "next_cursor": page.next_cursor})
        return
    for one in page.sessions:
        output.text(_row(output, one), SHORT + 27)
    if page.next_cursor is not None:
        output.say(f"more: signoff sessions list --cursor {page.next_cursor}")
    if not page.sessions:
        output.say("no sessions here yet" if not everywhere else "no sessions yet")


@sessions.command()
@json_option
@session_argument
@click.pass_obj
def show(output: Output, session: str, as_json: bool) -> None:
    """Show what was said and done in a session.

    \b
    Examples:
      signoff sessions show 01a1
      signoff sessions show 01a1 --json
    """
    with contextlib.closing(open_sessions()) as store:
        entries = store.read(store.find(session))
    if as_json:
        output.json({"session": summarise(entries), "entries": entries})
        return
    for line in _told(output, entries):
        output.text(line)


@sessions.command()
@session_argument
@click.argument("prompt", required=False)
@click.pass_context
def resume(context: click.Context, session: str, prompt: str | None) -> int:
    """Go on with a session, as `chat --resume` does.

    \b
    Examples:
      signoff sessions resume 01a1
      signoff sessions resume 01a1 "now the tests"
    """
    from signoff.cli.chat import chat

    words = ["--resume", session, *([prompt] if prompt else [])]
    with chat.make_context("chat", words, parent=context.find_root()) as inner:
        return int(chat.invoke(inner) or 0)


@sessions.command()
@json_option
@session_argument
@click.pass_obj
def fork(output: Output, session: str, as_json: bool) -> None:
    """Make a new session that begins where this one stands.

    \b
    Examples:
      signoff sessions fork 01a1
    """
    with contextlib.closing(open_sessions()) as store, store.fork(store.find(session)) as log:
        output.json({"id": log.id}) if as_json else output.text(log.id)


@sessions.command()
@session_argument
@click.argument("title")
@click.pass_obj
def rename(output: Output, session: str, title: str) -> None:
    """Give a session another title.

    \b
    Examples:
      signoff sessions rename 01a1 "the cart"
    """
    with contextlib.closing(open_sessions()) as store:
        store.rename(store.find(session), title)


@sessions.command()
@click.argument("session", nargs=-1, required=True, shell_complete=_complete)
@click.pass_obj
def delete(output: Output, session: tuple[str, ...]) -> None:
    """Delete sessions.

    The ledgers of their runs stay.

    \b
    Examples:
      signoff sessions delete 01a1 01b2
    """
    with contextlib.closing(open_sessions()) as store:
        for found in [store.find(one) for one in session]:
            store.delete(found)
            output.say(f"deleted {found}")


@sessions.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    show_default=True,
    help="jsonl: the log as it is; markdown: a text to read.",
)
@session_argument
@click.pass_obj
def export(output: Output, session: str, form: str) -> None:
    """Print a whole session: its log as it is, or a text to read.

    \b
    Examples:
      signoff sessions export 01a1 > session.jsonl
      signoff sessions export 01a1 --format markdown | less
    """
    with contextlib.closing(open_sessions()) as store:
        entries = store.read(store.find(session))
    if form == "jsonl":
        for entry in entries:
            sys.stdout.buffer.write(msgspec.json.encode(entry) + b"\n")
        return
    for line in _told(msgspec.structs.replace(output, no_color=True), entries):
        output.text(line)


def _row(output: Output, one: Summary) -> str:
    when = datetime.datetime.fromtimestamp(one.updated_ms / 1_000, datetime.UTC).strftime("%Y-%m-%d %H:%MZ")
    short = one.id if output.room() is None else one.id[:SHORT]
    return f"{output.paint(short, Style.FAINT)}  {when}  {one.mode:4}  {visible(one.title or '(nothing said yet)')}"


def _told(output: Output, entries: Iterable[Entry]) -> list[str]:
    lines: list[str] = []
    for entry in entries:
        match entry.what:
            case Said(message=message) if message.role in ("user", "assistant") and message.text:
                who = "You" if message.role == "user" else "Agent"
                lines += [output.paint(f"## {who}", Style.TITLE), "", printable(message.text), ""]
            case CallBegan(call=call, look=look):
                lines += [output.paint(f"- {call.name}: {visible(look.title)}", Style.FAINT), ""]
            case _:
                pass
    return lines
