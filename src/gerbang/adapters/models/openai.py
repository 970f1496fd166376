"""Any server with OpenAI's chat completions: llama.cpp, vLLM, SGLang, LM Studio, hosted ones."""

from collections.abc import AsyncGenerator
from typing import Final

from gerbang.adapters.models.address import parse_address
from gerbang.adapters.models.http import Wire, deadline_in
from gerbang.adapters.models.openai_body import encode
from gerbang.adapters.models.openai_reading import OpenAIReading
from gerbang.ports import Secrets
from gerbang.values.model import ModelEvent, ModelRequest

DEFAULT_KEY: Final = "OPENAI_API_KEY"
_EXAMPLE: Final = "openai:qwen3@http://127.0.0.1:8080/v1"


class OpenAIModel:
    """Implements `gerbang.ports.Model`. `where` is `MODEL@URL`; the URL usually ends in /v1.

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
        address = parse_address(where, "openai", _EXAMPLE)
        self.name = f"openai:{address.model}@{address.url}"
        self.context_tokens = context
        self._model = address.model
        self._wire = Wire(
            address,
            secrets=secrets,
            key_name=key_name,
            default_key=DEFAULT_KEY,
            connect_timeout_s=connect_timeout_s,
            idle_timeout_s=idle_timeout_s,
            retries=retries,
        )

    async def answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer's events. Closing the iterator early ends the connection.

        Raises ModelUnavailable, ModelTimeout, ModelProtocol and ModelFault. An answer that breaks off after
        some of it arrived ends with `ModelDone("disconnected")`.
        """
        body = encode(request, self._model, stream_usage=True)
        async with self._wire.post("/chat/completions", body, deadline_in(request.timeout_s)) as answer:
            reading = OpenAIReading(answer, self._wire)
            while not reading.over:
                for event in await reading.more():
                    yield event

    async def aclose(self) -> None:
        """Close the connections. May be called more than once."""
        await self._wire.aclose()
