"""The conversation at a terminal: prompts with history, slash commands, turns that Ctrl-C stops."""

import asyncio
import contextlib
import os
import signal
from typing import Any

import msgspec
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from rich.console import Console
from rich.theme import Theme

from signoff.agent.conversation import last_text
from signoff.agent.loop import nobody
from signoff.agent.modes import Mode
from signoff.agent.session_log import Configured
from signoff.approvals.silence import Silence
from signoff.cli.agent_end import words
from signoff.cli.agent_options import Chosen
from signoff.cli.agent_session import Begun, configured
from signoff.cli.output import Output
from signoff.cli.quiet import Quietly
from signoff.cli.slash import COMMANDS, Slash
from signoff.cli.typed import Typist
from signoff.cli.view import View
from signoff.cli.wiring_agent import Wants, Wired, opened_agent
from signoff.cli.wiring_door import controlling_terminal, reviewer_of
from signoff.config import locations
from signoff.domain.errors import Exit, SignoffError
from signoff.domain.settings import Settings
from signoff.domain.visible import visible
from signoff.providers.provider import Text
from signoff.tools.ask_user import nobody as nobody_answers

PLAIN_CODE = Theme({"markdown.code": "bold"})  # without a ground of its own, which is black on a light screen too


def talk(output: Output, chosen: Chosen, session: Begun, first: str) -> int:
    return asyncio.run(Conversing(output, chosen, session).run(first))


class Conversing:
    def __init__(self, output: Output, chosen: Chosen, session: Begun) -> None:
        self.output = output
        self.console = Console(no_color=not output.colourful(), highlight=False, theme=PLAIN_CODE)
        self.session = session
        self.mode = session.mode
        self.model = session.model
        self._chosen = chosen
        self._silence = Silence()
        self._view = View(self.console, output.paint, self._silence, window=chosen.live)
        self._stack = contextlib.AsyncExitStack()
        self._wired: Wired | None = None
        self._prompt = _prompting()
        self._leaving = False
        self.last_prompt = ""
        self.loaded = session.loaded

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def wired(self) -> Wired:
        assert self._wired is not None
        return self._wired

    async def run(self, first: str) -> int:
        async with self._stack:
            await self.reopen(self.mode, self.model)
            self.console.print(
                f"[bold]signoff[/bold]  {visible(self.model)}  mode {self.mode.id}  /help", highlight=False
            )
            slash = Slash(self)
            text = first
            while not self._leaving:
                text = text or await self._asked()
                if text.startswith("/"):
                    await slash.do(text)
                elif text.strip():
                    await self._turn(text)
                text = ""
            await self.wired.provider.aclose()
            self.wired.learn(Exit.OK, last_text(self.wired.conversation))
            self.wired.run.status = Exit.OK
        return Exit.OK

    def leave(self) -> None:
        self._leaving = True

    async def reopen(self, mode: Mode, model: str) -> None:
        """Another mode or model: the stretch so far ends, and another begins."""
        before = self._wired
        if before is not None:
            before.run.status = Exit.OK
            await self._stack.aclose()
            for option, value in (("mode", mode.id), ("model", model)):
                self.session.log.append(Configured(option, value))
        self.mode, self.model = mode, model
        chosen, output = self._chosen, self.output
        loaded = self.loaded = configured(output, msgspec.structs.replace(chosen, model=model), mode, model)
        policy, terminal, quiet = loaded.settings.policy, controlling_terminal(), self._view.paused
        typist = None if terminal is None else Typist(terminal, policy.decision_timeout_ms / 1_000, quiet)
        self._wired = self._stack.enter_context(
            opened_agent(
                output,
                loaded,
                self.session.log,
                Wants(model, mode, chosen.limits, text_calls=chosen.tool_calls == "text"),
                command=("signoff", "chat"),
                show=self._view,
                reviewer=Quietly(reviewer_of(output, policy, self._silence), quiet),
                asker=typist.ask if typist else nobody_answers,
                ask=typist.go_on if typist else nobody,
            )
        )
        if before is not None:
            self._wired.agent.budget.carry_on(before.agent.budget)
        await self._stack.enter_async_context(self._wired.run.tool_servers())

    async def _turn(self, text: str) -> None:
        """Ctrl-C stops it; a second one, while it is stopping, leaves."""
        self.last_prompt = text
        work = asyncio.ensure_future(self.wired.turn((Text(text),)))
        pressed = 0

        def interrupt() -> None:
            nonlocal pressed
            pressed += 1
            work.cancel()
            if pressed > 1:
                self.leave()

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            with self._view:
                end = await work
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        for line in words(msgspec.structs.replace(end, denials=())):  # each denial has been told where it happened
            self.console.print(f"  {visible(line)}", style="yellow", markup=False)

    async def _asked(self) -> str:
        """The next prompt. Ctrl-C empties the line; on an empty line twice, or Ctrl-D, it leaves."""
        warned = False
        while True:
            try:
                return str(await self._prompt.prompt_async("› ", handle_sigint=False))
            except EOFError:
                return "/quit"
            except KeyboardInterrupt:
                if warned:
                    return "/quit"
                warned = not self._prompt.default_buffer.text
                self.console.print("  Ctrl-C again leaves", style="dim")

    async def told(self, name: str, args: dict[str, Any]) -> str:
        """A call of the person's own, through the gate like any other."""
        result = await self.wired.run.gate.call(self.wired.run.call(name, args), source="person")
        if result.error is not None:
            return result.error.message
        return result.display or ""


def _prompting() -> "PromptSession[str]":
    keys = KeyBindings()

    keys.add("enter")(_send)
    keys.add("escape", "enter")(_break)
    return PromptSession(
        history=_history(),
        key_bindings=keys,
        multiline=True,
        completer=WordCompleter([f"/{name}" for name in COMMANDS], sentence=True),
        complete_while_typing=False,
    )


def _send(event: KeyPressEvent) -> None:
    """The prompt is done, unless it ends with a backslash."""
    buffer = event.current_buffer
    if buffer.text.endswith("\\"):
        buffer.delete_before_cursor()
        buffer.insert_text("\n")
    else:
        buffer.validate_and_handle()


def _break(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")


def _history() -> FileHistory:
    path = locations.state(os.environ) / "history"
    with contextlib.suppress(OSError, SignoffError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    return FileHistory(str(path))
