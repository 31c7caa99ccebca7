"""Projects inside one file. A project is a range of row ids, so a search costs what its project holds."""

import sqlite3

import msgspec

from signoff.domain.errors import MemoryBadRequest

GLOBAL = "global"  # the project everybody sees
SEQUENCE_BITS = 32
_FIELDS = "number, name, next - 1, generation, encoded, threaded, authored"


class Project(msgspec.Struct, frozen=True):
    number: int
    name: str
    size: int  # how many items there are, at most
    generation: int  # grows whenever an item changes or goes
    encoded: int  # every item up to this one has a vector
    threaded: int  # 1 if there are items that belong to a thread
    authored: int  # 1 if there are items of which somebody is the author

    @property
    def first(self) -> int:
        return self.number << SEQUENCE_BITS

    @property
    def last(self) -> int:
        return ((self.number + 1) << SEQUENCE_BITS) - 1


def visible(connection: sqlite3.Connection, name: str) -> list[Project]:
    """The projects whose items a project sees: its own, the global one, and those shared with it."""
    rows = connection.execute(
        f"SELECT {_FIELDS} FROM project WHERE name IN (?, ?) OR number IN "  # noqa: S608
        "(SELECT owner FROM sharing JOIN project ON reader = number WHERE name = ?)",
        (name, GLOBAL, name),
    )
    return [Project(*row) for row in rows]


def sees(connection: sqlite3.Connection, name: str, number: int) -> bool:
    """Whether a project sees the item with this row id."""
    return any(project.number == number >> SEQUENCE_BITS for project in visible(connection, name))


def opened(connection: sqlite3.Connection, name: str) -> Project:
    """The project of this name, made if there is none."""
    if not name or len(name) > 200:
        raise MemoryBadRequest("a project id has 1 to 200 characters")
    connection.execute(
        "INSERT INTO project (name, threaded, authored) VALUES (?, 0, 0) ON CONFLICT DO NOTHING", (name,)
    )
    return Project(*connection.execute(f"SELECT {_FIELDS} FROM project WHERE name = ?", (name,)).fetchone())  # noqa: S608


def changed(connection: sqlite3.Connection, number: int) -> None:
    """An item is no longer what it was: whoever holds the vectors of its project reads them anew."""
    connection.execute(
        "UPDATE project SET generation = generation + 1, encoded = min(encoded, ?) WHERE number = ?",
        ((number & ((1 << SEQUENCE_BITS) - 1)) - 1, number >> SEQUENCE_BITS),
    )
