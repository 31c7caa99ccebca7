"""grep: search the content of files. ripgrep where there is one, a Python process with the same results where not; either
in the sandbox, so that a pattern that takes for ever takes only until the time limit."""

import asyncio
import base64
import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec

from signoff.domain.errors import ChildFailed, InvalidArguments, ToolTimeout
from signoff.domain.intent import Action, FileRead, Intent, Permission
from signoff.files.ground import Ground, spelled
from signoff.files.ignore import ALWAYS
from signoff.sandbox.outcome import Outcome, Request
from signoff.tools import ripgrep, search_child
from signoff.tools.glob_file_search import expanded, files_below, path_pattern
from signoff.tools.tool import Attempt, Done, Place, Tool

MOST_MATCHES = 20_000  # looked at before they are sorted
TIMEOUT_MS = 60_000
_RIPGREP = (
    "--json --no-config --hidden --no-require-git --no-ignore-global --no-ignore-exclude --no-ignore-dot"
    " --no-messages --engine=auto --crlf"
)


class GrepArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(min_length=1)]
    path: str = "."
    glob: str | None = None
    multiline: bool = False
    head_limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_MATCHES)] = 200
    ignore_case: bool = msgspec.field(default=False, name="-i")


class Match(msgspec.Struct, frozen=True, order=True):
    path: str  # relative to the workspace
    line: int
    text: str


class Matches(msgspec.Struct, frozen=True):
    matches: tuple[Match, ...]
    truncated: bool = False
    withheld: int = 0  # files with matches that this call may not read


class Grep(Tool[GrepArguments]):
    name = "grep"
    version = "1.0.0"
    description = (
        "Search files with a regular expression, line by line or across lines. What .gitignore names is left out."
    )
    permissions = (Permission.FS_READ,)
    arguments = GrepArguments
    returns = Matches

    def __init__(self, program: Callable[[], str | None] = ripgrep.program) -> None:
        self._program = program

    def intent(self, arguments: GrepArguments, place: Place) -> Intent:
        return Intent(self.name, Action.READ, (FileRead(spelled(arguments.path, place.workspace)),))

    async def run(self, arguments: GrepArguments, attempt: Attempt) -> Done:
        found, all_of_them = await self._search(arguments, attempt)
        allowed = {
            path: attempt.readable(os.path.join(attempt.place.workspace, path)) for path in {m.path for m in found}
        }
        kept = sorted(match for match in found if allowed[match.path])
        result = Matches(
            tuple(kept[: arguments.head_limit]),
            truncated=len(kept) > arguments.head_limit or not all_of_them,
            withheld=len(allowed) - sum(allowed.values()),
        )
        shown = "\n".join(f"{match.path}:{match.line}:{match.text}" for match in result.matches)
        return Done(payload=msgspec.to_builtins(result), display=shown)

    async def _search(self, arguments: GrepArguments, attempt: Attempt) -> tuple[list[Match], bool]:
        """Every match, and whether these are all."""
        where = spelled(arguments.path, attempt.place.workspace)
        with Ground(attempt.place.workspace) as ground:
            single = not ground.is_directory(where)
            if single:
                ground.read(where, limit=1)  # says what is wrong with it
        program = self._program()
        if program is not None and not single:
            with contextlib.suppress(ChildFailed):  # not to be seen from inside the sandbox
                request = Request(_ripgrep(program, arguments, where), timeout_ms=TIMEOUT_MS, max_output_bytes=65_536)
                return await _collected(attempt, request, _from_ripgrep, arguments)
        pattern = None if arguments.glob is None else path_pattern(arguments.glob)
        files = [where] if single else await asyncio.to_thread(files_below, where, attempt.place, pattern)
        request = Request(_python(), stdin=_wanted(arguments, files), timeout_ms=TIMEOUT_MS, max_output_bytes=65_536)
        return await _collected(attempt, request, _from_python, arguments)


def _ripgrep(program: str, arguments: GrepArguments, where: str) -> tuple[str, ...]:
    words = [program, *_RIPGREP.split(), *(word for name in sorted(ALWAYS) for word in ("-g", f"!{name}"))]
    words += ["-i"] if arguments.ignore_case else []
    words += ["-U", "--multiline-dotall"] if arguments.multiline else []
    if arguments.glob is not None and "/" not in arguments.glob:  # a type, because a -g would overrule .gitignore
        words += [f"--type-add=wanted:{glob}" for glob in expanded(arguments.glob)] + ["--type=wanted"]
    return (*words, "-e", arguments.pattern, "--", where)


def _python() -> tuple[str, ...]:
    return (os.path.realpath(sys.executable), "-I", "-S", "-c", Path(search_child.__file__).read_text(encoding="utf-8"))


def _wanted(arguments: GrepArguments, files: list[str]) -> bytes:
    wanted = {
        "pattern": arguments.pattern,
        "ignore_case": arguments.ignore_case,
        "multiline": arguments.multiline,
        "files": files,
    }
    return json.dumps(wanted).encode()


async def _collected(
    attempt: Attempt, request: Request, read: Callable[[bytes], Match | None], arguments: GrepArguments
) -> tuple[list[Match], bool]:
    """Start it, read its matches as they come, and stop it when there are enough."""
    pattern = None if arguments.glob is None else path_pattern(arguments.glob)
    base = spelled(arguments.path, attempt.place.workspace)
    found: list[Match] = []
    rest = bytearray()
    loop = asyncio.get_running_loop()

    def take(stream: int, data: bytes) -> None:
        if stream != 1 or len(found) >= MOST_MATCHES:
            return
        rest.extend(data)
        *lines, last = bytes(rest).split(b"\n")
        rest[:] = last
        for match in filter(None, map(read, lines)):
            full = os.path.join(attempt.place.workspace, match.path)
            if pattern is None or pattern.fullmatch(os.path.relpath(full, base)) or full == base:
                found.append(msgspec.structs.replace(match, path=_shown(full, attempt.place)))
        if len(found) >= MOST_MATCHES:
            loop.call_soon_threadsafe(running.cancel)

    running: asyncio.Task[Outcome] = asyncio.ensure_future(_outcome(attempt, request, take))
    try:
        outcome = await running
    except asyncio.CancelledError:
        if len(found) < MOST_MATCHES:
            raise
        return found[:MOST_MATCHES], False
    if outcome.timed_out:
        raise ToolTimeout(f"the search took longer than {TIMEOUT_MS // 1_000} s", hint="search a smaller directory")
    if outcome.status == 2 and outcome.stderr.data.strip():
        raise InvalidArguments(f"grep: {arguments.pattern!r} is no regular expression: {outcome.stderr.text().strip()}")
    return found, True


async def _outcome(attempt: Attempt, request: Request, take: Callable[[int, bytes], None]) -> Outcome:
    return await attempt.start(request, take)


def _shown(path: str, place: Place) -> str:
    inside = path.removeprefix(place.workspace.rstrip("/") + "/")
    return os.fsencode(inside).decode("utf-8", "backslashreplace")


def _from_python(line: bytes) -> Match | None:
    path, number, text = json.loads(line)
    return Match(path, number, text)


def _from_ripgrep(line: bytes) -> Match | None:
    event: dict[str, Any] = json.loads(line)
    if event["type"] != "match":
        return None
    data = event["data"]
    text = os.fsdecode(_bytes(data["lines"])).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    path = os.fsdecode(_bytes(data["path"]))
    return Match(path, data["line_number"], text.removesuffix("\n").removesuffix("\r")[: search_child.LONGEST_TEXT])


def _bytes(value: dict[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
