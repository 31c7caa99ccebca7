"""Which tools there are. Modules are named as strings: a tool costs nothing until it is called."""

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from signoff.domain.errors import ToolUnknown
from signoff.domain.late import late
from signoff.tools.tool import Tool
from signoff.tools.versions import check

if TYPE_CHECKING:
    import difflib
else:
    difflib = late("difflib")

TOOLS: Mapping[str, str] = {
    "apply_patch": "signoff.tools.apply_patch:ApplyPatch",
    "ask_user": "signoff.tools.ask_user:AskUser",
    "codebase_search": "signoff.tools.codebase_search:CodebaseSearch",
    "delete_file": "signoff.tools.delete_file:DeleteFile",
    "display": "signoff.tools.display:DisplayTool",
    "edit_file": "signoff.tools.edit_file:EditFile",
    "glob_file_search": "signoff.tools.glob_file_search:GlobFileSearch",
    "grep": "signoff.tools.grep:Grep",
    "list_dir": "signoff.tools.list_dir:ListDirectory",
    "move_file": "signoff.tools.move_file:MoveFile",
    "nothing": "signoff.tools.nothing:Nothing",
    "read_file": "signoff.tools.read_file:ReadFile",
    "read_lints": "signoff.tools.read_lints:ReadLints",
    "run_terminal_cmd": "signoff.tools.run_terminal_cmd:RunTerminalCommand",
    "update_memory": "signoff.tools.update_memory:UpdateMemory",
    "update_plan": "signoff.tools.update_plan:UpdatePlan",
    "web_fetch": "signoff.tools.web_fetch:WebFetch",
    "write_file": "signoff.tools.write_file:WriteFile",
}
_FOR_MEASURING = {"nothing"}


class Registry:
    """Finds a tool by name and version, and loads it the first time."""

    def __init__(self, targets: Mapping[str, str] = TOOLS) -> None:
        self._targets = dict(targets)
        self._loaded: dict[str, Tool[Any]] = {}
        self._makers: dict[str, Callable[[], Tool[Any]]] = {}
        self.revision = 0  # another one means that other tools may be there

    def add(self, tool: Tool[Any]) -> None:
        """A tool that is made at run time."""
        self._loaded[tool.name] = tool
        self.revision += 1

    def remove(self, name: str) -> None:
        """Forget a tool that was added."""
        self._loaded.pop(name, None)
        self.revision += 1

    def later(self, name: str, make: Callable[[], Tool[Any]]) -> None:
        """A tool that is made when it is first called."""
        self._makers[name] = make

    def names(self) -> list[str]:
        """Those an agent can use."""
        return sorted({*self._targets, *self._loaded} - _FOR_MEASURING)

    def loaded(self, name: str) -> Tool[Any] | None:
        """The tool, if it is there without loading it."""
        return self._loaded.get(name)

    def find(self, name: str, version: str = "") -> Tool[Any]:
        """The tool, if it understands calls of that version. An empty version means whatever there is."""
        tool = self._loaded.get(name) or self._load(name)
        check(name, tool.version, version)
        return tool

    def _load(self, name: str) -> Tool[Any]:
        if name in self._makers:
            return self._loaded.setdefault(name, self._makers[name]())
        target = self._targets.get(name)
        if target is None:
            near = difflib.get_close_matches(name, {*self._targets, *self._loaded}, n=1)
            raise ToolUnknown(f"there is no tool {name!r}", hint=f"Did you mean {near[0]}?" if near else None)
        module, _, attribute = target.partition(":")
        tool: Tool[Any] = getattr(importlib.import_module(module), attribute)()
        self._loaded[name] = tool
        return tool
