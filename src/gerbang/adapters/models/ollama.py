"""Ollama by its own protocol, POST /api/chat."""

from collections.abc import AsyncGenerator
from typing import Final

from gerbang.adapters.models.address import parse_address
from gerbang.adapters.models.http import Wire, deadline_in
from gerbang.adapters.models.ollama_body import encode
from gerbang.adapters.models.ollama_reading import OllamaReading
from gerbang.ports import Secrets
from gerbang.values.model import ModelEvent, ModelRequest

DEFAULT_URL: Final = "http://127.0.0.1:11434"
DEFAULT_CONTEXT: Final = 8_192
"""Tokens. Ollama's own default is smaller than most models allow, and it cuts the rest away silently; so the
window is always asked for, and is then known."""
_EXAMPLE: Final = "ollama:qwen2.5:7b-instruct@http://127.0.0.1:11434"


class OllamaModel:
    """Implements `gerbang.ports.Model`. `where` is `MODEL@URL`, or `MODEL` for a server on this machine.

    Other arguments as in `gerbang.adapters.models.open_model`. Raises ConfigError.
    """

    writes_prose = True

    def __init__(
        self,
        where: str,
        *,
        secrets: Secrets | None = None,
        key_name: str | None = None,
        context: int | None = None,
        connect_timeout_s: float | None = None,
        idle_timeout_s: float | None = None,
        retries: int | None = None,
    ) -> None:
        address = parse_address(where, "ollama", _EXAMPLE, DEFAULT_URL)
        self.name = f"ollama:{address.model}@{address.url}"
        self.context_tokens: int | None = context or DEFAULT_CONTEXT
        self._model = address.model
        self._wire = Wire(
            address,
            secrets=secrets,
            key_name=key_name,
            default_key=None,
            connect_timeout_s=connect_timeout_s,
            idle_timeout_s=idle_timeout_s,
            retries=retries,
        )

    async def answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer's events. Closing the iterator early ends the connection.

        Raises ModelUnavailable, ModelTimeout, ModelProtocol and ModelFault. An answer that breaks off after
        some of it arrived ends with `ModelDone("disconnected")`.
        """
        body = encode(request, self._model, self.context_tokens or DEFAULT_CONTEXT)
        async with self._wire.post("/api/chat", body, deadline_in(request.timeout_s)) as answer:
            reading = OllamaReading(answer, self._wire, stream=request.stream)
            while not reading.over:
                for event in await reading.more():
                    yield event

    async def aclose(self) -> None:
        """Close the connections. May be called more than once."""
        await self._wire.aclose()
