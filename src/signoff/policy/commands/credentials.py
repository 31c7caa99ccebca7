"""Names under which people keep secrets. A program that only reads is not harmless when it reads one of these."""

import fnmatch
import re

from signoff.domain.late import late_pattern
from signoff.policy.rules.sensitive import DEVICES, ENVIRONMENT, IN_A_HOME, SYSTEM, is_protected

_STORES = "id_rsa id_dsa id_ecdsa id_ed25519 id_xmss credentials.json secring.gpg login.keychain".split()
_NAME = "|".join(re.escape(name.casefold()) for name in (*IN_A_HOME, *_STORES))
_PLACE = rf"(?:^|[/=:@,\s])(?:(?:{_NAME})(?:$|[/.:])|{ENVIRONMENT})|{SYSTEM}|/etc/ssh/|(?:^(?:-\w)?|[=:@,\s]){DEVICES}"
_CREDENTIAL = late_pattern(rf"{_PLACE}|(?:^|[/=:@,\s])[^/\s]*\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk|asc|key|keychain)$")
_STORE = late_pattern(_PLACE)
_SAMPLES = (
    *(".env", ".env.local", ".env.production"),
    *(name for name in IN_A_HOME if "/" not in name),
    *_STORES[:4],
    *("server.pem", "private.key", "keystore.jks"),
)
_SYSTEM = tuple(
    path.split("/")
    for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/proc/self/environ", "/proc/1/environ", "/proc/1/mem", "/run/secrets", "/dev/sda", "/dev/mem", "/dev/tty")
)  # fmt: skip
_WILD = late_pattern(r"[*?\[]")


def is_credential(text: str) -> bool:
    """Whether a word, or the value inside it, names a place where secrets are kept."""
    return _CREDENTIAL.search(text.casefold()) is not None


def names_a_store(text: str) -> bool:
    """The same by place and full name only: `.key` at the end of a word may be a filter, a regular expression, a field."""
    return not any(map(str.isspace, text)) and _STORE.search(text.casefold()) is not None


def names_a_protected_place(text: str) -> bool:
    """Whether a word, or a value inside it, is a path that programs take their orders from."""
    return not any(map(str.isspace, text)) and any(is_protected("/" + part) for part in re.split("[=:,@]", text))


def may_be_credential(pattern: str) -> bool:
    """Whether a glob could find such a place. A leading dot has to be written, as the shell demands."""
    pattern = pattern.casefold()
    if is_credential(pattern.replace("*", "x").replace("?", "x")):
        return True
    if "[:" in pattern or "[=" in pattern or "[." in pattern:
        return True  # classes by name are not worked out here
    parts = pattern.split("/")
    for part in parts:
        if _WILD.search(part) and (part[0] == "." or part.strip("*?")):
            for name in _SAMPLES:
                if (name[0] != "." or part[0] == ".") and fnmatch.fnmatchcase(name, _bash_class(part)):
                    return True
    return pattern[:1] == "/" and any(_could_reach(parts, target) for target in _SYSTEM)


def _could_reach(parts: list[str], target: list[str]) -> bool:
    """Component by component, as deep as both go: a glob over a parent directory finds what is below it."""
    if len(parts) < len(target):
        return False
    return all(fnmatch.fnmatchcase(name, _bash_class(part)) for part, name in zip(parts, target, strict=False))


def _bash_class(part: str) -> str:
    return part.replace("[^", "[!")
