"""Ways to reach a model. Each translates between the neutral messages and one provider's wire.

`open_model` takes an address::

    embedded:                               the offline model in a child process (extra `embedded`)
    openai:MODEL@http://HOST:PORT/v1        any server with OpenAI's chat completions
    ollama:MODEL@http://HOST:PORT           Ollama's own /api/chat
    gguf:PATH                               a GGUF file, served by llama.cpp in a child process (extra `gguf`)
"""

from collections.abc import Callable
from typing import Any, Final

from gerbang.errors import ConfigError
from gerbang.ports import Model, Secrets

KINDS: Final = ("embedded:", "openai:MODEL@URL", "ollama:MODEL@URL", "gguf:PATH")


def open_model(
    address: str,
    *,
    secrets: Secrets | None = None,
    api_key_secret: str | None = None,
    context: int | None = None,
    connect_timeout_s: float | None = None,
    idle_timeout_s: float | None = None,
    retries: int | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Model:
    """Return the model at an address. Starts and connects to nothing yet; close it with `aclose`.

    `api_key_secret` names the secret that holds the server's key (default `OPENAI_API_KEY` for `openai:`,
    none for others). `context` is the context window in tokens, when the server does not tell it.
    `connect_timeout_s` and `idle_timeout_s` (silence in an answer) are seconds, `retries` counts further
    attempts; None means the default of `gerbang.adapters.models.http`. `on_progress` hears, in a sentence,
    what a slow start is waiting for. Raises ConfigError for an address that names nothing, or an extra
    that is not installed.
    """
    kind, found, rest = address.partition(":")
    if not found:
        raise ConfigError(f"{address[:200]!r} is no model address. Write one of: {', '.join(KINDS)}.")
    if kind == "embedded":
        if rest:
            raise ConfigError(f"The address `embedded:` takes nothing after the colon; found {rest[:200]!r}.")
        from gerbang.adapters.models.embedded import EmbeddedModel

        return EmbeddedModel()
    wire: dict[str, Any] = {
        "secrets": secrets,
        "key_name": api_key_secret,
        "context": context,
        "connect_timeout_s": connect_timeout_s,
        "idle_timeout_s": idle_timeout_s,
        "retries": retries,
    }
    if kind == "openai":
        from gerbang.adapters.models.openai import OpenAIModel

        return OpenAIModel(rest, **wire)
    if kind == "ollama":
        from gerbang.adapters.models.ollama import OllamaModel

        return OllamaModel(rest, **wire)
    if kind == "gguf":
        from gerbang.adapters.models.gguf import GgufModel

        return GgufModel(rest, context=context, idle_timeout_s=idle_timeout_s, on_progress=on_progress)
    raise ConfigError(f"There is no model kind {kind[:50]!r}. Write one of: {', '.join(KINDS)}.")
