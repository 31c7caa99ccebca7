"""Find the rules that match a command: a trie on words, so that a thousand rules cost what ten cost.

Restrictive rules reach further than allowing ones: through any path of the program, and past options that stand between
program and subcommand. A word that only the shell knows may be anything, so it may complete any restrictive rule.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self

from signoff.domain.verdict import Decision
from signoff.policy.execpolicy.rule import PrefixRule, Words

_FAN_OUT = 256  # copies of one rule in the trie; alternatives beyond are compared one by one


class Found(NamedTuple):
    rule: PrefixRule
    prefix: Words
    resolved_program: str | None = None


class Lookup(NamedTuple):
    found: tuple[Found, ...]
    may_match: PrefixRule | None  # a restrictive rule that the unknown words could complete


NOTHING = Lookup((), None)


class _Entry(NamedTuple):
    ordinal: int
    rule: PrefixRule


class _Node:
    __slots__ = ("children", "entries", "strictest")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.entries: list[_Entry] = []
        self.strictest = Decision.ALLOW  # of every rule at or below this node

    def copy(self) -> "_Node":
        twin = _Node()
        twin.children, twin.entries, twin.strictest = self.children.copy(), self.entries.copy(), self.strictest
        return twin


class PrefixIndex:
    """Immutable. `extended` shares everything that does not change."""

    __slots__ = ("_root", "_size", "executables", "restrictive")

    def __init__(self) -> None:
        self._root = _Node()
        self._size = 0
        self.executables: Mapping[str, Words] = {}
        self.restrictive: PrefixRule | None = None  # any one, to name where the program itself is unknown

    @classmethod
    def of(cls, rules: Iterable[PrefixRule], executables: Mapping[str, Words] | None = None) -> Self:
        index = cls()
        index.executables = executables or {}
        index._add(rules, owned=set())
        return index

    def extended(self, rules: Iterable[PrefixRule]) -> Self:
        index = type(self)()
        index._size, index.executables, index.restrictive = self._size, self.executables, self.restrictive
        index._root = self._root.copy()
        index._add(rules, owned={id(index._root)})
        return index

    def _add(self, rules: Iterable[PrefixRule], owned: set[int]) -> None:
        owned.add(id(self._root))
        for rule in rules:
            entry = _Entry(self._size, rule)
            self._size += 1
            _insert(self._root, entry, 0, _FAN_OUT, owned)
            if rule.decision > Decision.ALLOW:
                self.restrictive = self.restrictive or rule

    def lookup(self, words: Words, *, resolve: bool = False) -> tuple[Found, ...]:
        """The rules for exactly these words, in the order they were written; the language's own matching."""
        found = self._walk(words)
        if found or not resolve or not words[0].startswith("/"):
            return tuple(found)
        name = words[0].rsplit("/", 1)[-1]
        if name in self.executables and words[0] not in self.executables[name]:
            return ()
        return tuple(one._replace(resolved_program=words[0]) for one in self._walk((name, *words[1:])))

    def judge(self, words: Sequence[str | None]) -> Lookup:
        """Every rule that speaks about a command somebody wants to run."""
        head = words[0]
        if head is None:
            return Lookup((), self.restrictive)
        node = self._root.children.get(head)
        if node is None and "/" not in head:
            return NOTHING  # nearly every command
        found = self._walk(words)
        name = head
        if "/" in head:
            name = head.rsplit("/", 1)[-1]
            listed = head in self.executables.get(name, ())
            for one in self._walk((name, *words[1:])):
                if listed or one.rule.decision > Decision.ALLOW:
                    found.append(one._replace(resolved_program=head))
        may_match = self._unknown(head, words) or (self._unknown(name, words) if name != head else None)
        if len(words) > 2 and _may_be_option(words[1]):
            behind, unknown = self._past_options(name, words)
            found += [one for one in behind if one.rule not in [other.rule for other in found]]
            may_match = may_match or unknown
        return Lookup(tuple(found), may_match)

    def _walk(self, words: Sequence[str | None]) -> list[Found]:
        node: _Node | None = self._root
        entries: list[tuple[_Entry, int]] = []
        for depth, word in enumerate(words, start=1):
            node = node.children.get(word) if node is not None and word is not None else None
            if node is None:
                break
            entries += [(entry, depth) for entry in node.entries]
        found = []
        for (_, rule), depth in sorted(entries) if len(entries) > 1 else entries:
            length = len(rule.pattern)
            if length == depth or _fits_rest(rule, words, depth):
                found.append(Found(rule, tuple(words[:length])))  # type: ignore[arg-type]  # matched, so all literal
        return found

    def _unknown(self, head: str, words: Sequence[str | None]) -> PrefixRule | None:
        """The first restrictive rule that an unknown word could complete."""
        if None not in words:
            return None
        node = self._root.children.get(head)
        for depth, word in enumerate(words[1:], start=1):
            if node is None or node.strictest == Decision.ALLOW:
                return None
            if word is None:
                return _restrictive_below(node, depth)
            node = node.children.get(word)
        return None

    def _past_options(self, name: str, words: Sequence[str | None]) -> tuple[list[Found], PrefixRule | None]:
        """Restrictive rules for the same command without the options before its subcommand, each option with or
        without a value of its own; and one that an unknown word there could complete."""
        node = self._root.children.get(name)
        if node is None or node.strictest == Decision.ALLOW:
            return [], None
        found: list[Found] = []
        unknown: PrefixRule | None = None
        for position in range(2, len(words)):
            if not (_may_be_option(words[position - 1]) or _may_be_option(words[position - 2])):
                break  # the word before is neither an option nor the value of one, so it is the subcommand
            behind = (name, *words[position:])
            unknown = unknown or self._unknown(name, behind)
            found += [one for one in self._walk(behind) if one.rule.decision > Decision.ALLOW and len(one.prefix) > 1]
        return found, unknown


def _may_be_option(word: str | None) -> bool:
    return word is None or word.startswith("-")


def _insert(node: _Node, entry: _Entry, depth: int, budget: int, owned: set[int]) -> None:
    """Put the entry under every spelling of its pattern; when the budget ends, leave the rest to be compared."""
    node.strictest = max(node.strictest, entry.rule.decision)
    pattern = entry.rule.pattern
    if depth == len(pattern) or (depth > 0 and len(pattern[depth]) > budget):
        node.entries.append(entry)
        return
    for word in pattern[depth]:
        child = node.children.get(word)
        if child is None or id(child) not in owned:
            child = child.copy() if child is not None else _Node()
            owned.add(id(child))
            node.children[word] = child
        _insert(child, entry, depth + 1, budget // len(pattern[depth]), owned)


def _fits_rest(rule: PrefixRule, words: Sequence[str | None], depth: int) -> bool:
    return len(words) >= len(rule.pattern) and all(
        word in alternatives for word, alternatives in zip(words[depth:], rule.pattern[depth:], strict=False)
    )


def _restrictive_below(node: _Node, depth: int) -> PrefixRule | None:
    for entry in node.entries:
        if len(entry.rule.pattern) > depth and entry.rule.decision > Decision.ALLOW:
            return entry.rule
    for child in node.children.values():
        if child.strictest > Decision.ALLOW:
            found = _restrictive_below(child, depth) or next(
                (entry.rule for entry in child.entries if entry.rule.decision > Decision.ALLOW), None
            )
            if found:
                return found
    return None
