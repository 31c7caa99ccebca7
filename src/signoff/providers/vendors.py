"""Every provider that is reached over HTTP: one row each. What speaks a known dialect needs nothing but a row."""

import enum
from urllib.parse import urlsplit

import msgspec

from signoff.domain.errors import ConfigError


class Speaks(enum.Enum):
    CHAT = "chat completions"
    RESPONSES = "responses"
    MESSAGES = "messages"


class Vendor(msgspec.Struct, frozen=True):
    name: str
    title: str
    speaks: Speaks
    url: str
    key_variables: tuple[str, ...]  # the first that is set counts
    url_variables: tuple[str, ...] = ()
    needs_key: bool = True
    limit_name: str = "max_tokens"
    token_variable: str = ""  # one of the key variables whose value goes out as a bearer token
    port: int | None = None  # for an address without scheme, as OLLAMA_HOST has it
    suffix: str = ""  # what such an address lacks

    def address(self, url: str) -> str:
        """The base URL in the one form that is used. Raises ConfigError where it is none."""
        try:
            bare = "://" not in url
            parts = urlsplit(f"http://{url}" if bare and self.port else url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
            raise ConfigError(f"the base URL of {self.name} is no http address")
        if self.port is None:
            return url.rstrip("/")
        host = "127.0.0.1" if host == "0.0.0.0" else f"[{host}]" if ":" in host else host  # noqa: S104
        place = f"{parts.scheme}://{host}:{port or (self.port if bare else 443 if parts.scheme == 'https' else 80)}"
        path = parts.path.rstrip("/")
        return place + (path if path.endswith(self.suffix) else path + self.suffix)


VENDORS: dict[str, Vendor] = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            "openai",
            "OpenAI (Chat Completions), and any server that speaks the same",
            Speaks.CHAT,
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
            limit_name="max_completion_tokens",
        ),
        Vendor(
            "openai-responses",
            "OpenAI (Responses)",
            Speaks.RESPONSES,
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        ),
        Vendor(
            "anthropic",
            "Anthropic (Messages)",
            Speaks.MESSAGES,
            "https://api.anthropic.com",
            ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            ("ANTHROPIC_BASE_URL",),
            token_variable="ANTHROPIC_AUTH_TOKEN",  # noqa: S106
        ),
        Vendor(
            "openrouter",
            "OpenRouter",
            Speaks.CHAT,
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY",),
            ("OPENROUTER_BASE_URL",),
        ),
        Vendor(
            "gemini",
            "Google Gemini",
            Speaks.CHAT,
            "https://generativelanguage.googleapis.com/v1beta/openai",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            ("GEMINI_BASE_URL",),
        ),
        Vendor(
            "mistral", "Mistral", Speaks.CHAT, "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), ("MISTRAL_BASE_URL",)
        ),
        Vendor(
            "deepseek",
            "DeepSeek",
            Speaks.CHAT,
            "https://api.deepseek.com/v1",
            ("DEEPSEEK_API_KEY",),
            ("DEEPSEEK_BASE_URL",),
        ),
        Vendor("groq", "Groq", Speaks.CHAT, "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), ("GROQ_BASE_URL",)),
        Vendor("xai", "xAI", Speaks.CHAT, "https://api.x.ai/v1", ("XAI_API_KEY",), ("XAI_BASE_URL",)),
        Vendor(
            "ollama",
            "Ollama on this machine",
            Speaks.CHAT,
            "http://127.0.0.1:11434/v1",
            ("OLLAMA_API_KEY",),
            ("OLLAMA_BASE_URL", "OLLAMA_HOST"),
            needs_key=False,
            port=11434,
            suffix="/v1",
        ),
        Vendor(
            "vllm",
            "vLLM on this machine",
            Speaks.CHAT,
            "http://127.0.0.1:8000/v1",
            ("VLLM_API_KEY",),
            ("VLLM_BASE_URL",),
            needs_key=False,
        ),
        Vendor(
            "lmstudio",
            "LM Studio on this machine",
            Speaks.CHAT,
            "http://127.0.0.1:1234/v1",
            ("LMSTUDIO_API_KEY",),
            ("LMSTUDIO_BASE_URL",),
            needs_key=False,
        ),
    )
}
