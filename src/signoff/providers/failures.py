"""What an error of a vendor means: which error of ours, and whether trying again makes sense. Pure."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from signoff.domain.errors import (
    ContextOverflow,
    ModelError,
    ModelRateLimited,
    ModelRejected,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnreachable,
)
from signoff.domain.unreadable import UNREADABLE
from signoff.providers.dialect import Trouble, string, table

OVERFLOW = re.compile(
    r"""context_length_exceeded|exceed_context_size|maximum\ context\ length|context\ (?:length|window|size|limit)[^.]{0,40}
    (?:exceed|overflow|reached|too)|(?:exceeds?|larger\ than|beyond|overflows?)[^.]{0,40}context\ (?:length|window|size|limit)
    |prompt\ is\ too\ long|(?:input|prompt)\ (?:is\ )?too\ long|maximum\ prompt\ length|input\ token\ count[^.]{0,40}exceeds
    |reduce\ the\ length\ of\ the\ messages|max_new_tokens\ must\ be\ <=|request_too_large|context\ the\ overflows""",
    re.IGNORECASE | re.VERBOSE,
)
"""How OpenAI, Anthropic, vLLM, llama.cpp, LM Studio, OpenRouter, Gemini, Mistral, Groq, xAI, TGI say it."""

OUT_OF_MONEY = re.compile(r"insufficient_quota|credit balance|billing|insufficient credits|payment", re.IGNORECASE)
TRANSIENT = re.compile(r"overloaded|server_error|api_error|internal|unavailable|timeout|try again", re.IGNORECASE)
RATE = re.compile(r"rate.?limit|too many requests|resource_exhausted", re.IGNORECASE)
LONGEST_MESSAGE = 400


def judge_status(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Trouble:
    """What an answer that is no stream means. `now` is the time of day in seconds."""
    kind, message = describe(body)
    said = f": {message}" if message else ""
    after = retry_after(headers, now)
    again = headers.get("x-should-retry", "") != "false"
    if status in (401, 403):
        hint = "Check the key; docs/providers.md says where it is looked for."
        return Trouble(ModelUnauthorized(f"the provider refused the key ({status}){said}", hint=hint))
    if status == 429 or status == 402:
        if status == 402 or OUT_OF_MONEY.search(f"{kind} {message}"):
            return Trouble(
                ModelRateLimited(f"the account is used up ({status}){said}", hint="Look at its billing page.")
            )
        return Trouble(ModelRateLimited(f"the provider is asked too often (429){said}"), again=again, after_s=after)
    if status in (400, 413, 422, 500) and (status == 413 or OVERFLOW.search(f"{kind} {message}")):
        return Trouble(ContextOverflow(f"the conversation is longer than the model can read{said}"))
    if status in (408, 409, 425) or status >= 500:
        kinds: type[ModelError] = ModelTimeout if status in (408, 504) else ModelUnreachable
        return Trouble(kinds(f"the provider is in trouble ({status}){said}"), again=again, after_s=after)
    if 300 <= status < 400:
        where = f"the address answers with a redirect ({status})"
        return Trouble(ModelRejected(where, hint="Set the base URL to where it points."))
    if status == 404:
        hint = '"signoff models" lists the models; a wrong base URL gives this as well.'
        return Trouble(ModelRejected(f"the provider does not know this model or address (404){said}", hint=hint))
    return Trouble(ModelRejected(f"the provider does not take the request ({status}){said}"))


def judge_event(error: Mapping[str, Any]) -> Trouble:
    """An error in the middle of a stream, where the status was already 200."""
    kind = " ".join(string(error.get(name)) for name in ("type", "code")).strip()
    message = string(error.get("message"))[:LONGEST_MESSAGE] or kind
    words = f"{kind} {message}"
    status = error.get("code")
    if isinstance(status, int) and status >= 400:  # OpenRouter and vLLM give the status here
        return judge_status(status, {}, msgspec.json.encode({"error": dict(error)}), 0.0)
    if OVERFLOW.search(words):
        return Trouble(ContextOverflow(f"the conversation is longer than the model can read: {message}"))
    if OUT_OF_MONEY.search(words):
        return Trouble(ModelRateLimited(f"the account is used up: {message}", hint="Look at its billing page."))
    if RATE.search(words):
        return Trouble(ModelRateLimited(f"the provider is asked too often: {message}"), again=True)
    if "authentication" in kind or "permission" in kind:
        return Trouble(ModelUnauthorized(f"the provider refused the key: {message}"))
    if "invalid" in kind or not TRANSIENT.search(words):
        return Trouble(ModelRejected(f"the provider gave up on the answer: {message}"))
    return Trouble(ModelUnreachable(f"the provider is in trouble: {message}"), again=True)


def describe(body: bytes) -> tuple[str, str]:
    """The vendor's word for an error and its sentence, out of any of the shapes they use."""
    text = " ".join(body.decode("utf-8", "replace").split())
    try:
        value = msgspec.json.decode(body)
    except UNREADABLE:
        return "", re.sub(r"<[^>]*>", " ", text).strip()[:LONGEST_MESSAGE]
    if isinstance(value, list) and value:  # Gemini
        value = value[0]
    whole = table(value)
    error = whole.get("error", whole)
    if isinstance(error, str):
        return "", error[:LONGEST_MESSAGE]
    inner = table(error)
    kind = " ".join(filter(None, (string(inner.get(name)) for name in ("type", "code", "status"))))
    message = string(inner.get("message")) or string(whole.get("message")) or string(whole.get("detail"))
    return kind, " ".join(message.split())[:LONGEST_MESSAGE] or text[:LONGEST_MESSAGE]


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the vendor wants us to wait: as seconds, as milliseconds, or as a date."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1_000
    told = headers.get("retry-after", "")
    if (seconds := _number(told)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", text, re.ASCII) else None
