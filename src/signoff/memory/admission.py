"""What may be remembered. A secret is refused, never masked and kept; private details are masked."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from signoff.domain.errors import MemoryBadRequest
from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor
from signoff.memory.interface import Candidate

C = TypeVar("C", bound=Candidate)

_AT_ONCE = 256  # candidates read for secrets in one go


def holds_secret(text: str) -> bool:
    redactor = Redactor(Redact.BASIC, reversible=False)
    redactor.text(text)
    return bool(redactor.kinds)


def admitted(candidates: Sequence[C]) -> list[C]:
    """The candidates as they may be stored: e-mail addresses, home directories and the like masked. Refuses secrets."""
    for candidate in candidates:
        if not candidate.question.strip() or not candidate.answer.strip():
            raise MemoryBadRequest("a question and an answer are needed")
    kept: list[C] = []
    for start in range(0, len(candidates), _AT_ONCE):
        kept += _admitted(candidates[start : start + _AT_ONCE])
    return kept


def _admitted(candidates: Sequence[C]) -> list[C]:
    """Nearly all are harmless: many are read as one text, and only where something was found each by itself."""
    if _harmless(candidates):
        return list(candidates)
    if len(candidates) == 1:
        return [_masked(candidates[0])]
    half = len(candidates) // 2
    return [*_admitted(candidates[:half]), *_admitted(candidates[half:])]


def _harmless(candidates: Sequence[Candidate]) -> bool:
    strict = Redactor(Redact.STRICT, reversible=False)
    strict.text("\n\n".join(text for candidate in candidates for text in _texts(candidate) if text))
    for candidate in candidates:
        if candidate.metadata:
            strict.value(candidate.metadata)
    return not strict.kinds


def _masked(candidate: C) -> C:
    if found := _secrets(candidate):
        raise MemoryBadRequest(
            f"not remembered: it holds a secret ({', '.join(sorted(found))})", hint="Say it without the secret."
        )
    strict = Redactor(Redact.STRICT, reversible=False)
    return msgspec.structs.replace(
        candidate,
        question=strict.text(candidate.question),
        answer=strict.text(candidate.answer),
        summary=strict.text(candidate.summary) if candidate.summary else None,
        source=strict.text(candidate.source) if candidate.source else None,
        author=strict.text(candidate.author) if candidate.author else None,
        tags=tuple(strict.text(tag) for tag in candidate.tags),
        metadata=strict.value(candidate.metadata) if candidate.metadata else {},
    )


def _secrets(candidate: Candidate) -> set[str]:
    basic = Redactor(Redact.BASIC, reversible=False)
    for text in _texts(candidate):
        basic.text(text or "")
    basic.value(candidate.metadata)
    return basic.kinds


def _texts(candidate: Candidate) -> tuple[str | None, ...]:
    return (
        candidate.question,
        candidate.answer,
        candidate.summary,
        candidate.source,
        candidate.author,
        candidate.thread,
        *candidate.tags,
    )
