"""signoff memory: what past runs taught, for people to see, correct and take along."""

import shutil
import sys
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from signoff.cli import memory_import, memory_notes, wiring
from signoff.cli.app import Group
from signoff.cli.memory_notes import local, project_of, project_option
from signoff.cli.output import Output, Style, json_option
from signoff.cli.wiring_memory import open_memory
from signoff.domain.errors import NotFound, UsageError
from signoff.domain.visible import visible
from signoff.memory.interface import Candidate, Match, Query, Reference, Strength, Validation

if TYPE_CHECKING:
    from signoff.memory.item import Item

STATUSES = ("candidate", "active", "stale", "deprecated", "frozen")


@click.group(cls=Group)
def memory() -> None:
    """Search what past runs taught, correct it, take it along.

    search, add, hit and validate use the service of memory.url where one is set; everything else is about the file here.

    \b
    Examples:
      signoff memory search "flaky socket test"
      signoff memory import AGENTS.md
      signoff memory why last
    """


for command in (memory_notes.export, memory_import.import_, memory_notes.stats, memory_notes.why, memory_notes.serve):
    memory.add_command(command)


def _open(output: Output) -> Any:
    return open_memory(wiring.configuration(output).settings.memory)


@memory.command()
@click.argument("query")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 20), default=6, show_default=True, help="How many, the best first."
)
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="Leave out what fits less than this.",
)
@project_option
@json_option
@click.pass_obj
def search(output: Output, query: str, limit: int, min_score: float, project: str | None, as_json: bool) -> None:
    """Find what fits a question, the best first, and say why.

    \b
    Examples:
      signoff memory search "how do we build the docs"
      signoff memory search KeyError --json
    """
    found: tuple[Match, ...] = _open(output).search(Query(project_of(output, project), query, limit, min_score)).value
    if as_json:
        output.json({"matches": found})
        return
    if not found:
        output.say("Nothing fits.")
    for match in found:
        why = ", ".join(f"{name} {share:.2f}" for name, share in match.why.items())
        standing = visible(f"{match.level}, {match.status}; {why}")
        output.text(f"{output.paint(visible(match.qa_id), Style.TITLE)}  {match.score:.2f}  {visible(match.question)}")
        for line in (match.summary or match.answer).splitlines():
            output.text(f"    {visible(line)}", 4)
        output.text(output.paint(f"    {standing}", Style.FAINT), 4)


@memory.command()
@click.argument("question")
@click.argument("answer")
@click.option("--summary", help="The answer in one sentence, for lists.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by; repeatable.")
@project_option
@json_option
@click.pass_obj
def add(
    output: Output,
    question: str,
    answer: str,
    summary: str | None,
    tags: tuple[str, ...],
    project: str | None,
    as_json: bool,
) -> None:
    """Remember an answer.

    One that holds a secret is refused. The project "global" is seen by all.

    \b
    Examples:
      signoff memory add "How to run one test?" "make test ONE=name"
      signoff memory add "Who reviews?" "Two people." --project global
    """
    from signoff.memory.embedded import Embedded
    from signoff.memory.trust import Status

    told = Candidate(project_of(output, project), question, answer, summary, tags, source="person", confidence=0.9)
    store = _open(output)
    qa_id = store.add((told,), Status.ACTIVE)[0] if isinstance(store, Embedded) else store.candidate(told).value
    _answer(output, as_json, {"qa_id": qa_id}, f"remembered as {qa_id}")


