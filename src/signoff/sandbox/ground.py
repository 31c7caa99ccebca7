"""What the zygotes of a session stand on: the chosen backend, the placeholders, the pins, the plan. Made anew when the
host replaced something that was pinned."""

import contextlib
import os
import stat
from collections.abc import Callable, Mapping

from signoff.config import locations
from signoff.domain.errors import NotEnforceable
from signoff.domain.settings import Network
from signoff.sandbox import identity, placeholders, plan, protected, repository
from signoff.sandbox.cgroups import Group, facts
from signoff.sandbox.denial import Reach
from signoff.sandbox.environment import Setting, command_environment
from signoff.sandbox.inside import serve
from signoff.sandbox.launch import Planned, Unmappable, Zygote
from signoff.sandbox.layout import check_workspace
from signoff.sandbox.outcome import STRENGTH, Backend, Strength
from signoff.sandbox.profile import Profile

Start = Callable[[Planned], Zygote]
_PRIVATE_FILES_TOO = (
    2  # /tmp and /dev/shm are memory and stay for the session; processes alone are watched more closely
)
_OWN_PROCESSES = 3  # the wrapper, the guard and the zygote


class Ground:
    """`start` makes a zygote from a plan; `only` restricts the choice of backends."""

    def __init__(
        self,
        profile: Profile,
        environ: Mapping[str, str],
        start: Start,
        *,
        given: Mapping[str, str],
        require: Strength,
        only: Backend | None = None,
        layers: frozenset[plan.Layer] = plan.ALL_LAYERS,
    ) -> None:
        self.profile = profile
        self.environ = environ
        self._given = given
        self._start = start
        self._candidates = candidates(profile, require, only)
        self._layers = layers
        self._held: list[placeholders.Held] = []
        self.identity = identity.choose(profile.workspace)
        self._plan: Planned | None = None
        self._pins: protected.Pins | None = None
        self._absent: list[str] = []
        self._submodules: set[str] = set()
        self._bare: list[str] = []  # roots in which no repository may come to be
        self._hidden: list[str] = []
        self.reach = Reach((), (), None, profile.network)
        if profile.confined:
            check_workspace(profile)

    @property
    def backend(self) -> Backend:
        return self._candidates[0]

    def zygote(self) -> Zygote:
        """The strongest that works here. Once one worked, no weaker one is ever tried."""
        reasons: list[str] = []
        while True:
            try:
                planned = self._plan or self._prepare()
                started = self._start(planned)
            except Unmappable:
                self.identity = identity.choose(self.profile.workspace, mappable=False)
                self._plan = None
                continue
            except protected.Unprotectable:
                raise
            except NotEnforceable as error:
                reasons.append(f"{self.backend}: {error.message}")
                if len(self._candidates) == 1:
                    raise NotEnforceable(
                        "; ".join(reasons), hint="`signoff doctor` shows what this system allows."
                    ) from error
                self._candidates = self._candidates[1:]
                self._plan = None
                continue
            self._candidates = self._candidates[:1]
            started.alone = self.backend in (Backend.NAMESPACES, Backend.BUBBLEWRAP)
            if self.backend is Backend.NAMESPACES and self.identity.outer[0] != os.geteuid():
                started.owner = self.identity.outer
            self._count_together(started)
            return started

    def _count_together(self, started: Zygote) -> None:
        """Put an idle zygote into a control group of its own. Where that cannot be, the limits of each process and the
        watch over the tree remain, and `doctor` says what they do not see."""
        if plan.Layer.LIMITS not in self._layers:
            return
        limits = self.profile.limits
        group = Group(
            facts().places,
            memory_bytes=limits.max_memory_bytes * _PRIVATE_FILES_TOO,
            processes=limits.max_processes + _OWN_PROCESSES,
        )
        with contextlib.suppress(NotEnforceable):
            started.group = group.__enter__()
            for process in (started.process, *serve.descendants(started.process)):
                group.take_in(process)

    def intact(self) -> bool:
        return self._pins is None or self._pins.intact()

    def renew(self) -> None:
        """The next zygote is planned from what is on the host now."""
        self._plan = None

    def undo_forbidden(self) -> str | None:
        """Put out of the way what could not be kept from being made; gives its path."""
        planted = [f"{root}/HEAD" for root in self._bare if repository.is_bare(root)]
        if self.profile.git_write:
            new = sorted(plan.submodules(self.profile) - self._submodules)
            wrong = [*self._absent, *(os.path.join(place, ".git") for place in new)]
            planted += [path for path in wrong if os.path.lexists(path)]
        for path in planted:
            os.rename(path, f"{path}.refused")
        return planted[0] if planted else None

    def _close_pins(self) -> None:
        if self._pins is not None:
            self._pins.close()
            self._pins = None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.undo_forbidden()  # of a command whose end was not waited for
        self._close_pins()
        for held in self._held:
            held.release()
        self._held = []

    def _prepare(self) -> Planned:
        profile = self.profile
        # What was hidden once stays hidden, even if a command moved it to where the search does not look.
        hidden = self._pins.whereabouts(self._hidden) if self._pins is not None else []
        found = plan.survey(profile, self.identity, self.environ, hidden)
        self._hidden = found.environment_files
        pinned: list[protected.Pin] = []
        if self.backend in (Backend.NAMESPACES, Backend.BUBBLEWRAP) and plan.Layer.PROTECTED in self._layers:
            self._hold_places(plan.protected_names(profile, found.home))
            pinned = plan.find_pins(profile, found)
        roots = tuple(dict.fromkeys((profile.workspace, *profile.writable))) if profile.confined else ()
        masked = [protected.pin(path, closed=False) for path in found.environment_files]
        self._close_pins()
        self._pins = protected.Pins(roots, [*pinned, *masked])
        self._absent = plan.must_stay_absent(profile)
        self._submodules = plan.submodules(profile)
        self._bare = plan.without_repository(profile)
        self.reach = plan.reach(profile, found, pinned)
        self._plan = plan.write_plan(
            profile,
            self.identity,
            found,
            pinned,
            self._environment(),
            backend=self.backend,
            layers=self._layers,
        )
        return self._plan

    def _hold_places(self, paths: list[str]) -> None:
        folder = journals(self.environ)
        if not self._held:
            placeholders.sweep(folder)
            self._held = [placeholders.hold(folder, root) for root in self.profile.writable_roots]
        for held, root in zip(self._held, self.profile.writable_roots, strict=True):
            held.add([path for path in paths if path.startswith(f"{root}/")])

    def _environment(self) -> dict[str, str]:
        profile = self.profile
        limited = profile.network is Network.LIMITED
        setting = Setting(
            backend=self.backend.value if profile.confined else None,
            network=profile.network,
            temporary=None if profile.exclude_slash_tmp or profile.exclude_tmpdir else "/tmp",  # noqa: S108
            proxy=f"http://127.0.0.1:{plan.PROXY_PORT}" if limited else None,
        )
        return {**command_environment(self.environ, setting), **self._given}


