"""Randomness without a name of its own: told from hashes, identifiers and base64 data by what stands around it."""

from signoff.ledger.redact.mask import Span, holds_mask
from signoff.ledger.redact.names import words
from signoff.ledger.redact.pattern import pattern
from signoff.ledger.redact.randomness import surprise
from signoff.ledger.redact.values import UUID, is_hash_shaped

_HARMLESS = pattern(
    r"base64|sha\d|sha_|sha-|integrity|data:|ssh-|ecdsa|fingerprint|etag|trace|commit|https?:|checksum|digest|hash|md5|nonce|uuid|guid|"
    r"signature|src=|href=|cursor|next_?token|pubkey|cache|public|certificate|revision|image|\bid\b|etag|version|boundary|csrf|xsrf|class=|path|regex|charset|alphabet|url"
)
_HINT = pattern(r"api|key|token|secret|auth|access|client|credential|passw|login")
_NAMED = pattern(r"(?P<name>[\w.-]{2,60})[\"'\])]{0,3}[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,4}[\"'`]$")
_OWN_IDS = (
    "call_", "toolu_", "msg_", "chatcmpl-", "resp_", "req_", "run_", "thread_", "file-", "evt_", "cus_", "i-0", "Qm", "h1:",
    "sha", "pk_", "arn:", "vpc-", "subnet-", "sg-", "ami-", "vol-", "snap-", "AAAA", "asst_", "step_", "pi_", "sub_", "prod_", "price_",
)  # fmt: skip
_NAMES_OF_HASHES = frozenset(
    [
        "id",
        "ids",
        "hash",
        "sha",
        "digest",
        "checksum",
        "etag",
        "commit",
        "revision",
        "nonce",
        "uuid",
        "guid",
        "cursor",
        "signature",
        "sri",
        "integrity",
    ]
)
_LONGEST = 200
_SPLIT = pattern(r"[\w+/-]{20,}(?:={1,2})?")


def noise(text: str, start: int, end: int) -> Span | None:
    """The random part of this run of token characters, if nothing around it explains it."""
    if end - start > _LONGEST + 40:
        return None
    for part in _SPLIT.finditer(text, start, end):
        if _is_noise(part[0]) and _is_unexplained(text, part.start(), part.end()):
            return Span(part.start(), part.end(), "random")
    return None


def _is_noise(value: str) -> bool:
    digits = sum(map(str.isdigit, value))
    if not 20 <= len(value) <= _LONGEST or digits < 2 or digits * 10 > len(value) * 7 or value.startswith(_OWN_IDS):
        return False
    if is_hash_shaped(value) or UUID.search(value) or holds_mask(value) or value.count("/") > 3 or len(set(value)) < 12:
        return False
    return surprise(value) >= 5.6


def _is_unexplained(text: str, start: int, end: int) -> bool:
    line = text.rfind("\n", max(0, start - 200), start) + 1 or max(0, start - 200)
    before = text[max(line, start - 80) : start]
    if text[start - 1 : start] in ("+", "/", ".", "@", "#", "%", "&", "\\") or text[end : end + 1] in (
        "+",
        "/",
        ".",
        "@",
        "(",
    ):
        return False
    low = before.lower()
    if _HARMLESS.search(low):
        return False
    named = _NAMED.search(before)
    if named is not None:
        last = (words(named["name"]) or [""])[-1]
        return last not in _NAMES_OF_HASHES and text[end : end + 1] in ('"', "'", "`")
    if _HINT.search(low):
        return True
    quoted = text[start - 1 : start] in ('"', "'") and text[end : end + 1] == text[start - 1 : start]
    return (
        quoted
        and text[start - 2 : start - 1] in (" ", "=", ",", "[")
        and 32 <= end - start <= 72
        and _MIXED.match(text, start, end) is not None
        and surprise(text[start:end]) >= 5.8
    )


_MIXED = pattern(r"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])[\w-]+={0,2}$")
