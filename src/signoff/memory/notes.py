"""Memory as text that people read: sections of Markdown in, Markdown out. Pure."""

import re
from collections.abc import Iterable

import msgspec

from signoff.memory.item import Item, milliseconds
from signoff.memory.trust import Status

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_LONGEST_TRAIL = 3
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_STANDING = re.compile(
    rf"<!-- (?P<qa_id>{_ID.pattern}): L\d, trust [\d.]+, (?P<status>{'|'.join(Status)}), used \d+ of \d+ times shown"
    r"(?:, ?tags (?P<tags>.*))? -->$"
)


class Note(msgspec.Struct, frozen=True):
    """A section: where it stands, and what it says."""

    title: str
    text: str
    line: int


def sections(markdown: str, name: str) -> tuple[Note, ...]:
    """Every section that says something, under its headings. What stands before the first heading is named after the file."""
    trail: list[tuple[int, str]] = []
    found: list[Note] = []
    body: list[str] = []
    start, fenced = 1, False

    def finish() -> None:
        text = "\n".join(body).strip()
        if text:
            title = " › ".join(heading for _, heading in trail[-_LONGEST_TRAIL:]) or name
            found.append(Note(title, text, start))

    for number, line in enumerate(markdown.splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            body.append(line)
            continue
        finish()
        depth = len(heading[1])
        trail = [(level, title) for level, title in trail if level < depth] + [(depth, heading[2])]
        body, start = [], number
    finish()
    return tuple(found)


def markdown(items: Iterable[Item]) -> str:
    """One page: a heading for each project, a section for each answer, its standing in one line."""
    lines: list[str] = []
    project = None
    for item in sorted(items, key=lambda item: (item.project_id, item.created_at, item.qa_id)):
        if item.project_id != project:
            project = item.project_id
            lines += [f"# {project}", ""]
        standing = f"{item.level}, trust {item.trust:.2f}, {item.status}, used {item.used} of {item.shown} times shown"
        tags = f", tags {_line(', '.join(item.tags))}" if item.tags else ""
        answer = "\n".join(f" {line}" if _STANDING.match(line) else line for line in item.answer.strip().split("\n"))
        lines += [f"## {_line(item.question)}", "", answer, "", f"<!-- {item.qa_id}: {standing}{tags} -->", ""]
    return "\n".join(lines)


def exported(page: str) -> tuple[Item, ...]:
    """The answers on a page that `markdown` made, as they stand there now; nothing for any other page."""
    found: list[Item] = []
    project = question = ""
    answer: list[str] | None = None
    for line in page.splitlines():
        standing = _STANDING.match(line)
        if answer is None:
            if line.startswith("# "):
                project = line[2:].strip()
            elif line.startswith("## "):
                question, answer = line[3:].strip(), []
        elif standing is None:
            answer.append(line)
        else:
            tags = tuple(tag.strip() for tag in (standing["tags"] or "").split(",") if tag.strip())
            text = "\n".join(answer).strip()
            status = Status(standing["status"])
            found.append(Item(project, question, text, qa_id=standing["qa_id"], tags=tags, status=status))
            answer = None
    return tuple(item for item in found if item.project_id and item.question and item.answer)


def items(document: str) -> tuple[Item, ...]:
    """The items of an export in JSON. Raises ValueError for anything else."""
    known = msgspec.json.decode(document, type=_Export).items
    for item in known:
        if not _ID.fullmatch(item.qa_id):
            raise ValueError(f"{item.qa_id!r} is no id")
        for moment in (item.created_at or None, item.validated_at, item.used_at, item.expires_at):
            milliseconds(moment)
    return known


class _Export(msgspec.Struct, frozen=True):
    items: tuple[Item, ...]


def _line(text: str) -> str:
    return " ".join(text.split()).replace("-->", "-- >")