@memory.command()
@click.argument("qa_id", metavar="ID")
@json_option
@click.pass_obj
def show(output: Output, qa_id: str, as_json: bool) -> None:
    """Show one answer with its whole story.

    The beginning of an id will do.

    \b
    Examples:
      signoff memory show qa-3f9a
    """
    from signoff.memory import upkeep

    store = local(output)
    item = upkeep.find(store, qa_id)
    past = upkeep.history(store, item.qa_id)
    if as_json:
        output.json({"item": item, "history": past})
        return
    output.text(f"{output.paint(item.qa_id, Style.TITLE)}  {item.level}, trust {item.trust:.2f}, {item.status}")
    for text in (item.question, item.answer):
        output.text("")
        for line in text.splitlines():
            output.text(visible(line), 0)
    output.text("")
    output.text(f"{'used':13} {item.used} of {item.shown} times shown")
    for name in (
        "project_id",
        "summary",
        "tags",
        "source",
        "run_id",
        "calls",
        "created_at",
        "validated_at",
        "used_at",
        "expires_at",
    ):
        if value := getattr(item, name):
            output.text(
                f"{name.removesuffix('_id').replace('_', ' '):13} {visible(', '.join(value) if isinstance(value, tuple) else str(value))}"
            )
    counts = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in _counts(item).items())
    output.text(f"{'validations':13} {counts or 'none'}")


def _counts(item: "Item") -> dict[str, int]:
    stats = item.stats
    return {name: value for name in stats.__struct_fields__ if isinstance(value := getattr(stats, name), int) and value}


def _tell(output: Output, item: "Item") -> None:
    """One line; on a terminal no more than fits."""
    facts = f"  {item.level}  {item.trust:.2f}  {item.status:10}  {f'{item.used}/{item.shown}':5}  "
    question = visible(" ".join(item.question.split()))
    if sys.stdout.isatty():
        room = max(shutil.get_terminal_size().columns - len(item.qa_id) - len(facts), 20)
        question = question if len(question) <= room else question[: room - 1] + "…"
    output.text(output.paint(item.qa_id, Style.TITLE) + facts + question)


@memory.command("list")
@project_option
@click.option("--all", "everything", is_flag=True, help="Take every project, not only one.")
@click.option("--status", type=click.Choice(STATUSES), help="Only answers of this status.")
@click.option("-n", "--limit", default=50, show_default=True, help="How many, the newest first; 0 for all.")
@json_option
@click.pass_obj
def list_(output: Output, project: str | None, everything: bool, status: str | None, limit: int, as_json: bool) -> None:
    """List what is remembered.

    Each answer with id, level, trust, status, how often it was used of how often it was shown, and its question.

    \b
    Examples:
      signoff memory list
      signoff memory list --all --status stale --json
    """
    from signoff.memory import upkeep
    from signoff.memory.trust import Status

    wanted = None if everything else project_of(output, project)
    items = upkeep.listing(
        local(output), project=wanted, status=Status(status) if status else None, limit=limit if limit > 0 else -1
    )
    if as_json:
        output.json({"items": items})
        return
    if not items:
        output.say("Nothing is remembered here yet.")
    for item in items:
        _tell(output, item)


def _named(output: Output, store: Any, given: str, project: str | None) -> tuple[str, str]:
    """The id meant and the project it is looked up in: its own, unless one is given."""
    from signoff.memory import upkeep
    from signoff.memory.embedded import Embedded

    if not isinstance(store, Embedded):
        return given, project_of(output, project)
    item = upkeep.find(store, given)
    return item.qa_id, project or item.project_id


@memory.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@click.option("--used", is_flag=True, help="They were relied on, not only shown.")
@project_option
@json_option
@click.pass_obj
def hit(output: Output, ids: tuple[str, ...], used: bool, project: str | None, as_json: bool) -> None:
    """Note that answers were shown, or used.

    The beginning of an id will do, except with a service.

    \b
    Examples:
      signoff memory hit qa-3f9a --used
    """
    store = _open(output)
    for given in ids:
        qa_id, owner = _named(output, store, given, project)
        status = store.hit(owner, (Reference(qa_id, shown=True, used=used),)).status
    _answer(output, as_json, {"status": status}, f"noted: {len(ids)} {'used' if used else 'shown'}")


