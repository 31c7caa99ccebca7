"""git, reading only: which verbs, with which options. Anything else may run a program that the repository names."""

import re
from collections.abc import Sequence

from signoff.domain.late import late_pattern

_GLOBALS = frozenset("--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects".split())
_DIFF = (
    "-p -u -s -R -a -b -w -W -z -q -r -t -c -m -M -C -B -D --stat --numstat --shortstat --dirstat --summary --name-only --name-status "
    "--patch --no-patch --patch-with-stat --raw --color --no-color --color-words --word-diff --word-diff-regex --unified --minimal "
    "--patience --histogram --diff-algorithm --cached --staged --merge-base --no-renames --find-renames --find-copies --diff-filter "
    "--ignore-space-change --ignore-all-space --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol --function-context --check "
    "--full-index --binary --abbrev --exit-code --quiet --relative --no-prefix --src-prefix --dst-prefix --text --no-ext-diff "
    "--no-textconv --compact-summary --submodule --ignore-submodules --pickaxe-all --pickaxe-regex --inter-hunk-context --color-moved "
)
_LOG = _DIFF + (
    "-i -E -F -P -g -n --oneline --graph --decorate --no-decorate --decorate-refs --all --branches --tags --remotes --glob --exclude "
    "--max-count --skip --since --after --until --before --author --committer --grep --all-match --invert-grep --regexp-ignore-case "
    "--extended-regexp --fixed-strings --perl-regexp --merges --no-merges --first-parent --reverse --topo-order --date-order "
    "--author-date-order --format --pretty --date --relative-date --abbrev-commit --no-abbrev-commit --follow --full-history "
    "--simplify-by-decoration --cherry --cherry-pick --cherry-mark --left-right --left-only --right-only --not --show-pulls --source "
    "--use-mailmap --mailmap --no-walk --full-diff --log-size --parents --children --boundary --walk-reflogs --no-expand-tabs --notes "
    "--no-notes --encoding --count --min-parents --max-parents --no-min-parents --no-max-parents --ancestry-path --dense --sparse "
)
_TAKE_NEXT = frozenset(
    "-n -S -G -L --max-count --skip --since --after --until --before --author --committer --grep --format --date --diff-filter "
    "--sort --contains --no-contains --merged --no-merged --points-at --match --exclude --unified -U --word-diff-regex --decorate-refs "
    "--count --glob -e -A -B -C -m --max-depth --src-prefix --dst-prefix".split()
)  # fmt: skip
_ATTACHED = late_pattern(r"-(?:\d+|n\d+|U\d+|[MCB]\d*%?|[SGL].+|u(?:no|normal|all))", re.DOTALL)

