"""Redaction: no secret is written, shown or sent. See docs/redaction.md for the promises and the limits."""

from signoff.ledger.redact.redactor import Redactor, Stream

__all__ = ["Redactor", "Stream"]
