"""Every rule in force, ready to be asked. Immutable; a session's own additions make a new set that shares the rest."""

from collections.abc import Iterable, Mapping

from signoff.domain.settings import DefaultAction
from signoff.domain.verdict import Decision
from signoff.policy.execpolicy.match import PrefixIndex
from signoff.policy.execpolicy.rule import NetworkRule, PrefixRule, RuleFile, Words
from signoff.policy.rules.written import PolicyFile, PolicyRule


class Rules:
    __slots__ = ("default_action", "executables", "index", "networks", "prefixes", "written")

    def __init__(
        self,
        prefixes: tuple[PrefixRule, ...] = (),
        networks: tuple[NetworkRule, ...] = (),
        executables: Mapping[str, Words] | None = None,
        written: tuple[PolicyRule, ...] = (),
        default_action: DefaultAction | None = None,
    ) -> None:
        self.prefixes = prefixes
        self.networks = networks
        self.executables = dict(executables or {})
        self.written = written
        self.default_action = default_action  # None: what the settings say
        self.index = PrefixIndex.of(prefixes, self.executables)

    @classmethod
    def of(cls, files: Iterable[RuleFile | PolicyFile]) -> "Rules":
        """All files together. Where two say where a program lives, only what both say counts; of two default actions
        the stricter one."""
        prefixes: list[PrefixRule] = []
        networks: list[NetworkRule] = []
        executables: dict[str, Words] = {}
        written: list[PolicyRule] = []
        default: DefaultAction | None = None
        for file in files:
            if isinstance(file, PolicyFile):
                written += file.rules
                default = _stricter(default, file.default_action)
                continue
            prefixes += file.prefixes
            networks += file.networks
            for name, paths in file.listed.items():
                known = executables.get(name)
                executables[name] = paths if known is None else tuple(path for path in known if path in paths)
        return cls(tuple(prefixes), tuple(networks), executables, tuple(written), default)

    def extended(self, prefixes: Iterable[PrefixRule] = (), written: Iterable[PolicyRule] = ()) -> "Rules":
        """These rules and some more, without reading or indexing the old ones again."""
        added = tuple(prefixes)
        rules = Rules.__new__(Rules)
        rules.prefixes = self.prefixes + added
        rules.networks, rules.executables = self.networks, self.executables
        rules.written, rules.default_action = self.written + tuple(written), self.default_action
        rules.index = self.index.extended(added) if added else self.index
        return rules


def narrowing(file: RuleFile) -> RuleFile:
    """What a project may say: only what restricts."""
    return RuleFile(
        tuple(rule for rule in file.prefixes if rule.decision > Decision.ALLOW),
        tuple(rule for rule in file.networks if rule.decision > Decision.ALLOW),
    )


def narrowing_policy(file: PolicyFile) -> PolicyFile:
    default = None if file.default_action == DefaultAction.ALLOW else file.default_action
    return PolicyFile(tuple(rule for rule in file.rules if rule.decision > Decision.ALLOW), default)


_ORDER = [None, DefaultAction.ALLOW, DefaultAction.ASK, DefaultAction.DENY]


def _stricter(one: DefaultAction | None, other: DefaultAction | None) -> DefaultAction | None:
    return max(one, other, key=_ORDER.index)
