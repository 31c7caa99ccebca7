"""Options with which an ordinary program runs another one or writes a file, for programs that rules like to allow.

A deny-list, the opposite of the known-safe table: a rule covers everything else. Shortened long options and letters
in a cluster count; what stands behind `--` does not.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from signoff.domain.late import late_pattern
from signoff.policy.commands.git_commands import verb_index
from signoff.policy.commands.sed_program import may_write_or_run, sed_scripts


class Unusual(msgspec.Struct, frozen=True):
    """`letters` are the unsafe ones; `values` the harmless letters that take a value and so end a cluster."""

    letters: frozenset[str]
    values: frozenset[str]
    long: tuple[str, ...]
    words: frozenset[str] = frozenset()  # exact words, for programs with single-dash names
    abbreviates: bool = True


def _row(letters: str = "", values: str = "", long: str = "", words: str = "", *, abbreviates: bool = True) -> Unusual:
    names = tuple("--" + name for name in long.split())
    return Unusual(frozenset(letters), frozenset(values), names, frozenset(words.split()), abbreviates)


UNUSUAL: dict[str, Unusual] = {
    "find": _row(words="-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf -files0-from"),
    "fd": _row("xX", "deEgjotS", "exec exec-batch"), "fdfind": _row("xX", "deEgjotS", "exec exec-batch"),
    "sort": _row("oT", "kStk", "output compress-program temporary-directory files0-from random-source"),
    "rg": _row("zf", "ABCdeEgjmMrtT", "pre pre-glob hostname-bin search-zip file ignore-file"),
    "grep": _row("f", "eABCmdD", "file exclude-from"), "egrep": _row("f", "eABCmdD", "file exclude-from"), "fgrep": _row("f", "eABCmdD", "file exclude-from"),
    "ag": _row("", "", "pager"), "ack": _row("", "", "pager files-from output"),
    "sed": _row("if", "el", "in-place file"), "gsed": _row("if", "el", "in-place file"),
    "awk": _row("filE", "Fv", "file include load exec"), "gawk": _row("fiElLopdD", "Fv", "file include load exec dump-variables profile pretty-print debug"), "mawk": _row("fW", "Fv", "file exec"),
    "perl": _row("ieEIMmxSd", "", ""), "ruby": _row("ierICx", "EFKTW", ""),
    "tar": _row("IFCP", "bfgHKLNTVX", "to-command checkpoint-action use-compress-program info-script new-volume-script rsh-command rmt-command directory absolute-names index-file volno-file remove-files"),
    "rsync": _row("eM", "fTB", "rsh rsync-path remote-option daemon log-file write-batch only-write-batch delete remove-source-files"),
    "scp": _row("SoFD", "cJilPX", ""), "ssh": _row("oFEWSPLRDJI", "bBceilmpQw", ""), "ssh-keygen": _row("Dw", "bCfIJMmNnOPRrsTtVYz", ""), "sftp": _row("SoFDb", "", ""),
    "curl": _row("oOKTDcEJnx", "dFHXAbeumrUQzwyYCPt", "output remote-name remote-name-all config upload-file dump-header cookie-jar output-dir trace trace-ascii stderr netrc-file unix-socket proxy cert key engine libcurl hsts alt-svc etag-save create-dirs"),
    "wget": _row("OPoaei", "UtTwQIADRXlB", "output-document directory-prefix output-file append-output execute input-file post-file body-file use-askpass config save-cookies warc-file rejected-log hsts-file"),
    "man": _row("PHC", "LMeEmprRST", "pager html config-file browser"), "git": _row(),
    "split": _row("", "abCln", "filter"), "zip": _row("T", "nti", "unzip-command test"), "unzip": _row("d", "x", ""), "less": _row("kKoOT", "bhjpPxyz", "log-file lesskey-file lesskey-src lesskey-content"),
    "diff": _row("l", "CUWxXFDIS", "paginate to-file from-file"), "sdiff": _row("o", "wI", "output diff-program"), "diff3": _row("", "", "diff-program"),
    "tree": _row("oR", "LPIH", "output fromfile"), "file": _row("Cmf", "FeP", "compile magic-file files-from"), "base64": _row("o", "wbi", "output"),
    "date": _row("sf", "drI", "set file"), "hostname": _row("Fb", "", "file boot"), "uniq": _row(), "xxd": _row("r", "", "", words="-r -revert"),
    "jq": _row("fL", "", "from-file rawfile slurpfile argfile library-path"), "yq": _row("ifs", "", "inplace from-file split-exp"), "env": _row("SC", "ua", "split-string chdir"),
    "make": _row("fICE", "jloW", "file makefile eval include-dir directory environment-overrides"), "ninja": _row("fCt", "jkl", ""), "cmake": _row("EPC", "", "build install open"),
    "vim": _row("cSsuUwWi", "", "cmd"), "vi": _row("cSsuUwWi", "", "cmd"), "nvim": _row("cSsuUwWil", "", "cmd headless"), "emacs": _row("lfxQ", "", "eval execute load funcall script batch"), "nano": _row("oBCs", "", "operatingdir backup rcfile speller"),
    "python": _row("cm"), "python3": _row("cm"), "node": _row("eprC", "", "eval print require import loader experimental-loader env-file"), "php": _row("rBRFEdcz", "", "run"), "lua": _row("eli"),
    "go": _row(words="-exec -toolexec -vettool -o -overlay -modfile -C -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir -pkgdir -w -ldflags -gcflags -asmflags -gccgoflags"), "cargo": _row("CZ", "pFjE", "config target-dir manifest-path"), "npm": _row("C", "", "prefix shell script-shell node-options globalconfig userconfig"), "pip": _row("rtceif", "", "python log find-links target requirement editable index-url extra-index-url root prefix"),
    "docker": _row("vH", "", "volume mount privileged device pid ipc network host cap-add security-opt config"), "kubectl": _row("", "", "kubeconfig server token as exec exec-command"),
    "gpg": _row("o", "ru", "output output-fd exec-path photo-viewer homedir options"), "openssl": _row(words="-out -engine -provider -provider-path -writerand -config -sign -CAcreateserial"), "bash": _row("", "oO", "rcfile init-file debugger"), "ps": _row(), "test": _row(), "[": _row(), "printf": _row(), "column": _row(), "cp": _row("t", "S", "target-directory"), "mv": _row("t", "S", "target-directory"), "ln": _row("t", "S", "target-directory"), "install": _row("Dt", "gmoS", "target-directory strip-program"),
    "journalctl": _row("DM", "nopugtS", "vacuum-size vacuum-time vacuum-files rotate flush sync directory root file image machine cursor-file setup-keys update-catalog"), "dmesg": _row("cCDEn", "", "clear read-clear console-off console-on console-level"), "ip": _row("bn", "", "", words="-batch -netns -b -n"), "sysctl": _row("wp", "", "write load system"), "mount": _row(), "xargs": _row("a", "dEILnPs", "arg-file"),
    "tsc": _row("", "", "outDir outFile declarationDir build"), "eslint": _row("cof", "", "fix rulesdir resolve-plugins-relative-to config plugin output-file format cache-location parser"), "prettier": _row("w", "", "write plugin config plugin-search-dir"), "ruff": _row("o", "", "fix output-file config unsafe-fixes"), "black": _row(), "mypy": _row("", "", "config-file install-types python-executable html-report junit-xml"), "pytest": _row("pco", "kmn", "basetemp rootdir confcutdir junit-xml junitxml override-ini pdbcls result-log log-file debug import-mode report-log html"), "gcc": _row(words="-wrapper -specs -fplugin -iplugindir"), "clang": _row(words="-fplugin -load -config"),
    "psql": _row("foLv", "cdhpUFPRT", "file output log-file set variable"), "sqlite3": _row(words="-init -cmd -A -Ac -Ax"), "bat": _row("", "HlmrS", "pager"), "hg": _row("Re", "", "config config-file repository cwd ssh remotecmd debugger"), "svn": _row("", "", "config-option config-dir diff-cmd diff3-cmd editor-cmd"), "gradle": _row("IDPb", "x", "init-script project-dir build-file settings-file gradle-user-home include-build"), "mvn": _row("fsDgt", "", "file settings global-settings toolchains"), "gofmt": _row(words="-w -cpuprofile"),
    "tcpdump": _row("zw", "BcCEFGijMrsTVWyZ", ""), "cpio": _row("", "", "rsh-command"), "patch": _row("eod", "BDFgiprVxYz", "ed output directory"), "terraform": _row(words="-chdir -plugin-dir -out"), "sudo": _row(), "gh": _row("", "", "show-token"),
    "gdb": _row(words="-x -ex -ix -iex -command -eval-command -init-command -init-eval-command -cd -p -pid -args"),
    **dict.fromkeys(("mysql", "mariadb"), _row("", "", "pager tee init-command plugin-dir defaults-file defaults-extra-file")), "clang-format": _row(words="-i"),
}  # fmt: skip

_GIT_GLOBALS = frozenset(
    "--git-dir --work-tree --exec-path --config-env --namespace --super-prefix --attr-source -p --paginate --bare".split()
)
_GIT_LONG = tuple(
    "--" + name
    for name in (
        "output output-directory ext-diff textconv exec upload-pack receive-pack open-files-in-pager no-index contents filters "
        "show-signature ignore-revs-file"
    ).split()
)
_GIT_VERB_LONG = {
    verb: tuple("--" + name for name in names.split())
    for verb, names in {
        "branch": "delete move copy force edit-description set-upstream-to unset-upstream",
        "push": "force force-with-lease delete mirror prune",
        "clone": "config template separate-git-dir",
        "init": "template separate-git-dir",
        "apply": "unsafe-paths directory",
        "difftool": "extcmd tool",
        "mergetool": "tool",
        "help": "web",
        "config": "file edit global system replace-all unset unset-all add",
        "send-email": "sendmail-cmd to-cmd cc-cmd smtp-server",
        "checkout": "force",
        "clean": "force",
    }.items()
}
_GIT_LETTERS = {
    "grep": ("Of", "ABCem"),
    "clone": ("uc", "bjo"),
    "difftool": ("xt", ""),
    "mergetool": ("t", ""),
    "rebase": ("x", "CX"),
    "archive": ("o", ""),
    "format-patch": ("o", "nUv"),
    "branch": ("dDmMcCfu", ""),
    "config": ("fe", ""),
    "help": ("w", ""),
    "checkout": ("f", "bB"),
    "push": ("fd", "o"),
    "clean": ("f", "e"),
}
_CONFIG_READS = frozenset("list get get-color get-colorbool".split())
_CONFIG_WRITES = frozenset("set unset rename-section remove-section edit".split())
_GETS = frozenset("--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool".split())
_GIT_ORDINARY = frozenset(
    "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout "
    "cherry cherry-pick clean clone commit commit-graph commit-tree config count-objects describe diff diff-files diff-index diff-tree "
    "fetch filter-branch filter-repo for-each-ref format-patch fsck gc grep hash-object help init lfs log ls-files ls-remote ls-tree "
    "maintenance merge merge-base merge-tree mv name-rev notes prune pull push range-diff read-tree rebase reflog remote repack replace "
    "reset restore rev-list rev-parse revert rm shortlog show show-branch show-index show-ref sparse-checkout stash status stripspace "
    "submodule subtree switch symbolic-ref tag update-index update-ref var verify-commit verify-pack verify-tag version whatchanged "
    "worktree write-tree".split()
)  # fmt: skip
"""Any other verb may be an alias, or starts what a person would not expect git to start."""
_ORDINARY = frozenset({"--text", "--no-edit", "--con", "--set"})
"""Options of their own that look like the beginning of an unsafe one."""


def unusual_options(words: Sequence[str | None]) -> tuple[str, ...]:
    """The words that do so, as written; an allow rule does not cover them unless its pattern names them."""
    first = words[0] if words else None
    if first is None:
        return ()
    name = first.rpartition("/")[2]
    if name == "git":
        return tuple(_git([word if word is not None else "\0" for word in words]))
    row = UNUSUAL.get(name) or UNUSUAL.get(_VERSION.sub("", name))
    if row is None:
        return ()
    texts = [word if word is not None else "\0" for word in words]
    module = texts.index("-m") + 1 if name.startswith("python") and "-m" in texts[:-1] else len(texts)
    if module < len(texts):  # the words behind it are the module's
        return (*_found(name, row, texts[:module]), *unusual_options(texts[module:]))
    return tuple(_found(name, row, texts))


def _found(name: str, row: Unusual, words: Sequence[str]) -> Iterator[str]:
    skip = False
    for index, word in enumerate(words[1:], start=1):
        if word == "--" and name != "find":
            break
        if row.words and _single_dash(word) in row.words:
            yield word
        elif skip:
            skip = False
        elif word.startswith("--"):
            if _is_long(word, row.long, abbreviates=row.abbreviates):
                yield word
        elif word[:1] == "-" and not row.words:
            hit, skip = _cluster(word, row)
            if hit:
                yield word
        elif name == "tar" and index == 1 and set(word) & row.letters and word.isalpha():
            yield word
    yield from _second_operand(name, words)
    yield from _program_text(name, words)


def _single_dash(word: str) -> str:
    """`--name=value` as programs with single-dash names read it: `-name`."""
    return word.removeprefix("-").partition("=")[0] if word.startswith("--") else word.partition("=")[0]


def _is_long(word: str, names: Sequence[str], *, abbreviates: bool = True) -> bool:
    head = word.partition("=")[0]
    return any(name == head or (abbreviates and len(head) > 2 and name.startswith(head)) for name in names)


def _cluster(word: str, row: Unusual) -> tuple[bool, bool]:
    """Whether the cluster holds an unsafe letter, and whether its last letter takes the next word."""
    for position, letter in enumerate(word[1:], start=1):
        if letter in row.letters:
            return True, False
        if letter in row.values:
            return False, position == len(word) - 1
    return False, False


def _second_operand(name: str, words: Sequence[str]) -> Iterator[str]:
    """uniq and xxd write their second operand."""
    if name in ("uniq", "xxd"):
        operands = [word for word in words[1:] if (word[:1] != "-" or word == "-") and not word.isdigit()]
        yield from operands[1:2]


def _program_text(name: str, words: Sequence[str]) -> Iterator[str]:
    """Operands that are programs, or that turn a reader into something else, as options do."""
    if name in ("sed", "gsed"):
        yield from (script for script in sed_scripts(words) if may_write_or_run(script))
    elif name in _OPERANDS:
        yield from filter(_OPERANDS[name].search, words[1:])
    elif (
        _VERSION.sub("", name) in _INTERPRETERS
        and all(word[:1] == "-" for word in words[1:])
        and not _INFORMS & {*words}
    ):
        yield "-"  # the program comes by standard input


_VERSION = late_pattern(r"-?\d+(?:\.\d+)*$")
_AWK = late_pattern(r"system|\||>|getline|@load|@include")
_INTERPRETERS = frozenset("python node perl ruby php lua".split())
_INFORMS = frozenset("--version -V -v --help -h -vV -m".split())
_EDITOR = late_pattern(r"^\+(?!\d*$)")
_TEST = late_pattern(r"^-[vR]$|\$\(|`|\$\{")
_LOADING = late_pattern(
    r"^(?:PATH|IFS|BASH_ENV|ENV|CDPATH|LD_\w+|DYLD_\w+|GCONV_PATH|PYTHON(?:PATH|HOME|STARTUP|BREAKPOINT)|NODE_(?:OPTIONS|PATH)"
    r"|PERL5?(?:LIB|OPT|DB)|RUBY(?:LIB|OPT)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_(?:EXEC_PATH|DIR|CONFIG\w*|TEMPLATE_DIR))="
)  # variables that decide which code a program loads or starts
_CLIENT = late_pattern(
    r"\\[!TPe.]|\b(?:system|source|tee|pager|edit)\b|\binto\s+(?:out|dump)file\b|\bload_file\b|\bload\s+data\b",
    re.IGNORECASE,
)
_OPERANDS = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(("vim", "vi", "nvim", "view", "ex"), _EDITOR),
    **dict.fromkeys(("test", "["), _TEST),  # a subscript in an operand is evaluated, and runs what it names
    "printf": late_pattern(r"^-v|\$\(|`|\$\{|%[^%A-Za-z]*[hlLqjzt]*n"),
    "date": late_pattern(r"^[0-9]{6,}"),
    "curl": late_pattern(
        r"^@|=[@<]|^-[dF]\S*@|^--(?:data|form|json|url-query)\S*=\S*@|%output\{|^file:.*[\[{]|^[^/]*[\[{][^/]*://",
        re.IGNORECASE,
    ),
    "make": late_pattern(
        r"^(?:SHELL|\.SHELLFLAGS|MAKE\w*)[ :?+]*=|\$[({]|!=|^(?:CC|CXX|CPP|LD|AR|AS|FC|RM|LEX|YACC|INSTALL)[ :?+]*=.*[\s/]"
    ),
    **dict.fromkeys(("env", "sudo"), _LOADING),
    **dict.fromkeys(("mysql", "mariadb"), _CLIENT),
    "gh": late_pattern(r"^(?:alias|extensions?|ext|config|token|codespace|cs)$"),
    "openssl": late_pattern("^engine$"),
    "pip": late_pattern("^config$"),
    "less": late_pattern(r"^\+(?!\+?(?:[\dGgF]*|[/?].*)$)"),
    "gcc": late_pattern("^(?:@|-B|-Wl,.*-plugin|-fuse-ld=.*/)"),
    "clang": late_pattern("^(?:@|-B)"),
    "tar": late_pattern(
        r"^(?:-\w*f|--file=)?(?!/|\./)[\w.@-]+:"
    ),  # an archive on another host, by way of a remote shell
    "psql": late_pattern(r"\\(?:!|o|g|w|copy|i|e|s\b)|\bprogram\b", re.IGNORECASE),
    "sqlite3": late_pattern(
        r"^\s*\.(?!(?:tables?|schema|headers?|mode|dump|indexes|databases|dbinfo|width|help)\b)"
        r"|load_extension|writefile|readfile|\bedit\s*\(|\battach\b|\bvacuum\b.*\binto\b",
        re.IGNORECASE,
    ),
    "jq": late_pattern(r"\benv\b|\$ENV|\bimport\b|\binclude\b|\binput_filename\b"),
}


def _git(words: Sequence[str]) -> Iterator[str]:
    at = verb_index(words)
    for word in words[1:at]:
        if word.partition("=")[0] in _GIT_GLOBALS or word[:2] in ("-c", "-C"):
            yield word
    if at is None:
        return
    verb = words[at]
    if verb not in _GIT_ORDINARY or _sets_up(verb, words[at + 1 :]):
        yield verb
    letters, values = _GIT_LETTERS.get(verb, ("", ""))
    row = Unusual(frozenset(letters), frozenset(values), ())
    names = _GIT_LONG + _GIT_VERB_LONG.get(verb, ())
    options = True
    for word in words[at + 1 :]:
        options = options and word != "--"
        if "%G" in word or (options and _git_option(word, row, names)):
            yield word


def _sets_up(verb: str, rest: Sequence[str]) -> bool:
    """Whether it changes what git will start later: configuration, scheduled jobs."""
    operands = [word for word in rest if word[:1] != "-"]
    first = operands[0] if operands else ""
    if verb == "config":
        return first in _CONFIG_WRITES or (first not in _CONFIG_READS and len(operands) > 1 and not _GETS & {*rest})
    return (verb, first) in {("maintenance", "start"), ("maintenance", "register"), ("lfs", "install")}


def _git_option(word: str, row: Unusual, names: Sequence[str]) -> bool:
    if word.startswith("--"):
        return word not in _ORDINARY and _is_long(word, names)
    if word[:1] == "-":
        return _cluster(word, row)[0]
    return "::" in word or "://-" in word  # a transport that runs a helper, a host that is an option
