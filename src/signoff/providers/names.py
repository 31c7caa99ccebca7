"""Which model is meant: `provider/model`, read without looking anything up."""

import msgspec

from signoff.domain.errors import UsageError

SCRIPTED, REPLAY, ECHO = "scripted", "replay", "echo"


class ModelName(msgspec.Struct, frozen=True):
    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


def parse(text: str) -> ModelName:
    """The part before the first slash is the provider; the rest is the provider's own name and may hold slashes."""
    provider, slash, model = text.strip().partition("/")
    if not slash or not provider or not model:
        raise UsageError(
            f"{text!r} names no model",
            hint="Write PROVIDER/MODEL, for example anthropic/claude-sonnet-4-5, ollama/qwen3 or scripted/FILE.",
        )
    return ModelName(provider.lower(), model)
