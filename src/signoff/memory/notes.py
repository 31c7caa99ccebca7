"""Memory as text that people read: sections of Markdown in, Markdown out. Pure."""

import re
from collections.abc import Iterable

import msgspec

from signoff.memory.item import Item

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_LONGEST_TRAIL = 3


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
        tags = f", tags {', '.join(item.tags)}" if item.tags else ""
        lines += [
            f"## {' '.join(item.question.split())}",
            "",
            item.answer.strip(),
            "",
            f"<!-- {item.qa_id}: {standing}{tags} -->",
            "",
        ]
    return "\n".join(lines)
