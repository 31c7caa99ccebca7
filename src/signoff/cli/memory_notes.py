"""The rest of `signoff memory`: notes in and out, what a run got, counts, and the service."""

import os
from typing import TYPE_CHECKING

import click

from signoff import __version__
from signoff.cli import completing, wiring
from signoff.cli.listening import PORTS
from signoff.cli.memory_story import story
from signoff.cli.output import Output, json_option
from signoff.cli.wiring_memory import open_local, read_token
from signoff.config import locations
from signoff.domain.errors import UsageError
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
@click.option("--all", "everything", is_flag=True, help="Take every project, not only one.")
@json_option
@click.pass_obj
def export(output: Output, project: str | None, everything: bool, as_json: bool) -> None:
    """Print what is remembered, as Markdown to read or as JSON that keeps everything.

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
@click.argument("run", metavar="[RUN]", default=reading.LAST, shell_complete=completing.runs)
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
    for label, lines in story(told):
        for number, line in enumerate(lines):
            output.text(f"{'' if number else label:9} {visible(line)}")


@click.command()
@click.option(
    "--listen",
    default=f"127.0.0.1:{PORTS['memory serve']}",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen.",
)
@click.option("--token-file", metavar="FILE", help="Demand the token in this file from clients.")
@click.pass_obj
def serve(output: Output, listen: str, token_file: str | None) -> None:
    """Serve the memory over HTTP.

    It answers under /v1/qa; its description is at /openapi.json. Beyond this machine it is served only with a token.

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
        from signoff.cli.wiring_memory_service import serve_memory
        from signoff.memory.service import application
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing", hint='Install it: pip install "signoff[serve]"') from error
    serve_memory(output, application(store, __version__, token), host, int(port))
