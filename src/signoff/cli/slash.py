"""What can be typed in a chat besides prompts."""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from rich.markdown import Markdown
from rich.text import Text

from signoff.agent.modes import ASK, MODES, PLAN, mode_of
from signoff.cli import wiring
from signoff.cli.sessions import SHORT
from signoff.cli.talk import printable
from signoff.cli.wiring_agent import open_sessions
from signoff.cli.wiring_memory import open_memory
from signoff.domain.errors import SignoffError
from signoff.domain.visible import visible
from signoff.memory.interface import Query

if TYPE_CHECKING:
    from signoff.cli.repl import Conversing

COMMANDS: Mapping[str, str] = {
    "help": "this list",
    "model": "who answers; /model PROVIDER/MODEL asks somebody else",
    "permissions": "what the agent may do; /permissions ask, plan or auto changes it",
    "plan": "plan mode on and off: nothing is changed",
    "diff": "what is changed in the working tree",
    "undo": "put back what the last call changed",
    "cost": "what this session took",
    "memory": "what is remembered; /memory WORDS looks for something",
    "sessions": "the sessions of this directory",
    "compact": "make room in the context now",
    "clear": "forget the conversation, keep the session",
    "quit": "leave; Ctrl-D does the same",
}


class Slash:
    def __init__(self, chat: "Conversing") -> None:
        self._chat = chat
        self._does: dict[str, Callable[[str], Awaitable[None]]] = {
            "help": self._help,
            "model": self._model,
            "permissions": self._permissions,
            "plan": self._plan,
            "diff": self._diff,
            "undo": self._undo,
            "cost": self._cost,
            "memory": self._memory,
            "sessions": self._sessions,
            "compact": self._compact,
            "clear": self._clear,
            "quit": self._quit,
        }

    async def do(self, line: str) -> None:
        name, _, rest = line[1:].strip().partition(" ")
        does = self._does.get(name)
        if does is None:
            self._say(f"there is no /{name}; /help lists what there is")
            return
        try:
            await does(rest.strip())
        except SignoffError as error:
            self._say(error.message)

    def _say(self, text: str) -> None:
        self._chat.console.print(Text("\n".join(f"  {printable(line)}" for line in text.splitlines())))

    async def _help(self, rest: str) -> None:
        rows = [f"- `/{name}` {says}" for name, says in COMMANDS.items()]
        keys = "Enter sends; Alt-Enter, or a backslash at the end, begins another line. Ctrl-C stops the agent."
        self._chat.console.print(Markdown("\n".join([*rows, "", keys, "", "`@path` brings a file along."])))

    async def _model(self, rest: str) -> None:
        if rest:
            await self._chat.wired.provider.aclose()
            await self._chat.reopen(self._chat.mode, rest)
        self._say(f"model {self._chat.model}")

    async def _permissions(self, rest: str) -> None:
        if rest:
            await self._chat.reopen(mode_of(rest), self._chat.model)
        settings = self._chat.settings
        rows = [f"{'→' if mode is self._chat.mode else ' '} {mode.id:5} {mode.description}" for mode in MODES]
        held = f"approval {settings.approval}, sandbox {settings.sandbox.mode}, network {settings.sandbox.network}"
        self._say("\n".join([*rows, held, 'what was approved for longer: "signoff grants list"']))

    async def _plan(self, rest: str) -> None:
        await self._chat.reopen(ASK if self._chat.mode is PLAN else PLAN, self._chat.model)
        self._say(f"mode {self._chat.mode.id}: {self._chat.mode.description}")
        for entry in self._chat.wired.conversation.plan:
            self._say(f"[{entry.status}] {entry.content}")

    async def _diff(self, rest: str) -> None:
        changed = await self._chat.told("run_terminal_cmd", {"command": "git --no-pager diff"})
        added = await self._chat.told("run_terminal_cmd", {"command": "git ls-files --others --exclude-standard"})
        self._say(
            "\n".join([*changed.splitlines(), *(f"new: {name}" for name in added.splitlines())]) or "nothing is changed"
        )

    async def _undo(self, rest: str) -> None:
        self._say(await self._chat.told("undo", {"call_id": rest} if rest else {}) or "done")

    async def _cost(self, rest: str) -> None:
        spent = self._chat.wired.agent.budget.spent
        cost = "unknown" if spent.cost_usd is None else f"{spent.cost_usd:.4f} US dollars"
        self._say(
            f"{spent.requests} answers, {spent.input_tokens} tokens in ({spent.cached_tokens} cached),"
            f" {spent.output_tokens} out; cost {cost}"
        )

    async def _memory(self, rest: str) -> None:
        loaded = self._chat.loaded
        settings = loaded.settings.memory
        if not settings.enabled:
            self._say("memory is switched off")
            return
        query = Query(wiring.project_name(loaded), rest or self._chat.last_prompt, settings.limit, settings.min_score)
        found = open_memory(settings).search(query).value
        self._say("\n".join(f"{match.qa_id}  {visible(match.question)}" for match in found) or "nothing fits")

    async def _sessions(self, rest: str) -> None:
        page = open_sessions().list(os.getcwd(), limit=10)
        room = self._chat.console.width - SHORT - 6
        mine = self._chat.session.log.id
        rows = [f"{'→' if one.id == mine else ' '} {one.id[:SHORT]}  {one.title[:room]}" for one in page.sessions]
        self._say("\n".join([*rows, 'go on with one: "signoff chat -r ID"']))

    async def _compact(self, rest: str) -> None:
        await self._chat.wired.agent.model.compact(self._chat.wired.conversation)
        self._say(f"{len(self._chat.wired.conversation.messages)} messages are left")

    async def _clear(self, rest: str) -> None:
        self._chat.wired.conversation.clear()
        self._say("the conversation begins anew")

    async def _quit(self, rest: str) -> None:
        self._chat.leave()
