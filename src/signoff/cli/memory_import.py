"""signoff memory import: notes that people keep, and what `signoff memory export` printed."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from signoff.cli.memory_notes import local, project_of, project_option
from signoff.cli.output import Output, json_option
from signoff.domain.errors import ConfigUnreadable, MemoryBadRequest

if TYPE_CHECKING:
    from signoff.memory.embedded import Embedded
    from signoff.memory.interface import Candidate

LONGEST = 64 * 1024 * 1024  # characters


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(dir_okay=False, path_type=Path))
@project_option
@json_option
@click.pass_obj
def import_(output: Output, files: tuple[Path, ...], project: str | None, as_json: bool) -> None:
    """Remember the sections of Markdown notes, one answer each.

    What holds a secret is left out. An export is read back into the projects it names, unless you give one: JSON with
    everything that was known about each answer; Markdown as the page stands now, so that answers you corrected there
    are corrected here.

    \b
    Examples:
      signoff memory import AGENTS.md CLAUDE.md
      signoff memory import notes/*.md --project global
      signoff memory import memory.json
    """
    store = local(output)
    name = project_of(output, project)
    kept: list[str] = []
    changed: list[str] = []
    refused: list[str] = []
    for path in files:
        new: list[tuple[int, Candidate]] = []
        for place, told in _told(path, name, keep_project=project is None):
            try:
                correction = _correction(store, told)
            except MemoryBadRequest as error:
                refused.append(f"{path}:{place}: {error.message}")
            else:
                changed += [correction] if correction else []
                new += [] if correction else [(place, told)]
        kept += _added(store, path, new, refused)
    for line in refused:
        output.warn(line)
    if as_json:
        output.json({"imported": kept, "changed": changed, "refused": len(refused)})
        return
    more = f", corrected {len(changed)}" * bool(changed) + f", refused {len(refused)}" * bool(refused)
    output.say(f"remembered {len(kept)} answers{more}")


def _told(path: Path, project: str, *, keep_project: bool) -> "list[tuple[int, Candidate]]":
    """What a file has to say, with the line or the number of each answer."""
    from signoff.memory.interface import Candidate
    from signoff.memory.notes import exported, items, sections

    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise ValueError(f"it has more than {LONGEST} characters")
        known = items(text) if path.suffix == ".json" else exported(text)
    except (OSError, ValueError) as error:
        raise ConfigUnreadable(f"{path} cannot be read: {error}") from error
    if known or path.suffix == ".json":
        return [
            (number, item if keep_project else msgspec.structs.replace(item, project_id=project))
            for number, item in enumerate(known, 1)
        ]
    return [
        (
            note.line,
            Candidate(
                project,
                note.title,
                note.text,
                source=f"{path.name}:{note.line}",
                confidence=0.8,
                thread=path.name,
                position=place,
            ),
        )
        for place, note in enumerate(sections(text, path.stem))
    ]


def _correction(store: "Embedded", told: "Candidate") -> str | None:
    """The id of an answer that is known and was changed on the page; what it has proved stays."""
    from signoff.memory import upkeep
    from signoff.memory.item import Item

    before = store.get(told.qa_id) if isinstance(told, Item) else None
    if before is None or (told.question, told.answer) == (" ".join(before.question.split()), before.answer.strip()):
        return None
    if (told.question, told.answer) == (before.question, before.answer):
        return None
    return upkeep.edit(store, before.qa_id, {"question": told.question, "answer": told.answer}).qa_id


def _added(store: "Embedded", path: Path, new: "list[tuple[int, Candidate]]", refused: list[str]) -> list[str]:
    """All in one go; one by one where some are refused, so that the others are kept."""
    from signoff.memory.trust import Status

    try:
        return list(store.add([told for _, told in new], Status.ACTIVE))
    except MemoryBadRequest as error:
        if len(new) == 1:
            refused.append(f"{path}:{new[0][0]}: {error.message}")
            return []
    return [qa_id for one in new for qa_id in _added(store, path, [one], refused)]
