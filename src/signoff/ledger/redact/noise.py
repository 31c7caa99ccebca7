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
_STATED = pattern(r"^[ \t]*[A-Za-z][\w.-]{2,40}(?:: |=)$")  # name: value, and nothing else on the line
_LINE_END = pattern(r"[ \t]*\r?(?:\n|$)")
_OWN_IDS = (
    "call_", "toolu_", "msg_", "chatcmpl-", "resp_", "req_", "run_", "thread_", "file-", "evt_", "cus_", "i-0", "Qm", "h1:",
    "sha", "pk_", "arn:", "vpc-", "subnet-", "sg-", "ami-", "vol-", "snap-", "AAAA", "asst_", "step_", "pi_", "sub_", "prod_", "price_",
)  # fmt: skip
_HASH_NAMES = "id ids hash sha digest checksum etag commit revision nonce uuid guid cursor signature sri integrity"
_NAMES_OF_HASHES = frozenset(_HASH_NAMES.split())
_JOINTS = ("+", "/", ".", "@", "#", "%", "&", "\\", "(")  # the run goes on, or is part of an address
_OPENED = pattern(r"[ =,\[][\"']$")
_MIXED = pattern(r"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])[\w-]+={0,2}$")
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
    """Named like a value, or near a word that hints at a secret, or alone where only a value stands."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if before in _JOINTS or after in _JOINTS:
        return False
    left = text[max(0, start - 80) : start].rpartition("\n")[2]
    low = left.lower()
    if _HARMLESS.search(low):
        return False
    named = _NAMED.search(left)
    if named is not None:
        last = (words(named["name"]) or [""])[-1]
        return last not in _NAMES_OF_HASHES and after in ('"', "'", "`")
    return _HINT.search(low) is not None or _stands_alone(text, left, start, end)


def _stands_alone(text: str, left: str, start: int, end: int) -> bool:
    value = text[start:end]
    if _STATED.search(left) and _LINE_END.match(text, end):
        return len(value) >= 24 and surprise(value) >= 6.2
    if not _OPENED.search(left) or text[end : end + 1] != left[-1]:
        return False
    return 32 <= len(value) <= 72 and surprise(value) >= 5.8 and _MIXED.match(value) is not None
