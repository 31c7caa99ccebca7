"""What will somebody else's tool touch? Its name, action and arguments become an intent.

Commands, paths and addresses are looked for under the argument names that tools use, whatever the tool is called: finding
more only makes the verdict stricter. A tool known to run commands whose command cannot be found is opaque.
"""

import enum
import functools
import os.path
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from signoff.domain.errors import ConfigError
from signoff.domain.intent import Action, Aspect, Escalation, FileDelete, FileRead, FileWrite, Host, Intent, Opaque
from signoff.domain.late import late
from signoff.files.links import real
from signoff.wire.tool_events import ToolRequest

if TYPE_CHECKING:
    from signoff.policy import shell
else:
    shell = late("signoff.policy.shell")


class Kind(enum.StrEnum):
    """What a tool of a known name does."""

    COMMAND = "command"
    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    HOST = "host"
    HARMLESS = "harmless"


TOOLS: dict[str, Kind] = {
    **dict.fromkeys(
        ["shell", "bash", "sh", "exec", "shell.exec", "terminal", "run_terminal_cmd", "run_shell_command", "run_command",
         "execute_command", "exec_command", "shell_command", "local_shell"],
        Kind.COMMAND,
    ),
    **dict.fromkeys(["fs.read", "read", "read_file", "view", "list_dir", "ls", "glob", "grep", "search"], Kind.READ),
    **dict.fromkeys(
        ["fs.write", "write", "write_file", "edit", "edit_file", "multiedit", "apply_patch", "str_replace", "move_file"], Kind.WRITE
    ),
    **dict.fromkeys(["fs.delete", "delete", "delete_file"], Kind.DELETE),
    **dict.fromkeys(["net.http", "http", "fetch", "web_fetch", "webfetch", "browser", "download"], Kind.HOST),
    **dict.fromkeys(["display", "update_plan", "todo_write", "todowrite", "todo_read"], Kind.HARMLESS),
}  # fmt: skip

COMMAND_KEYS = frozenset({"command", "cmd", "script", "argv", "shell_command"})
ENVIRONMENT_KEYS = ("env", "environment")
ARGUMENT_KEYS = ("args", "arguments", "parameters", "params")
PATH_KEYS = frozenset({"source", "src", "destination", "dest", "dst"})
_PATH_ENDINGS = ("path", "paths", "file", "files", "filename", "dir", "directory", "folder")
TEXT_KEYS = frozenset(
    [
        "content",
        "contents",
        "text",
        "message",
        "title",
        "description",
        "prompt",
        "query",
        "pattern",
        "regex",
        "oldstring",
        "newstring",
        "oldstr",
        "newstr",
        "thought",
    ]
)
"""Arguments that are written or searched for, so that a path in them is touched by nobody."""
URL_KEYS = frozenset({"url", "urls", "uri", "endpoint", "host", "hostname"})
PATCH_KEYS = frozenset({"patch", "patch_text", "diff"})
CWD_KEYS = ("cwd", "workdir", "working_directory")
_DIRECTORIES = frozenset(key.replace("_", "") for key in CWD_KEYS)
MOST_VALUES = 1_000
DEEPEST = 4
_LONGEST_PATH = 4_096
_SHORT = 1_000  # characters of a command worth remembering; agents run the same ones again and again
_NOT_WRITING = frozenset(Action) - {Action.WRITE}

_PATCH_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/", "+++ ", "--- a/")


def mapping_of(entries: Iterable[str]) -> dict[str, Kind]:
    """`NAME=KIND` as the settings have it."""
    mapping = {}
    for entry in entries:
        name, _, kind = entry.rpartition("=")
        if not name or kind not in frozenset(Kind):
            raise ConfigError(f"policy.tools: {entry!r} is not NAME=KIND", hint=f"KIND is one of: {', '.join(Kind)}")
        mapping[name] = Kind(kind)
    return mapping


def foreign_intent(
    tool: str,
    action: Action,
    args: Any,
    *,
    cwd: str,
    home: str,
    mapping: Mapping[str, Kind] | None = None,
    justification: str | None = None,
) -> Intent:
    kind = (mapping or {}).get(tool) or TOOLS.get(tool.lower())
    if kind is Kind.COMMAND and justification is None and (script := _only_a_script(args)):
        return _script_intent(tool, action, script, cwd, home)
    if isinstance(args, dict):
        given = next((args[key] for key in CWD_KEYS if isinstance(args.get(key), str)), None)
        cwd = cwd if given is None else os.path.normpath(os.path.join(cwd, given))
    reader = _Reader(kind, action, cwd, home)
    aspects = tuple(dict.fromkeys(reader.read(args)))
    if kind is Kind.COMMAND and reader.argv is None:
        aspects += (Opaque(str(args)[:200], f"no command found in the arguments of {tool}"),)
    elif kind is None and action is Action.EXEC and aspects and reader.argv is None:
        # the files it names say nothing about what it runs
        aspects += (Opaque(tool[:200], "an unknown tool that runs something"),)
    return Intent(tool, action, aspects, Escalation.USE_DEFAULT, argv=reader.argv, justification=justification)


