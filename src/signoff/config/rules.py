"""The rules in force for a project: found in their layers, read again when a file changes, extended by what is approved.

    system /etc/signoff   user   what the user granted (everywhere, in this project, for a while)   project .signoff

All layers speak together and the strictest wins. The project's own rules count only in a trusted project and only where
they restrict. A file that cannot be read leaves the last good rules in force; without any, nothing is judged.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from signoff.config import amendments, locations, trust
from signoff.config.document import read_bytes, read_own
from signoff.domain.errors import ConfigError, ConfigUnreadable, RulesInvalid, UsageError
from signoff.domain.review import ApprovedExecpolicyAmendment, Scope
from signoff.domain.settings import DefaultAction
from signoff.domain.verdict import Decision, Layer, Source
from signoff.policy.execpolicy.language import parse_rules, read_rules
from signoff.policy.execpolicy.rule import PrefixRule, RuleFile
from signoff.policy.grants import read_grants, rules_of
from signoff.policy.rules.approved import in_force
from signoff.policy.rules.written import PolicyFile, parse_policy, read_policy
from signoff.policy.ruleset import Rules, narrowing, narrowing_policy

POLICY, GRANTS = "policy.toml", "grants.toml"
SEEN_WITHIN_S = 0.01  # a change of a file is seen after this long at the latest


class Places(msgspec.Struct, frozen=True):
    """Where the rules of one project lie."""

    environ: dict[str, str]
    project: Path
    project_id: str
    system: Path = locations.SYSTEM_CONFIG

    @property
    def user_rules(self) -> Path:
        return locations.user_rules(self.environ)

    @property
    def project_rules(self) -> Path:
        return locations.project_rules(self.environ, self.project_id)

    @property
    def user_grants(self) -> Path:
        return locations.user_config(self.environ) / GRANTS

    @property
    def project_grants(self) -> Path:
        return self.project_rules.parent / GRANTS

    @property
    def user_policy(self) -> Path:
        return locations.user_config(self.environ) / POLICY

    @property
    def project_policy(self) -> Path:
        return locations.project_policy(self.environ, self.project_id)

    def folders(self) -> list[tuple[Path, Layer]]:
        return [
            (self.system / "rules", Layer.SYSTEM),
            (self.user_rules, Layer.USER),
            (self.project_rules, Layer.GRANT),
        ]

    def policies(self) -> list[tuple[Path, Layer]]:
        return [
            (self.system / POLICY, Layer.SYSTEM),
            (self.user_policy, Layer.USER),
            (self.project_policy, Layer.GRANT),
        ]


class RuleBook:
    """The rules of one project while a program runs."""

    def __init__(
        self,
        places: Places,
        *,
        warn: Callable[[str], None] = lambda said: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises RulesInvalid or ConfigUnreadable: there are no last good rules yet. `warn` hears of later trouble."""
        self._places = places
        self._warn = warn
        self._clock = clock
        self._look_at = 0.0
        self._watch = _Watch(places)
        self._seen = self._watch.signature()
        self._trusted: list[Found] = []
        self._rules = self._load()

    def current(self) -> Rules:
        """The rules as the files have them now; while one cannot be read, the last good ones."""
        now = self._clock()
        if now < self._look_at:
            return self._rules
        self._look_at = now + SEEN_WITHIN_S
        seen = self._watch.signature()
        if seen != self._seen:
            self._seen = seen
            try:
                self._rules = self._load()
            except ConfigError as error:
                self._warn(f"{error.message}; the last good rules stay in force")
        return self._rules

    def amend(self, amendment: ApprovedExecpolicyAmendment) -> None:
        """Write down what a person approved, then let it be in force at once."""
        prefix = amendment.proposed_execpolicy_amendment
        if amendment.scope not in (Scope.USER, Scope.PROJECT):
            raise UsageError(f"a yes for {amendment.scope} is not written down")
        everywhere = amendment.scope is Scope.USER
        now = time.time_ns() // 1_000_000
        expires = None if amendment.expires_in_ms is None else now + amendment.expires_in_ms
        if amendment.rule is not None:
            path = self._places.user_policy if everywhere else self._places.project_policy
            amendments.allow_tool(path, amendment.rule, expires)
            source = Source(Layer.USER if everywhere else Layer.GRANT, str(path))
            self._rules = self._rules.extended(written=(in_force(amendment.rule, source, expires),))
            return
        if expires is None:
            path = amendments.remember(self._places.user_rules if everywhere else self._places.project_rules, prefix)
        else:
            path = self._places.user_grants if everywhere else self._places.project_grants
            amendments.grant(path, prefix, expires, now_ms=now)
        source = Source(Layer.USER if everywhere else Layer.GRANT, str(path))
        pattern = tuple((word,) for word in prefix)
        # also when another file has become bad meanwhile, so that nothing could be read again
        self._rules = self._rules.extended((PrefixRule(pattern, Decision.ALLOW, source, expires_ms=expires),))

    def _load(self) -> Rules:
        found, warnings = find(self._places, self._trusted)
        self._trusted = [file for file in found if file.layer == Layer.PROJECT]
        for warning in warnings:
            self._warn(warning)
        self.sha256 = digest(found)
        return Rules.of(file.rules() for file in found)