@memory.command()
@click.argument("qa_id", metavar="ID")
@click.argument("result", type=click.Choice(["pass", "fail"]))
@click.option(
    "--strength",
    type=click.Choice(get_args(Strength)),
    default="strong",
    show_default=True,
    help="How much the proof weighs.",
)
@project_option
@json_option
@click.pass_obj
def validate(
    output: Output, qa_id: str, result: Literal["pass", "fail"], strength: Strength, project: str | None, as_json: bool
) -> None:
    """Say that an answer was right or wrong.

    It rises or falls accordingly.

    \b
    Examples:
      signoff memory validate qa-3f9a pass
      signoff memory validate qa-3f9a fail --strength weak
    """
    store = _open(output)
    qa_id, owner = _named(output, store, qa_id, project)
    reply = store.validate(Validation(owner, qa_id, result, strength, source="person"))
    if reply.status == 404:
        raise NotFound(f"nothing is remembered as {qa_id!r}", hint='"signoff memory list" shows what is.')
    _answer(output, as_json, {"status": reply.status}, f"noted: {qa_id} {result}, {strength}")


@memory.command()
@click.option(
    "--batch-size", type=click.IntRange(1, 1_000), default=200, show_default=True, help="How many in one transaction."
)
@json_option
@click.pass_obj
def expire(output: Output, batch_size: int, as_json: bool) -> None:
    """Sweep out what nobody proved in time.

    What is active becomes stale, the rest deprecated.

    \b
    Examples:
      signoff memory expire
    """
    count = local(output).expire(batch_size)
    _answer(output, as_json, {"expired": count}, f"expired: {count}")


@memory.command()
@click.argument("qa_id", metavar="ID")
@click.option("--question", help="The question as it should read.")
@click.option("--answer", help="The answer as it should read.")
@click.option("--summary", help="The answer in one sentence, for lists.")
@click.option("--tag", "tags", multiple=True, help="The new tags, all of them; repeatable.")
@click.option("--status", type=click.Choice(STATUSES), help="frozen: never changes by itself.")
@json_option
@click.pass_obj
def edit(
    output: Output, /, qa_id: str, tags: tuple[str, ...], status: str | None, as_json: bool, **words: str | None
) -> None:
    """Correct an answer.

    What was learnt about it stays.

    \b
    Examples:
      signoff memory edit qa-3f9a --answer "Run make docs."
      signoff memory edit qa-3f9a --status frozen
    """
    from signoff.memory import upkeep
    from signoff.memory.trust import Status

    changes: dict[str, Any] = {name: value for name, value in words.items() if value is not None}
    changes |= {"tags": tags} if tags else {}
    changes |= {"status": Status(status)} if status else {}
    if not changes:
        raise UsageError("nothing to change was given", hint='Run "signoff memory edit --help".')
    item = upkeep.edit(local(output), qa_id, changes)
    _answer(output, as_json, {"item": item}, f"changed: {item.qa_id}")


@memory.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@json_option
@click.pass_obj
def delete(output: Output, ids: tuple[str, ...], as_json: bool) -> None:
    """Forget answers for good.

    \b
    Examples:
      signoff memory delete qa-3f9a
    """
    from signoff.memory import upkeep

    store = local(output)
    gone = [upkeep.delete(store, qa_id).qa_id for qa_id in ids]
    _answer(output, as_json, {"deleted": gone}, f"forgotten: {', '.join(gone)}")


@memory.command()
@click.argument("reader", metavar="PROJECT")
@click.option("--stop", is_flag=True, help="Stop sharing with that project.")
@project_option
@json_option
@click.pass_obj
def share(output: Output, reader: str, stop: bool, project: str | None, as_json: bool) -> None:
    """Let another project see what this one remembers.

    \b
    Examples:
      signoff memory share other-project
      signoff memory share other-project --stop
    """
    from signoff.memory import upkeep

    owner = project_of(output, project)
    upkeep.share(local(output), owner, reader, shared=not stop)
    _answer(
        output,
        as_json,
        {"owner": owner, "reader": reader, "shared": not stop},
        f"{reader} {'no longer sees' if stop else 'sees'} {owner}",
    )


def _answer(output: Output, as_json: bool, value: object, sentence: str) -> None:
    if as_json:
        output.json(value)
    else:
        output.say(sentence)
