"""The tools as the model and the person see them: what is offered, and what a call of one looks like before it runs."""

from typing import Any, Protocol

import msgspec

from signoff.agent.event import Kind, Location, Look
from signoff.approvals.request import PatchSubject
from signoff.domain.call import ToolCall
from signoff.domain.errors import SignoffError
from signoff.domain.intent import Action, FileDelete, FileRead, FileWrite, Permission
from signoff.providers.provider import ToolSpec
from signoff.tools.describe import Offered, offered, shipped
from signoff.tools.registry import Registry
from signoff.tools.tool import Place, Tool, decode

LONGEST_TITLE = 120
# In a read-only session commands may run, because the sandbox keeps them from writing.
_HARMLESS = frozenset({Permission.FS_READ.value, Permission.PROC_EXEC.value})
_KINDS = {
    "grep": Kind.SEARCH,
    "glob_file_search": Kind.SEARCH,
    "codebase_search": Kind.SEARCH,
    "update_plan": Kind.THINK,
    "display": Kind.THINK,
    "delete_file": Kind.DELETE,
    "move_file": Kind.MOVE,
}
_ALONE = frozenset({"ask_user", "display", "update_plan"})  # their order among the other calls means something
_TELLING = ("command", "path", "pattern", "query", "question", "title", "content")


class Tools(Protocol):
    """What the loop needs to know about tools."""

    def specs(self) -> tuple[ToolSpec, ...]: ...

    def look(self, call: ToolCall) -> Look: ...


class Toolbox:
    """`read_only` leaves out every tool that can change something; `hidden` those that make no sense here."""

    def __init__(
        self, registry: Registry, place: Place, *, read_only: bool = False, hidden: frozenset[str] = frozenset()
    ) -> None:
        self._registry = registry
        self._place = place
        self._read_only = read_only
        self._hidden = hidden
        self._known: dict[str, Offered] = {}
        self._revision = -1
        self._specs: tuple[ToolSpec, ...] = ()
        self._shipped = shipped()

    def specs(self) -> tuple[ToolSpec, ...]:
        """As they are now: the tools of other servers may come and go."""
        if self._registry.revision != self._revision:
            self._revision = self._registry.revision
            names = [name for name in self._registry.names() if name not in self._hidden]
            self._specs = tuple(
                ToolSpec(name, one.description, one.parameters)
                for name, one in {name: self._offered(name) for name in names}.items()
                if not self._read_only or set(one.permissions) <= _HARMLESS
            )
        return self._specs

    def _offered(self, name: str) -> Offered:
        tool = self._registry.loaded(name)
        if tool is None and name in self._shipped:
            return self._shipped[name]
        tool = tool or self._registry.find(name)
        known = self._known.get(name)
        if known is None or known.description != tool.description:
            known = self._known[name] = offered(tool)
        return known

    def look(self, call: ToolCall) -> Look:
        """What a call is about. One that cannot be read is shown as it came; the gate will say what is wrong with it."""
        title = _title(call)
        try:
            tool = self._registry.find(call.name, call.version)
            arguments = decode(tool, call)
            intent = tool.intent(arguments, self._place)
            subject = tool.subject(arguments, self._place)
        except (SignoffError, OSError, ValueError):
            return Look(title=title)
        touched = [one for one in intent.aspects if isinstance(one, FileRead | FileWrite | FileDelete)]
        line = getattr(arguments, "offset", None) if call.name == "read_file" else None
        locations = tuple(Location(path, line) for path in dict.fromkeys(one.path for one in touched))
        return Look(
            kind=_kind(tool, intent.action, touched),
            title=title,
            locations=locations,
            changes=subject.changes if isinstance(subject, PatchSubject) else {},
            read_only=intent.action is Action.READ
            and all(isinstance(one, FileRead) for one in intent.aspects)
            and call.name not in _ALONE,
        )


def _kind(tool: Tool[Any], action: Action, touched: "list[FileRead | FileWrite | FileDelete]") -> Kind:
    if tool.name in _KINDS:
        return _KINDS[tool.name]
    if Permission.PROC_EXEC in tool.permissions or action is Action.EXEC:
        return Kind.EXECUTE
    if any(isinstance(one, FileWrite) for one in touched):
        return Kind.EDIT
    if any(isinstance(one, FileDelete) for one in touched):
        return Kind.DELETE
    return {Action.READ: Kind.READ, Action.NET: Kind.FETCH, Action.WRITE: Kind.EDIT}.get(action, Kind.OTHER)


def _title(call: ToolCall) -> str:
    """One line: the tool, and the argument that says most."""
    for key in _TELLING:
        value = call.args.get(key)
        if isinstance(value, str) and value.strip():
            line = value.strip().splitlines()[0]
            shown = line if key == "command" else f"{call.name} {line}"
            return shown if len(shown) <= LONGEST_TITLE else shown[: LONGEST_TITLE - 1] + "…"
    return call.name


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments as the model wrote them. Raises msgspec.DecodeError where they are no JSON object."""
    return msgspec.json.decode(text.encode() or b"{}", type=dict[str, Any])
