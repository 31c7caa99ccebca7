"""The rest of `signoff memory`: notes in and out, what a run got, counts, and the service."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from signoff import __version__
from signoff.cli import wiring
from signoff.cli.output import Output, json_option
from signoff.cli.wiring_memory import open_local, read_token
from signoff.config import locations
from signoff.domain.errors import ConfigUnreadable, UsageError
from signoff.domain.visible import visible
from signoff.ledger import reading
from signoff.ledger.records import Event, Line

if TYPE_CHECKING:
    from signoff.memory.embedded import Embedded

project_option = click.option("--project", metavar="ID", help="Which project; the one of this directory otherwise.")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
MEMORY_EVENTS = ("memory.", "gatekeeper.")


def project_of(output: Output, given: str | None) -> str:
    return given or wiring.project_name(wiring.configuration(output))


def local(output: Output) -> "Embedded":
    """The file here. The configuration is read first: one that is malformed is an error whatever the command."""
    wiring.configuration(output)
    return open_local()


@click.command()
@project_option
@click.option("--all", "everything", is_flag=True, help="Of every project.")
@json_option
@click.pass_obj
def export(output: Output, project: str | None, everything: bool, as_json: bool) -> None:
    """Print what is remembered as Markdown that people can read, or as JSON that keeps everything.

    \b
    Examples:
      signoff memory export > MEMORY.md
      signoff memory export --all --json > memory.json
    """
    from signoff.memory import upkeep
    from signoff.memory.notes import markdown

    items = upkeep.listing(local(output), project=None if everything else project_of(output, project))
    if as_json:
        output.json({"items": items})
    else:
        output.text(markdown(items).rstrip("\n"))


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(dir_okay=False, path_type=Path))
@project_option
@json_option
@click.pass_obj
def import_(output: Output, files: tuple[Path, ...], project: str | None, as_json: bool) -> None:
    """Remember the sections of Markdown notes, one answer each. A section that holds a secret is left out.

    \b
    Examples:
      signoff memory import AGENTS.md CLAUDE.md
      signoff memory import notes/*.md --project global
    """
    from signoff.domain.errors import MemoryBadRequest
    from signoff.memory.interface import Candidate
    from signoff.memory.notes import sections
    from signoff.memory.trust import Status

    store, name = local(output), project_of(output, project)
    kept: list[str] = []
    refused = 0
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigUnreadable(f"{path} cannot be read: {error}") from error
        for place, note in enumerate(sections(text, path.stem)):
            told = Candidate(
                name,
                note.title,
                note.text,
                source=f"{path.name}:{note.line}",
                confidence=0.8,
                thread=path.name,
                position=place,
            )
            try:
                kept += store.add((told,), Status.ACTIVE)
            except MemoryBadRequest as error:
                refused += 1
                output.warn(f"{path}:{note.line}: {error.message}")
    if as_json:
        output.json({"imported": kept, "refused": refused})
    else:
        output.say(f"remembered {len(kept)} sections" + (f", refused {refused}" if refused else ""))


@click.command()
@json_option
@click.pass_obj
def stats(output: Output, as_json: bool) -> None:
    """Count what is remembered: by project, status and level.

    \b
    Examples:
      signoff memory stats
    """
    from signoff.memory import upkeep

    sums = upkeep.summary(local(output))
    if as_json:
        output.json(sums)
        return
    for name in sums.__struct_fields__:
        value = getattr(sums, name)
        told = (
            ", ".join(f"{visible(key)} {count}" for key, count in value.items()) if isinstance(value, dict) else value
        )
        output.text(f"{name:9} {told}")


@click.command()
@click.argument("run", metavar="[RUN]", default=reading.LAST)
@json_option
@click.pass_obj
def why(output: Output, run: str, as_json: bool) -> None:
    """Show what a run was told from memory, and what came of it.

    \b
    Examples:
      signoff memory why
      signoff memory why 0193 --json
    """
    path = reading.find(locations.runs(os.environ), run)
    with path.open("rb") as file:
        events = [line.what for line in reading.read(file) if isinstance(line, Line) and isinstance(line.what, Event)]
    told = [event for event in events if event.name.startswith(MEMORY_EVENTS)]
    if as_json:
        output.json({"run_id": path.stem, "events": told})
        return
    if not told:
        output.say("Memory had no part in this run.")
    for event in told:
        output.text(f"{event.name:21} {_facts(event.data)}")


def _facts(data: dict[str, Any]) -> str:
    return visible(", ".join(f"{name} {_short(value)}" for name, value in data.items()))


def _short(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


@click.command()
@click.option("--listen", default="127.0.0.1:8765", show_default=True, metavar="HOST:PORT")
@click.option("--token-file", metavar="FILE", help="Ask for the token in this file.")
@click.pass_obj
def serve(output: Output, listen: str, token_file: str | None) -> None:
    """Serve the memory over HTTP, under /v1/qa; its description is at /openapi.json.

    Beyond this machine it is served only with a token.

    \b
    Examples:
      signoff memory serve
      signoff memory serve --listen 0.0.0.0:8765 --token-file ~/.memory-token
    """
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError("--listen wants HOST:PORT", hint="Example: --listen 127.0.0.1:8765")
    if host not in LOOPBACK and token_file is None:
        raise UsageError(f"{host} can be reached by others: give a --token-file")
    store = local(output)
    token = read_token(token_file) if token_file else ""
    try:
        import uvicorn

        from signoff.memory.service import application
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing", hint='Install it: pip install "signoff[serve]"') from error
    app = application(store, __version__, token)
    output.say(f"memory at http://{listen}/v1/qa")
    uvicorn.run(app, host=host, port=int(port), log_level="warning", access_log=False, server_header=False)
