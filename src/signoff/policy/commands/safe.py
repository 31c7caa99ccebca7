"""Programs that only read, with exactly the options that keep it so. An option that is not listed is not known-safe,
so clusters, abbreviations and options of newer versions fail on the careful side."""

import re
from collections.abc import Callable, Sequence

import msgspec

from signoff.domain.late import late_pattern
from signoff.policy.commands.awk_program import only_prints
from signoff.policy.commands.git_reading import git_only_reads
from signoff.policy.commands.options import Options, scan
from signoff.policy.commands.sed_program import only_edits_the_stream


class Checked(msgspec.Struct, frozen=True):
    """`operands`: how many there may be. `operand`: what each has to look like."""

    options: Options
    operands: int = 1_000
    operand: re.Pattern[str] | None = None


def _row(flags: str, values: str = "", long: str = "", operands: int = 1_000, operand: str | None = None) -> Checked:
    return Checked(
        Options.of(flags, values, long + " help version"), operands, late_pattern(operand) if operand else None
    )


_GREP = _row(
    "EFGPivwxcLlohnHrRsabTUzqyZu0123456789", "eABCmdD",
    "regexp= ignore-case no-ignore-case invert-match word-regexp line-regexp count color colour files-without-match "
    "files-with-matches max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename label= line-number "
    "initial-tab null after-context= before-context= context= text binary-files= exclude= exclude-dir= include= recursive "
    "dereference-recursive line-buffered null-data extended-regexp fixed-strings basic-regexp perl-regexp",
)  # fmt: skip
_RIPGREP = _row(
    "abcFhHiIlLnNopPqsSuUvVwx0.", "ABCdeEgjmMrtT",
    "after-context= before-context= context= text byte-offset case-sensitive color= colors= column no-column count count-matches crlf "
    "debug encoding= engine= field-context-separator= field-match-separator= files files-with-matches files-without-match fixed-strings "
    "follow glob= iglob= glob-case-insensitive heading no-heading hidden no-hidden ignore-case ignore-file-case-insensitive include-zero "
    "invert-match json line-buffered block-buffered line-number no-line-number line-regexp max-columns= max-columns-preview max-count= "
    "max-depth= max-filesize= mmap no-mmap multiline multiline-dotall no-config no-filename no-ignore no-ignore-dot no-ignore-exclude "
    "no-ignore-global no-ignore-parent no-ignore-vcs no-messages no-unicode null null-data one-file-system only-matching passthru "
    "path-separator= pcre2 pretty quiet regexp= replace= smart-case sort= sortr= stats threads= trace trim type= type-not= type-add= "
    "type-list unrestricted vimgrep with-filename word-regexp",
)  # fmt: skip
CHECKED: dict[str, Checked] = {
    "grep": _GREP, "egrep": _GREP, "fgrep": _GREP, "rg": _RIPGREP,
    "base64": _row("diD", "wb", "decode ignore-garbage wrap="),
    "sort": _row(
        "bdfghiMnRrVzsumcC", "kt",
        "ignore-leading-blanks dictionary-order fold-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort "
        "numeric-sort random-sort reverse sort= version-sort check merge unique stable zero-terminated key= field-separator= debug",
    ),
    "uniq": _row("cdDiuz", "fsw", "count repeated all-repeated group ignore-case skip-fields= skip-chars= unique zero-terminated check-chars=", 1),
    "date": _row("uR", "dr", "utc universal rfc-email iso-8601 rfc-3339= date= reference=", 1, r"\+"),
    "diff": _row(
        "abBcdeEHinNpqrstTuwyZ0123456789", "CUWxFI",
        "brief unified context side-by-side recursive new-file unidirectional-new-file ignore-case ignore-space-change ignore-all-space "
        "ignore-blank-lines ignore-trailing-space ignore-tab-expansion minimal text strip-trailing-cr color normal ed rcs "
        "report-identical-files width= suppress-common-lines left-column show-c-function show-function-line= label= expand-tabs "
        "initial-tab exclude= ignore-matching-lines= no-dereference",
    ),
    "tree": _row("adfilnpqsugDhtUrcvxANCSFJXQ", "LPI", "dirsfirst filesfirst noreport charset= filelimit= du si prune gitignore matchdirs ignore-case inodes device timefmt= sort="),
    "file": _row("bikLhnNprv0E", "FeP", "brief mime mime-type mime-encoding dereference no-dereference no-pad separator= exclude= extension keep-going raw"),
    "hexdump": _row("bcCdovx", "ns", ""),
    "column": _row("tnxeJ", "scoNRHTWl", "table separator= output-separator= table-columns= table-right= json output-width="),
    "hostname": _row("fsiIdyA", "", "fqdn long short ip-address all-ip-addresses domain all-fqdns", 0),
    "cd": _row("LP", "", "", 1),
    "exit": _row("", "", "", 1, r"[0-9]{1,3}\Z"),
}  # fmt: skip

