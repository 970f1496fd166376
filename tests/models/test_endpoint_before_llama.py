"""The OpenAI-compatible endpoint before a real llama.cpp server and a real model."""

import asyncio
from typing import Any

import openai

from tests.server.running import started


def test_a_real_model_streams_through(llama: str) -> None:
    async def main(url: str) -> None:
        asked: dict[str, Any] = {
            "model": "gerbang",
            "messages": [{"role": "user", "content": "Tell me about rice."}],
            "max_tokens": 16,
            "temperature": 0,
            "tool_choice": "none",
        }
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as opened:
            pieces, usage, reason = [], None, None
            async for chunk in await opened.chat.completions.create(
                stream=True, stream_options={"include_usage": True}, **asked
            ):
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    pieces.append(choice.delta.content or "")
                    reason = choice.finish_reason or reason
            assert len([piece for piece in pieces if piece]) > 4
            assert reason == "length"
            assert usage is not None
            assert usage.prompt_tokens > 4
            assert usage.completion_tokens == 16
            answer = await opened.chat.completions.create(**asked)
            assert answer.choices[0].message.content == "".join(pieces).strip()
            assert answer.choices[0].finish_reason == "length"

    with started("--model", f"openai:smollm2@{llama}", "--store", "memory:") as server:
        asyncio.run(main(server.url))
