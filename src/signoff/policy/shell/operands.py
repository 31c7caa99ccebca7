"""Which operands and option values of well-known programs are files, and what happens to them. Data and one reader."""

import enum
from collections.abc import Iterator, Sequence

import msgspec

from signoff.policy.commands.options import Option, Options, scan


class Use(enum.Enum):
    READ = enum.auto()
    WRITE = enum.auto()
    DELETE = enum.auto()


class Role(enum.Enum):
    """What a program does with its operands."""

    NONE = enum.auto()
    READS = enum.auto()
    WRITES = enum.auto()
    DELETES = enum.auto()
    COPIES = enum.auto()  # reads all but the last, writes the last
    MOVES = enum.auto()  # deletes all but the last, writes the last
    FILTERS = enum.auto()  # reads the first, writes the second
    REPLACES = enum.auto()  # writes a new file and deletes the operand


class Operands(msgspec.Struct, frozen=True):
    role: Role
    options: Options
    uses: dict[str, Use]  # options whose value is a file
    skip: int = 0  # leading operands that are no files: a mode, a pattern
    instead: frozenset[str] = frozenset()  # options that stand in for the skipped operand


def _row(role: Role, values: str = "", long: str = "", *, writes: str = "", reads: str = "", skip: int = 0, instead: str = "") -> Operands:  # fmt: skip
    letters = frozenset(values) | {name for name in (*writes.split(), *reads.split()) if len(name) == 1}
    names = frozenset(long.split()) | {name for name in (*writes.split(), *reads.split()) if len(name) > 1}
    flags = frozenset(map(chr, range(33, 127))) - letters
    uses = dict.fromkeys(writes.split(), Use.WRITE) | dict.fromkeys(reads.split(), Use.READ)
    return Operands(role, Options(flags, letters, frozenset(), names), uses, skip, frozenset(instead.split()))