class _Reader:
    def __init__(self, kind: Kind | None, action: Action, cwd: str, home: str) -> None:
        self._kind = kind
        self._action = action
        self._cwd = cwd
        self._home = home
        self._seen = 0
        self.argv: tuple[str, ...] | None = None

    def read(self, args: Any) -> Iterator[Aspect]:
        if isinstance(args, str) and self._kind is not None:
            key = {Kind.COMMAND: "command", Kind.HOST: "url"}.get(self._kind, "path")
            yield from self._value(key, args)
        else:
            yield from self._walk(args, DEEPEST)

    def _walk(self, value: Any, depth: int) -> Iterator[Aspect]:
        if not isinstance(value, dict | list):
            return
        if depth == 0 or self._seen > MOST_VALUES:
            yield Opaque(str(value)[:200], "arguments too large or too deep to be read")
            return
        for key, item in value.items() if isinstance(value, dict) else (("", item) for item in value):
            self._seen += 1
            yield from self._value(key.lower(), item)
            if key.lower() not in COMMAND_KEYS:
                yield from self._walk(item, depth - 1)
        if isinstance(value, dict):
            yield from self._beside_a_command(value)

    def _beside_a_command(self, args: dict[str, Any]) -> Iterator[Aspect]:
        """A program and its words given apart are one command; variables set for it may turn it into another."""
        lowered = {key.lower(): item for key, item in args.items()}
        program = next((lowered[key] for key in COMMAND_KEYS if isinstance(lowered.get(key), str)), None)
        if program is None:
            return
        for words in (lowered[key] for key in ARGUMENT_KEYS if isinstance(lowered.get(key), list)):
            yield from self._command([program, *words])
        variables = next((lowered[key] for key in ENVIRONMENT_KEYS if lowered.get(key)), None)
        if variables is not None:
            yield Opaque(str(variables)[:200], "variables set for the command may change what it runs")

    def _value(self, key: str, value: Any) -> Iterator[Aspect]:
        if key in COMMAND_KEYS:
            yield from self._command(value)
        elif key in PATCH_KEYS and isinstance(value, str):
            for path in _patched(value):
                yield self._touched(path, FileWrite)
        else:
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and key in URL_KEYS:
                    yield self._host(text)
                elif isinstance(text, str) and _names_a_path(key, text):
                    yield self._host(text) if "://" in text else self._path(text)

    def _command(self, value: Any) -> Iterator[Aspect]:
        words = tuple(value) if isinstance(value, list) and all(isinstance(word, str) for word in value) else None
        if words:
            self.argv = words
            yield from shell.read_argv(words, cwd=self._cwd, home=self._home).aspects
        elif isinstance(value, str):
            self.argv = ("bash", "-c", value)
            read = _read_again if len(value) <= _SHORT else shell.read_script
            yield from read(value, cwd=self._cwd, home=self._home).aspects
        else:
            yield Opaque(str(value)[:200], "a command that is neither text nor a list of words")

    def _path(self, text: str) -> Aspect:
        if self._kind is Kind.DELETE:
            return self._touched(text, FileDelete)
        # a reader that says it writes is believed; an unknown tool reads only if it says so
        reads = self._action in {Kind.READ: _NOT_WRITING, None: {Action.READ}}.get(self._kind, ())
        return self._touched(text, FileRead if reads else FileWrite)

    def _touched(self, text: str, use: type[FileRead | FileWrite | FileDelete]) -> Aspect:
        """Absolute and with links resolved, so that a link into another place is judged as that place."""
        if text == "~" or text.startswith("~/"):
            text = self._home + text[1:]
        try:
            return use(real(os.path.join(self._cwd, text)))
        except (OSError, ValueError):
            return Opaque(text[:200], "a path that no system call takes")

    def _host(self, text: str) -> Aspect:
        try:
            parts = urlsplit(text if "://" in text else f"//{text}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host:
            return Opaque(text[:200], "an address without a host")
        return Host(host, port, parts.scheme or None)


def _only_a_script(args: Any) -> str | None:
    """The script, where the arguments hold nothing else and it is worth remembering."""
    script = args.get("command") if type(args) is dict and len(args) == 1 else None
    return script if type(script) is str and len(script) <= _SHORT else None


@functools.lru_cache(maxsize=256)
def _script_intent(tool: str, action: Action, script: str, cwd: str, home: str) -> Intent:
    aspects = tuple(dict.fromkeys(shell.read_script(script, cwd=cwd, home=home).aspects))
    return Intent(tool, action, aspects, argv=("bash", "-c", script))


@functools.lru_cache(maxsize=256)
def _read_again(script: str, *, cwd: str, home: str) -> "shell.Reading":
    return shell.read_script(script, cwd=cwd, home=home)


def _names_a_path(key: str, text: str) -> bool:
    """By the argument's name, or because it can hardly be anything else."""
    key = key.replace("_", "").replace("-", "")
    if key in TEXT_KEYS or key in _DIRECTORIES:
        return False
    if key in PATH_KEYS or key.endswith(_PATH_ENDINGS):
        return True
    return len(text) <= _LONGEST_PATH and "\n" not in text and text.startswith(("/", "~/", "../"))


def _patched(patch: str) -> Iterator[str]:
    for line in patch.splitlines():
        mark = next((mark for mark in _PATCH_MARKS if line.startswith(mark)), None)
        path = "" if mark is None else line[len(mark) :].split("\t")[0].strip()
        if path and path != "/dev/null":
            yield path


def session_key(request: ToolRequest, cwd: str, intent: Intent) -> dict[str, object]:
    """What a yes for the session covers: the same call here, as long as its paths lead to the same places."""
    places = [aspect.path for aspect in intent.aspects if isinstance(aspect, FileRead | FileWrite | FileDelete)]
    key = {"tool": request.tool, "action": request.action, "args": request.args, "cwd": cwd}
    return {**key, "places": places} if places and intent.argv is None else key
