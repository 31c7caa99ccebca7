"""Which session a command works in, with which settings: a new one, the last one of this directory, a named one, a fork."""

import contextlib
import os
from collections.abc import Iterator, Mapping

import msgspec

from signoff.agent.modes import ASK, Mode, mode_of, settings_of
from signoff.agent.session_log import Configured, Said, SessionLog
from signoff.agent.sessions import Sessions, summarise
from signoff.cli import wiring
from signoff.cli.agent_options import Chosen
from signoff.cli.no_model import how_to_begin
from signoff.cli.output import Output
from signoff.cli.wiring_agent import open_sessions
from signoff.cli.wiring_model import model_name
from signoff.config.layers import Configuration
from signoff.domain.errors import NoModel, NotFound, UsageError


class Begun(msgspec.Struct, frozen=True):
    """A session that is open, and the settings of its mode."""

    log: SessionLog
    loaded: Configuration
    mode: Mode
    model: str
    resumed: bool


@contextlib.contextmanager
def begun(output: Output, chosen: Chosen) -> Iterator[Begun]:
    sessions = open_sessions()
    with contextlib.closing(sessions), contextlib.ExitStack() as stack:
        old = _wanted(sessions, chosen)
        log = None if old is None else stack.enter_context(_reopened(sessions, old, chosen))
        before = None if log is None else summarise(log.events())
        mode = chosen.chosen_mode or (ASK if before is None else mode_of(before.mode))
        known = None if before is None else before.model
        loaded = configured(output, chosen, mode, known)
        model = chosen_model(output, chosen.model or known, loaded)
        if log is None or before is None:
            log = stack.enter_context(sessions.create(os.getcwd(), model, mode.id))
            stack.callback(_forget_empty, sessions, log)
        else:
            _note_changes(log, {"model": (known, model), "mode": (before.mode, mode.id)})
        yield Begun(log, loaded, mode, model, resumed=old is not None)


def _forget_empty(sessions: Sessions, log: SessionLog) -> None:
    """A session in which nobody said anything, because the model could not even be asked, is none to go on with."""
    if not any(isinstance(entry.what, Said) for entry in log.events()):
        sessions.delete(log.id)


def configured(output: Output, chosen: Chosen, mode: Mode, model: str | None) -> Configuration:
    """The settings, with what the flags say and then what the mode says on top."""
    kept = settings_of(mode, {"model": model} if model else {})
    flags: dict[str, str | None] = {**kept, **chosen.flags, **mode.settings}
    loaded = wiring.configuration(output, flags)
    if not chosen.add_dir:
        return loaded
    roots = [*loaded.settings.sandbox.writable_roots, *map(os.path.abspath, chosen.add_dir)]
    flags["sandbox.writable_roots"] = msgspec.json.encode(roots).decode()
    return wiring.configuration(msgspec.structs.replace(output, quiet=True), flags)


def chosen_model(output: Output, wanted: str | None, loaded: Configuration) -> str:
    try:
        return str(model_name(wanted, loaded))
    except NoModel as error:
        output.say(how_to_begin())
        raise NoModel(error.message, hint=error.hint) from error


def _wanted(sessions: Sessions, chosen: Chosen) -> str | None:
    """The id of the session to go on with; None: a new one."""
    if chosen.resume:
        return sessions.find(chosen.resume)
    if chosen.resume is None and not chosen.continue_:
        if chosen.fork:
            raise UsageError("--fork needs a session to begin from", hint="Use -c, or -r ID.")
        return None
    page = sessions.list(os.getcwd(), limit=1)
    if not page.sessions:
        raise NotFound("there is no session in this directory yet", hint='See "signoff sessions list".')
    return page.sessions[0].id


def _reopened(sessions: Sessions, session_id: str, chosen: Chosen) -> SessionLog:
    return sessions.fork(session_id, os.getcwd()) if chosen.fork else sessions.open(session_id)


def _note_changes(log: SessionLog, changes: Mapping[str, tuple[str | None, str]]) -> None:
    for option, (before, after) in changes.items():
        if before != after:
            log.append(Configured(option, after))
