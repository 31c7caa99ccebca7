"""What may be remembered. A secret is refused, never masked and kept; private details are masked."""

import msgspec

from signoff.domain.errors import MemoryBadRequest
from signoff.domain.settings import Redact
from signoff.ledger.redact import Redactor
from signoff.memory.interface import Candidate


def holds_secret(text: str) -> bool:
    redactor = Redactor(Redact.BASIC, reversible=False)
    redactor.text(text)
    return bool(redactor.kinds)


def admitted(candidate: Candidate) -> Candidate:
    """The candidate as it may be stored: e-mail addresses, home directories and the like masked. Refuses secrets."""
    if not candidate.question.strip() or not candidate.answer.strip():
        raise MemoryBadRequest("a question and an answer are needed")
    if _harmless(candidate):
        return candidate
    strict = Redactor(Redact.STRICT, reversible=False)
    fields = {
        "question": strict.text(candidate.question),
        "answer": strict.text(candidate.answer),
        "summary": strict.text(candidate.summary) if candidate.summary else None,
        "source": strict.text(candidate.source) if candidate.source else None,
        "tags": tuple(strict.text(tag) for tag in candidate.tags),
        "metadata": strict.value(candidate.metadata) if candidate.metadata else {},
    }
    if found := _secrets(candidate):
        raise MemoryBadRequest(
            f"not remembered: it holds a secret ({', '.join(sorted(found))})", hint="Say it without the secret."
        )
    return msgspec.structs.replace(candidate, **fields)


def _harmless(candidate: Candidate) -> bool:
    """All of it in one reading, which is what nearly every candidate needs."""
    strict = Redactor(Redact.STRICT, reversible=False)
    parts = (candidate.question, candidate.answer, candidate.summary or "", candidate.source or "", *candidate.tags)
    strict.text("\n\n".join(part for part in parts if part))
    if candidate.metadata:
        strict.value(candidate.metadata)
    return not strict.kinds


def _secrets(candidate: Candidate) -> set[str]:
    basic = Redactor(Redact.BASIC, reversible=False)
    for text in (candidate.question, candidate.answer, candidate.summary, candidate.source, *candidate.tags):
        basic.text(text or "")
    basic.value(candidate.metadata)
    return basic.kinds
