"""Commands that git starts for its caller: aliases given on the line, `rebase --exec`, `bisect run` and their like."""

from collections.abc import Iterator, Sequence

_GLOBALS_WITH_VALUE = frozenset(
    "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --list-cmds --attr-source".split()
)
_SCRIPT_OPTIONS = {
    "rebase": ("-x", "--exec"),
    "difftool": ("-x", "--extcmd"),
    "fetch": ("--upload-pack",),
    "pull": ("--upload-pack",),
    "clone": ("-u", "--upload-pack"),
    "ls-remote": ("--upload-pack", "--exec"),
    "push": ("--receive-pack", "--exec"),
    "archive": ("--exec",),
    "grep": ("-O", "--open-files-in-pager"),
    "send-email": ("--sendmail-cmd", "--to-cmd", "--cc-cmd"),
    "filter-branch": ("--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--commit-filter", "--setup"),
}


def verb_index(words: Sequence[str]) -> int | None:
    """Where the subcommand stands, after git's own options; None without one."""
    index = 1
    while index < len(words) and words[index][:1] == "-":
        index += 2 if words[index] in _GLOBALS_WITH_VALUE else 1
    return index if index < len(words) else None


def started_by_git(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Index and text of every shell command that this call of git would run."""
    at = verb_index(words)
    for index in range(1, at if at is not None else len(words)):
        yield from _configured(words, index)
    if at is None:
        return
    verb = words[at]
    if verb == "submodule" and "foreach" in words[at:]:
        yield from ((len(words) - 1, text) for text in _of_each_submodule(words, at)[:1])
    names = _SCRIPT_OPTIONS.get(verb, ())
    for index in range(at + 1, len(words)):
        yield from _script_option(words, index, names)


def argv_of_git(words: Sequence[str]) -> Sequence[str]:
    """The words that this call of git would start as they are, without a shell: `bisect run`, `submodule foreach a b`."""
    at = verb_index(words)
    if at is None:
        return ()
    if words[at : at + 2] == ["bisect", "run"]:
        return words[at + 2 :]
    each = _of_each_submodule(words, at) if words[at] == "submodule" and "foreach" in words[at:] else ()
    return each if len(each) > 1 else ()


def _of_each_submodule(words: Sequence[str], at: int) -> Sequence[str]:
    start = words.index("foreach", at) + 1
    while start < len(words) and words[start] in ("--recursive", "-q", "--quiet", "--"):
        start += 1
    return words[start:]


def _configured(words: Sequence[str], index: int) -> Iterator[tuple[int, str]]:
    """`-c key=value`: the values of many keys are commands, so each value is looked at as one."""
    word = words[index]
    setting = words[index + 1] if word == "-c" and index + 1 < len(words) else word[2:] if word.startswith("-c") else ""
    key, equals, value = setting.partition("=")
    if equals and "." in key:
        is_verb = key.lower().startswith("alias.") and not value.startswith("!")
        yield index, f"git {value}" if is_verb else value.lstrip("!")


def _script_option(words: Sequence[str], index: int, names: Sequence[str]) -> Iterator[tuple[int, str]]:
    word = words[index]
    for name in names:
        if word == name:
            yield from ((index, text) for text in words[index + 1 : index + 2])
        elif name.startswith("--"):
            head, equals, value = word.partition("=")
            if equals and len(head) > 2 and name.startswith(head):
                yield index, value
        elif word.startswith(name):
            yield index, word[len(name) :]