_FIND_TESTS = frozenset(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime -atime -ctime -mmin "
    "-amin -cmin -newer -anewer -cnewer -newermt -newerat -newerct -user -group -uid -gid -perm -links -inum -samefile -fstype -used "
    "-maxdepth -mindepth -regextype -printf -context".split()
)
_FIND_FLAGS = frozenset(
    "-H -L -P -O0 -O1 -O2 -O3 -empty -executable -readable -writable -nouser -nogroup -true -false -print -print0 -ls -prune -quit "
    "-depth -d -mount -xdev -noleaf -follow -daystart -ignore_readdir_race -noignore_readdir_race -warn -nowarn -not -a -and -o -or "
    "-help -version --help --version ! ( ) ,".split()
)  # fmt: skip
_ISO_DATE = late_pattern(r"-I(?:date|hours|minutes|seconds|ns)?")
_XXD = late_pattern(r"-(?:[abeEipuv]|ps|plain|bits|[cglos]-?\d+)")
_JQ_FLAGS = late_pattern(r"-[crnseaSCMj]+|--(?:raw-output|compact-output|slurp|raw-input|null-input|exit-status|sort-keys|color-output|monochrome-output|join-output|ascii-output|tab|seq|stream|unbuffered)")  # fmt: skip
_JQ_UNSAFE = late_pattern(
    r"\b(?:env|import|include|input_filename|modulemeta|get_search_list|halt|debug|stderr|input_line_number)\b|\$ENV|\$__"
)
_EVALUATED = late_pattern(r"\$\(|`|\$\{")
_PRINTF_ASSIGNS = late_pattern(r"%[^%A-Za-z]*[hlLqjzt]*n")
_PS = frozenset("aux ax -ef -e -A -f -aux -ax -eF a u x au".split())


def _find(words: Sequence[str]) -> bool:
    index, in_expression = 1, False
    while index < len(words):
        word = words[index]
        if word in _FIND_TESTS:
            index += 2
            in_expression = True
            if index > len(words):
                return False
            continue
        if word in _FIND_FLAGS:
            in_expression = in_expression or word not in ("-H", "-L", "-P")
        elif in_expression or word[:1] == "-":
            return False
        index += 1
    return True


def _test(words: Sequence[str]) -> bool:
    if words[0].endswith("[") and words[-1] != "]":
        return False
    return not any(word in ("-v", "-R") or _EVALUATED.search(word) or "\0" in word for word in words)


def _printf(words: Sequence[str]) -> bool:
    if len(words) < 2 or words[1][:1] == "-" or "\0" in words[1]:
        return False
    return not (_PRINTF_ASSIGNS.search(words[1]) or any(_EVALUATED.search(word) for word in words[2:]))


def _xxd(words: Sequence[str]) -> bool:
    operands, index = 0, 1
    while index < len(words):
        word = words[index]
        if word in ("-c", "-g", "-l", "-o", "-s", "-n"):
            index += 1
        elif word[:1] == "-" and len(word) > 1:
            if not _XXD.fullmatch(word):
                return False
        else:
            operands += 2 if "\0" in word else 1
        index += 1
    return operands <= 1


def _jq(words: Sequence[str]) -> bool:
    operands: list[str] = []
    index = 1
    while index < len(words):
        word = words[index]
        if word in ("--arg", "--argjson"):
            index += 2
        elif word == "--indent":
            index += 1
        elif word[:1] == "-" and len(word) > 1:
            if not _JQ_FLAGS.fullmatch(word):
                return False
        else:
            operands.append(word)
        index += 1
    return bool(operands) and not _JQ_UNSAFE.search(operands[0]) and "\0" not in operands[0]


def _ps(words: Sequence[str]) -> bool:
    return (
        len(words) == 1
        or (len(words) == 2 and words[1] in _PS)
        or (len(words) == 3 and words[1] == "-p" and words[2].isdecimal())
    )


def _command(words: Sequence[str]) -> bool:
    return len(words) > 2 and words[1] in ("-v", "-V") and all(word[:1] != "-" for word in words[2:])


_OWN_WAY: dict[str, Callable[[Sequence[str]], bool]] = {
    "find": _find,
    "test": _test,
    "[": _test,
    "printf": _printf,
    "xxd": _xxd,
    "jq": _jq,
    "ps": _ps,
    "command": _command,
    "sed": only_edits_the_stream,
    "awk": only_prints,
    "gawk": only_prints,
    "mawk": only_prints,
    "git": git_only_reads,
}
CHECKED_PROGRAMS = frozenset(CHECKED) | frozenset(_OWN_WAY)


def only_reads(name: str, words: Sequence[str]) -> bool:
    """Whether the table knows this use of the program as reading only. A word only the shell knows is a NUL text."""
    own_way = _OWN_WAY.get(name)
    if own_way is not None:
        return own_way(words)
    row = CHECKED.get(name)
    return row is not None and _checked(name, row, words)


def _checked(name: str, row: Checked, words: Sequence[str]) -> bool:
    if name == "date":
        words = [word for word in words if not _ISO_DATE.fullmatch(word)]
    operands = 0
    for item in scan(words, row.options):
        if isinstance(item, int):
            operands += 2 if "\0" in words[item] else 1
            if row.operand is not None and not row.operand.match(words[item]):
                return False
        elif not item.known or (item.value is not None and "\0" in item.value):
            return False
    return operands <= row.operands