_READS = _row(Role.READS)
TABLE: dict[str, Operands] = {
    **dict.fromkeys("cat tac nl rev comm cmp wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base32 base64 ls dir vdir stat readlink realpath file tree du less more bat batcat hexdump xxd strings zcat bzcat xzcat zless column expand unexpand fold fmt paste tsort pr df source . jq diff".split(), _READS),
    "wc": _row(Role.READS, reads="files0-from"),
    "du": _row(Role.READS, "BdtX", "exclude", reads="files0-from exclude-from X"),
    "head": _row(Role.READS, "cn", "bytes lines"),
    "tail": _row(Role.READS, "cns", "bytes lines pid sleep-interval"),
    "cut": _row(Role.READS, "bcdf", "bytes characters delimiter fields"),
    "od": _row(Role.READS, "AjNStw"),
    "strings": _row(Role.READS, "enT"),
    "sort": _row(Role.READS, "kStT", "key buffer-size field-separator batch-size parallel", writes="o output", reads="files0-from random-source"),
    "uniq": _row(Role.FILTERS, "fsw"),
    "xxd": _row(Role.FILTERS, "clgosRn"),
    "jq": _row(Role.READS, "", "arg argjson indent", reads="f from-file rawfile slurpfile argfile L", skip=1, instead="f from-file"),
    "grep": _row(Role.READS, "eABCmdD", "regexp context after-context before-context max-count include exclude exclude-dir color colour", reads="f file exclude-from", skip=1, instead="e f regexp file"),
    "rg": _row(Role.READS, "eABCgjmtTrMEd", "regexp glob iglob type type-not max-depth max-count replace threads sort sortr encoding max-columns color", reads="f file ignore-file pre", skip=1, instead="e f regexp file files type-list"),
    "sed": _row(Role.READS, "el", "expression", reads="f file", skip=1, instead="e f expression file"),
    "awk": _row(Role.READS, "Fv", "", reads="f file", skip=1, instead="f file"),
    "tee": _row(Role.WRITES), "mkdir": _row(Role.WRITES, "m", "mode"), "mkfifo": _row(Role.WRITES, "m", "mode"), "mknod": _row(Role.WRITES, "m"),
    "touch": _row(Role.WRITES, "dt", "date time", reads="r reference"),
    "truncate": _row(Role.WRITES, "s", "size", reads="r reference"),
    "mktemp": _row(Role.WRITES, "", "suffix", writes="p tmpdir"),
    "chmod": _row(Role.WRITES, skip=1, reads="reference", instead="reference"), "chown": _row(Role.WRITES, "", "from", skip=1, reads="reference", instead="reference"),
    "chgrp": _row(Role.WRITES, skip=1, reads="reference", instead="reference"), "chattr": _row(Role.WRITES, "pv", skip=1), "setfacl": _row(Role.WRITES, "mxMX"),
    "cp": _row(Role.COPIES, "S", "suffix", writes="t target-directory"), "install": _row(Role.COPIES, "gmoS", "group mode owner suffix", writes="t target-directory"),
    "ln": _row(Role.COPIES, "S", "suffix", writes="t target-directory"), "rsync": _row(Role.COPIES, "efTBM", "rsh exclude include filter", writes="log-file", reads="exclude-from include-from files-from"),
    "scp": _row(Role.COPIES, "cDFiJloPSX"), "mv": _row(Role.MOVES, "S", "suffix", writes="t target-directory"), "rename": _row(Role.WRITES, skip=1),
    "rm": _row(Role.DELETES), "rmdir": _row(Role.DELETES), "unlink": _row(Role.DELETES), "shred": _row(Role.DELETES, "ns", "iterations size random-source"), "trash": _row(Role.DELETES),
    "gzip": _row(Role.REPLACES, "S"), "gunzip": _row(Role.REPLACES, "S"), "bzip2": _row(Role.REPLACES), "bunzip2": _row(Role.REPLACES), "xz": _row(Role.REPLACES, "TMCFS"), "unxz": _row(Role.REPLACES, "TMCFS"), "zstd": _row(Role.COPIES, "T", writes="o"),
    "zip": _row(Role.WRITES, "ixnP"), "unzip": _row(Role.READS, "x", writes="d"), "7z": _row(Role.NONE), "cpio": _row(Role.NONE, "", "", writes="O D", reads="I"),
    "split": _row(Role.FILTERS, "abCln", "suffix-length bytes lines number filter"), "csplit": _row(Role.READS, "bn", "suffix-format digits", writes="f prefix"),
    "patch": _row(Role.WRITES, "pFBVYz", "strip fuzz", writes="o output r reject-file d directory", reads="i input"), "ed": _row(Role.WRITES, "p"), "ex": _row(Role.WRITES, "c"), "vim": _row(Role.WRITES, "cSTuU"), "vi": _row(Role.WRITES, "c"), "nano": _row(Role.WRITES),
    "black": _row(Role.WRITES, "lt"), "gofmt": _row(Role.WRITES), "rustfmt": _row(Role.WRITES),
    "openssl": _row(Role.NONE), "gpg": _row(Role.READS, "ru", "recipient", writes="o output"), "sqlite3": _row(Role.WRITES, "", "cmd"), "pg_dump": _row(Role.NONE, "dhpUW", writes="f file"),
    "python": _row(Role.NONE), "dd": _row(Role.NONE), "tar": _row(Role.NONE), "curl": _row(Role.NONE, "dFHXAbeuxmrTUQzwyYCEPt", "data header request user-agent user proxy max-time", writes="o output D dump-header c cookie-jar trace trace-ascii stderr output-dir", reads="K config upload-file netrc-file cert key cacert"),
    "wget": _row(Role.NONE, "eUtTwQIADRXlB", "header post-data user password", writes="O output-document P directory-prefix o output-file a append-output", reads="i input-file post-file"),
    "at": _row(Role.NONE, "qtd", reads="f"), "crontab": _row(Role.READS, "u"),
}  # fmt: skip
TABLE |= dict.fromkeys("egrep fgrep zgrep ag ack".split(), TABLE["grep"])
TABLE |= dict.fromkeys("gawk mawk nawk".split(), TABLE["awk"])
PROGRAMS = frozenset(TABLE) | {"find"}