class Found(msgspec.Struct, frozen=True):
    """A file with rules, as it was read."""

    path: Path
    layer: Layer
    text: str

    def rules(self) -> RuleFile | PolicyFile:
        """What it says and what of that counts."""
        file = str(self.path)
        if self.path.name == GRANTS:
            return RuleFile(rules_of(read_grants(self.text, file), file))
        if self.path.suffix == ".toml":
            policy = read_policy(self.text, file, self.layer)
            return narrowing_policy(policy) if self.layer == Layer.PROJECT else policy
        said = read_rules(self.text, file, self.layer)
        return narrowing(said) if self.layer == Layer.PROJECT else said

    @property
    def dropped(self) -> int:
        """How many of its rules do not count because a project may only restrict."""
        try:
            if self.path.suffix == ".toml":
                policy = parse_policy(self.text, str(self.path))
                allowing = sum(rule.decision == Decision.ALLOW for rule in policy.rules)
                return allowing + (policy.default_action == DefaultAction.ALLOW)
            said = parse_rules(self.text, str(self.path))
        except RulesInvalid:
            return 0  # `rules` says what is wrong
        prefixes = sum(rule.decision == Decision.ALLOW for rule in said.prefixes)
        networks = sum(rule.decision == Decision.ALLOW for rule in said.networks)
        return prefixes + networks + len(said.executables)


def digest(found: list[Found]) -> str:
    """One hash over every file that counts, for the record of a run."""
    whole = hashlib.sha256()
    for file in found:
        whole.update(f"{file.layer}\0{file.path}\0{len(file.text)}\0{file.text}".encode())
    return whole.hexdigest()


def find(places: Places, trusted: Sequence[Found] = ()) -> tuple[list[Found], tuple[str, ...]]:
    """Every file that counts, in the order of the layers. `trusted`: the project's own files as they last counted."""
    files = [(path, layer) for folder, layer in places.folders() for path in _rule_files(folder)]
    optional = [*places.policies(), (places.user_grants, Layer.GRANT), (places.project_grants, Layer.GRANT)]
    files += [(path, layer) for path, layer in optional if path.exists()]
    own, warnings = _project_files(places, trusted)
    return [*(Found(path, layer, _text(path, read_own)) for path, layer in files), *own], warnings


def named(paths: tuple[Path, ...]) -> list[Found]:
    """Only the files somebody named."""
    return [Found(path, Layer.FLAG, _text(path, read_bytes)) for path in paths]


def _project_files(places: Places, trusted: Sequence[Found]) -> tuple[list[Found], tuple[str, ...]]:
    """A change ends the trust, not what holds: an agent that touches a file must not get rid of what restricts it."""
    contents = trust.contents(places.project)
    names = [name for name in contents if name == trust.POLICY or name.startswith(f"{trust.RULES}/")]
    folder = places.project / locations.PROJECT_FOLDER
    if (names or trusted) and not trust.is_trusted(places.environ, places.project, contents):
        changed = trust.was_trusted(places.environ, places.project)
        if trusted and changed:
            return list(trusted), (
                f"{folder} was changed; the rules you trusted stay in force until the end of this run",
            )
        why = "has changed since you trusted it" if changed else "is not trusted"
        said = "so its rules do not count; read them, then run `signoff config trust`"
        return [], (f"{folder} {why}, {said}",)
    own = [Found(folder / name, Layer.PROJECT, _decoded(contents[name], folder / name)) for name in names]
    said = "a project can only restrict, so what it allows does not count"
    return own, tuple(f"{file.path}: {said}: {file.dropped}" for file in own if file.dropped)


def _rule_files(folder: Path) -> list[Path]:
    """Every `*.rules` in the folder, links included, sorted by name."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".rules")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigUnreadable(f"cannot read {folder}: {error.strerror}") from error


def _text(path: Path, read: Callable[[Path], bytes | None]) -> str:
    content = read(path)
    if content is None:
        raise ConfigUnreadable(f"failed to read policy at {path}: no such file")
    return _decoded(content, path)


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigUnreadable(f"{path}:{line}: not UTF-8 text", hint="Save the file as UTF-8.") from error


class _Watch:
    """Notices when any of the files changes. Looked at before every call, so the names are put together once."""

    def __init__(self, places: Places) -> None:
        project = places.project / locations.PROJECT_FOLDER
        folders = [*(folder for folder, _ in places.folders()), project / trust.RULES]
        files = [path for path, _ in places.policies()] + [places.user_grants, places.project_grants, project / POLICY]
        files.append(locations.trust_store(places.environ))
        self._folders = [str(folder) for folder in folders]
        self._files = [str(file) for file in files]

    def signature(self) -> tuple[tuple[str, int, int, int], ...]:
        """Different after every change."""
        return tuple(self._stamps())

    def _stamps(self) -> Iterator[tuple[str, int, int, int]]:
        files = list(self._files)
        for folder in self._folders:
            try:
                files += sorted(entry.path for entry in os.scandir(folder) if entry.name.endswith(".rules"))
            except OSError:
                continue
        for path in files:
            try:
                status = os.stat(path)
            except OSError:
                continue
            yield path, status.st_mtime_ns, status.st_size, status.st_ino