def candidates(profile: Profile, require: Strength, only: Backend | None) -> list[Backend]:
    """Backends to try, strongest first. Nothing weaker than required; no sandbox at all only when that was said."""
    if not profile.confined:
        if require > Strength.NONE:
            raise NotEnforceable(f"{profile.mode} runs commands without our sandbox", hint="Choose another --mode.")
        return [Backend.NONE]
    wanted = [backend for backend in Backend if STRENGTH[backend] >= require and only in (None, backend)]
    if os.geteuid() == 0:
        # Root needs no bubblewrap, in which its number of processes has no limit, and is not held by Landlock alone.
        wanted = [backend for backend in wanted if backend not in (Backend.BUBBLEWRAP, Backend.LANDLOCK)]
    if profile.network is Network.LIMITED:
        wanted = [backend for backend in wanted if backend is not Backend.LANDLOCK]  # it cannot tell addresses apart
    if not wanted:
        raise NotEnforceable("no sandbox of the required strength is possible here")
    return wanted


def journals(environ: Mapping[str, str]) -> str:
    """Where placeholders are written down: with our state, or in a private directory where there is no home."""
    try:
        folder = str(locations.state(environ) / "sandbox") if environ.get("HOME", "").startswith("/") else ""
        if folder:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            return folder
    except OSError:
        pass
    folder = f"/tmp/signoff-{os.geteuid()}"  # noqa: S108
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise NotEnforceable(
                f"{folder} is not a private directory of ours", hint="Remove it, or set HOME."
            ) from None
    return folder