def files(name: str, words: Sequence[str]) -> Iterator[tuple[Use, str]]:
    """Every word, or value inside a word, that names a file."""
    if name == "dd":
        yield from _dd(words)
        return
    if name == "tar":
        yield from _tar(words)
        return
    if name == "find":
        yield from _find(words)
        return
    row = TABLE[name]
    found: list[Option] = []
    operands: list[str] = []
    for item in scan(words, row.options):
        if isinstance(item, int):
            operands.append(words[item])
        else:
            found.append(item)
    used = {option.name for option in found}
    for option in found:
        if option.value is not None and option.name in row.uses:
            yield row.uses[option.name], option.value
    yield from _by_role(name, row, operands[0 if used & row.instead else row.skip :], used)


def _by_role(name: str, row: Operands, operands: list[str], used: set[str]) -> Iterator[tuple[Use, str]]:
    in_place = name == "sed" and any(option == "i" or option.startswith("in-place") for option in used)
    recursive_move = bool({"t", "target-directory"} & used)
    match row.role:
        case Role.READS:
            yield from ((Use.WRITE if in_place else Use.READ, word) for word in operands)
        case Role.WRITES:
            yield from ((Use.WRITE, word) for word in operands)
        case Role.DELETES:
            yield from ((Use.DELETE, word) for word in operands)
        case Role.REPLACES:
            yield from ((Use.DELETE, word) for word in operands if not used & {"c", "k", "stdout", "keep", "l", "t"})
            yield from ((Use.WRITE, word) for word in operands if not used & {"c", "stdout", "l", "t"})
        case Role.FILTERS:
            yield from ((Use.READ, word) for word in operands[:1])
            yield from ((Use.WRITE, word) for word in operands[1:])
        case Role.COPIES | Role.MOVES:
            last = [] if recursive_move else operands[-1:]
            first = operands if recursive_move else operands[:-1]
            yield from ((Use.READ if row.role is Role.COPIES else Use.DELETE, word) for word in first)
            yield from ((Use.WRITE, word) for word in last)
        case Role.NONE:
            return


def _dd(words: Sequence[str]) -> Iterator[tuple[Use, str]]:
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key == "if":
            yield Use.READ, value
        elif key == "of":
            yield Use.WRITE, value


_TAR = _row(Role.NONE, "bCfFgHIKLNTVX", "directory file exclude use-compress-program", writes="C directory").options


def _tar(words: Sequence[str]) -> Iterator[tuple[Use, str]]:
    """The first word may be a cluster without its dash; the mode says whether the archive or the place is written."""
    listed = list(words)
    if len(listed) > 1 and listed[1][:1].isalpha():
        listed[1] = "-" + listed[1]
    options = [item for item in scan(listed, _TAR) if isinstance(item, Option)]
    operands = [listed[item] for item in scan(listed, _TAR) if isinstance(item, int)]
    names = {option.name for option in options}
    archive = [option.value for option in options if option.name in ("f", "file") and option.value]
    place = [option.value for option in options if option.name in ("C", "directory") and option.value]
    creates = bool(names & set("cruA") or names & {"create", "append", "update"})
    extracts = bool(names & {"x", "extract", "get"})
    yield from ((Use.WRITE if creates else Use.READ, word) for word in archive if word != "-")
    if creates:
        yield from ((Use.READ, word) for word in operands)
    if extracts:
        yield from ((Use.WRITE, word) for word in place or ["."])


_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})


def _find(words: Sequence[str]) -> Iterator[tuple[Use, str]]:
    roots = []
    for word in words[1:]:
        if word[:1] in ("-", "(", "!"):
            break
        roots.append(word)
    deletes = "-delete" in words
    yield from ((Use.DELETE if deletes else Use.READ, word) for word in roots or ["."])
    for index, word in enumerate(words[:-1]):
        if word in _FIND_WRITES:
            yield Use.WRITE, words[index + 1]
