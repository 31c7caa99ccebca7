"""Whether a value is a secret, given how strongly its name promises one."""

import base64
import binascii

from signoff.ledger.redact.mask import holds_mask
from signoff.ledger.redact.names import Promise
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.randomness import surprise

LONGEST = 4096  # characters; what is longer is data
UUID = pattern(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
HEX = pattern(r"[0-9a-f]+|[0-9A-F]+|0x[0-9a-fA-F]+")
_REFERENCE = pattern(
    r"\$[\w({]|\$\{|%\(|%[A-Za-z_]\w*%|%[sdr]$|\{\{|\{[\w.:!]*\}|#\{|<[^>]*>?$|\[[\w .-]*\]$|@\w+@$|`|ENC[\[(]|\{cipher\}|vault:|op://|"
    r"arn:|projects/|secretref|\(\(|!\w+ |&\w+$|env[.:(]|process\.env|os\.|self\.|this\.|args\.|config\.|settings\.|ctx\."
)
_PLACEHOLDER = pattern(
    r"change_?-?me|your|_here|-here|example|sample|dummy|placeholder|redacted|insert|replace|todo|fixme|foobar|lorem|"
    r"my_?-?(?:secret|token|pass|key|api)|<.*>|\.\.\.|test[-_]?(?:pass|token|secret|key)|fake|mock|none|null|undefined|"
    r"not[-_]?(?:set|used|a)|enter[-_ ]|abc123|123456|qwerty|asdf"
)
_WORDLIKE = pattern(
    r"pass(?:word|wd|phrase)?|pwd|secret|token|key|user(?:name)?|admin|root|guest|test|none|null|true|false|string|default|bearer|basic"
)
_NAMES_ITSELF = pattern(r"key|token|secret|passw|phrase|^[a-z]+(?:[_-][a-z]+)+$|:[a-z_]+:")  # private_key, my-file
_SEQUENCES = ("abcdefghij", "0123456789", "1234567890", "ABCDEFGHIJ", "qwertyuiop", "9876543210")
_FILE = pattern(
    r"(?:~|\.{0,2})/[\w./-]+|[\w-]+\.(?:pem|key|crt|cer|p12|pfx|jks|json|ya?ml|txt|py|js|ts|go|html?|env|toml|conf|sh|xml|com|org|net|io)|[A-Za-z]:\\.*|\w+://[^@]*"
)
_VERSION = pattern(r"v?\d+(?:\.\d+){1,3}[\w.+-]{0,12}|[\w-]+-\d+\.\d+(?:\.\d+)?[\w.-]*|\d{4}-\d\d-\d\d[T\d:.Z+-]*")
_PATH = pattern(r"[\w.~-]*(?:/[\w.~-]+)+/?")
_LETTERS = pattern(r"[A-Za-z]")
_DIGIT = pattern(r"[0-9]")
_ODD = pattern(r"[^A-Za-z0-9_.:/\s-]")
_REGEXLIKE = pattern(r"\\[dswbDSWB.]|\(\?|\[\^|\.[*+]|\^|[*+]\)|\]\+|\]\*|\$$|%[sd(]|\[a-z|\[0-9|\[A-Z|\{\d+,")
_CHARACTER_CLASS = pattern(r"\[(?:\^|a-z|A-Z|0-9|\\)")
_CHAIN = pattern(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+|[A-Za-z_]+\d{0,2}")
_BASE64 = pattern(r"[A-Za-z0-9+/_-]{8,}={0,2}")


def is_reference(value: str) -> bool:
    return _REFERENCE.match(value) is not None or holds_mask(value)


def is_placeholder(value: str) -> bool:
    """Stand-ins people write where a secret will go. Only short or wordy values are excused by the words in them."""
    if len(set(value)) <= 3 or _WORDLIKE.fullmatch(value.lower()):
        return True
    if any(sequence in value for sequence in _SEQUENCES) and len(value) < 32:
        return True
    wordy = len(value) < 16 or (len(value) < 32 and not is_random(value, 5.6))
    return wordy and _PLACEHOLDER.search(value.lower()) is not None


def is_hash_shaped(value: str) -> bool:
    return UUID.fullmatch(value) is not None or HEX.fullmatch(value) is not None


def is_random(value: str, bar: float) -> bool:
    if not _DIGIT.search(value):
        bar += 0.5
    return surprise(value) >= bar


def wraps_credentials(value: str) -> bool:
    """Base64 of `user:password`, as HTTP Basic and container registries write it."""
    if not _BASE64.fullmatch(value):
        return False
    try:
        inside = base64.b64decode(
            value + "=" * (-len(value) % 4), altchars=b"-_" if "-" in value or "_" in value else None
        )
    except (binascii.Error, ValueError):
        return False
    return b":" in inside[1:-1] and all(32 <= byte < 127 for byte in inside)


def _is_number(value: str, name: Promise) -> bool:
    least = 8 if name is Promise.CHOSEN else 14
    return (
        value.isdigit()
        and name >= Promise.STRONG
        and len(value) >= least
        and len(set(value)) > 4
        and not is_placeholder(value)
    )


def _looks_chosen(value: str) -> bool:
    """A password a person made up: letters with digits or with signs that prose and paths do not have."""
    if not 6 <= len(value) <= 128 or not _LETTERS.search(value) or _REGEXLIKE.search(value):
        return False
    odd = set(_ODD.findall(value))
    return has_digit(value) or len(odd) >= 3 or (len(odd) >= 1 and len(value) >= 12 and "%" not in value)


def _is_wild(value: str) -> bool:
    """No digits needed where so many different signs stand among letters."""
    return (
        len(value) >= 11
        and len(set(_ODD.findall(value))) >= 5
        and not _REGEXLIKE.search(value.strip("$^"))
        and value[-1:] != "("
    )


def is_secret(value: str, name: Promise, *, quoted: bool) -> bool:
    """Whether `value`, standing where a value of that name stands, must not be shown."""
    if name is Promise.NONE or not 6 <= len(value) <= LONGEST or is_reference(value) or " " in value or "\t" in value:
        return False
    if is_hash_shaped(value):
        if value.isdigit():
            return _is_number(value, name)
        return name >= Promise.STRONG and len(value) >= 16 and len(set(value)) > 4
    if name >= Promise.STRONG and _is_wild(value):
        return True
    if is_placeholder(value) or _is_ordinary(value) or _CHARACTER_CLASS.search(value):
        return False
    if not quoted and _CHAIN.fullmatch(value) and not (len(value) >= 10 and has_digit(value) and is_random(value, 5.2)):
        return False
    if name is Promise.WEAK:
        return len(value) >= 16 and has_digit(value) and is_random(value, 5.0)
    if len(value) >= 10 and is_random(value, 4.55):
        return True
    if len(value) >= 16 and has_digit(value) and _looks_repeated(value):
        return True
    return name is Promise.CHOSEN and _looks_chosen(value) and (quoted or has_odd_sign(value))


def is_given(value: str) -> bool:
    """Whether a word given to an option that takes a secret is one: anything but a stand-in, a name or a place."""
    if not 6 <= len(value) <= LONGEST or value.startswith("-") or value.isupper() or is_reference(value):
        return False
    names_itself = not has_digit(value) and _NAMES_ITSELF.search(value.lower())
    return not (is_placeholder(value) or _is_ordinary(value) or names_itself)


def has_digit(value: str) -> bool:
    return _DIGIT.search(value) is not None


def has_odd_sign(value: str) -> bool:
    return _ODD.search(value) is not None


def _is_ordinary(value: str) -> bool:
    """Paths, file names, addresses and versions."""
    if _FILE.fullmatch(value) or _VERSION.fullmatch(value):
        return True
    return _PATH.fullmatch(value) is not None and not is_random(value, 5.0)


def _looks_repeated(value: str) -> bool:
    """Made-up tokens of one block said again and again: no words, but little surprise either."""
    return len(set(value)) >= 8 and sum(map(str.isdigit, value)) >= len(value) // 4