_VERBS: dict[str, frozenset[str]] = {
    verb: frozenset(options.split())
    for verb, options in {
        "status": "-s -b -v -vv -u -z -sb -uno -unormal -uall --short --branch --porcelain --long --untracked-files --ignored --ahead-behind --no-ahead-behind --show-stash --renames --no-renames --column --no-column --ignore-submodules --verbose",
        "diff": _DIFF, "log": _LOG, "show": _LOG, "rev-list": _LOG + "--objects --disk-usage --bisect --max-age --min-age",
        "shortlog": _LOG + "-s -n -e -sn -sne -ns --summary --numbered --email --group",
        "reflog": _LOG,
        "branch": "-a -r -v -vv -l -av -avv -rv -i --list --all --remotes --show-current --verbose --contains --no-contains --merged --no-merged --format --sort --column --no-column --color --no-color --points-at --ignore-case --abbrev",
        "tag": "-l -n -i --list --contains --no-contains --merged --no-merged --sort --points-at --column --no-column --color --format --ignore-case",
        "remote": "-v --verbose", "stash": _LOG, "worktree": "--porcelain -v -z --verbose",
        "ls-files": "-c -d -m -o -s -u -i -t -v -z --cached --deleted --modified --others --stage --unmerged --ignored --exclude-standard --directory --no-empty-directory --eol --full-name --abbrev --error-unmatch",
        "ls-tree": "-r -t -d -l -z --name-only --name-status --long --full-name --full-tree --abbrev",
        "rev-parse": "-q --abbrev-ref --short --verify --quiet --show-toplevel --git-dir --is-inside-work-tree --is-inside-git-dir --show-prefix --show-cdup --absolute-git-dir --symbolic-full-name --symbolic --all --branches --tags --remotes --is-bare-repository --git-common-dir",
        "merge-base": "-a --all --is-ancestor --octopus --independent --fork-point",
        "blame": "-L -s -e -w -M -C -l -t -p -f -n -c --porcelain --line-porcelain --date --abbrev --show-email --show-name --show-number --root --since --color-lines --first-parent",
        "grep": "-i -I -v -w -E -G -F -P -n -l -L -c -o -q -a -z -h -H -r -p -W -e -A -B -C -m -in -ni -nw -rn -nr -il -li -nE -nF -nP -nH --ignore-case --invert-match --word-regexp --extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number --column --name-only --files-with-matches --files-without-match --count --only-matching --quiet --text --null --show-function --function-context --and --or --not --all-match --cached --untracked --no-color --color --break --heading --max-depth --max-count --after-context --before-context --context --full-name",
        "describe": "--tags --always --long --abbrev --dirty --broken --all --match --exclude --contains --candidates --exact-match --first-parent",
        "cat-file": "-t -s -e -p", "name-rev": "--tags --name-only --always --no-undefined --refs --exclude", "check-ignore": "-v -n -q --verbose --non-matching --quiet --no-index",
        "show-ref": "-d -q -s --head --heads --tags --verify --quiet --hash --abbrev --dereference", "show-branch": "-a -r --all --remotes --current --list --sha1-name --no-name",
        "for-each-ref": "--format --sort --count --merged --no-merged --contains --no-contains --points-at --ignore-case",
        "count-objects": "-v -H -vH --verbose --human-readable", "version": "--build-options",
        "cherry": "-v --abbrev", "diff-tree": _DIFF + "-r -t --root --no-commit-id --pretty --format --stdin", "range-diff": _DIFF + "--creation-factor --left-only --right-only --no-dual-color",
    }.items()
}  # fmt: skip
_LISTING = frozenset("-l --list --contains --no-contains --merged --no-merged --points-at".split())
_FIRST_WORD = {"stash": ("list",), "worktree": ("list",), "remote": ("get-url",), "reflog": ("show",)}


def git_only_reads(words: Sequence[str]) -> bool:
    index = 1
    while index < len(words) and words[index] in _GLOBALS:
        index += 1
    if index < len(words) and words[index] in ("--version", "-v"):
        return index == len(words) - 1
    verb = words[index] if index < len(words) else ""
    allowed = _VERBS.get(verb)
    if allowed is None or any("%G" in word for word in words):  # %G runs gpg
        return False
    operands = _operands(words[index + 1 :], allowed)
    if operands is None:
        return False
    options = {word.partition("=")[0] for word in words[index + 1 :]}
    return _operands_only_read(verb, operands, options)


def _operands(rest: Sequence[str], allowed: frozenset[str]) -> list[str] | None:
    """The words that are no options; None if an option is not in the list."""
    operands: list[str] = []
    index = 0
    while index < len(rest):
        word = rest[index]
        if word == "--":
            operands.extend(rest[index + 1 :])
            break
        if word[:1] == "-" and len(word) > 1:
            name, equals, _ = word.partition("=") if word[1] == "-" else (word, "", "")
            if name not in allowed and not _attached(name, allowed):
                return None
            if not equals and name in _TAKE_NEXT and rest[index + 1 : index + 2] and rest[index + 1][:1] != "-":
                index += 1
        else:
            operands.append(word)
        index += 1
    return operands


def _attached(word: str, allowed: frozenset[str]) -> bool:
    """`-5`, `-U3`, `-Stext`: a letter with its value."""
    if not _ATTACHED.fullmatch(word):
        return False
    family = {"S": "--stat", "G": "--stat", "U": "--unified"}.get(word[1], word[:2])
    return (family if not word[1].isdigit() else "-n") in allowed


def _operands_only_read(verb: str, operands: list[str], options: set[str]) -> bool:
    if verb in ("branch", "tag"):
        # `branch -l NAME` made a branch until 2.19
        return not operands or bool(options & (_LISTING - {"-l"} if verb == "branch" else _LISTING))
    first = _FIRST_WORD.get(verb)
    if first is not None:
        if not operands:
            return verb in ("remote", "reflog")
        return operands[0] in first or (
            verb == "reflog" and operands[0] not in ("expire", "delete", "exists", "drop", "write")
        )
    return verb != "cat-file" or bool(options & {"-t", "-s", "-e", "-p"})
