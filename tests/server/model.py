"""A foreign model server on loopback for tests of the server: answers from a list, or by what was asked."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from aiohttp import web

HOLD = object()
"""Within an answer: wait until the test lets it go."""

Answer = str | list[tuple[str, dict[str, Any]]] | list[Any]


class Model:
    """`requests` are the bodies that came. `script` maps the user's last text to answers, one a request."""

    def __init__(self, script: dict[str, Sequence[Answer]]) -> None:
        self.script = {text: list(answers) for text, answers in script.items()}
        self.requests: list[dict[str, Any]] = []
        self.holding = asyncio.Event()
        self.released = asyncio.Event()
        self.address = ""

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        text = next(item["content"] for item in reversed(body["messages"]) if item["role"] == "user")
        answers = self.script[text]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        pieces: list[Any] = [answer] if isinstance(answer, str) else answer
        calls = [piece for piece in pieces if isinstance(piece, tuple)]
        for piece in pieces:
            if piece is HOLD:
                self.holding.set()
                await self.released.wait()
            elif isinstance(piece, str):
                size = max(3, len(piece) // 1000)
                for start in range(0, len(piece), size):
                    await _send(response, {"content": piece[start : start + size]})
        for index, (name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
            await _send(response, {"tool_calls": [call]})
        await _send(response, {}, "tool_calls" if calls else "stop")
        await response.write(b"data: [DONE]\n\n")
        return response


async def _send(response: web.StreamResponse, delta: dict[str, Any], reason: str | None = None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}
    await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")


async def serving(script: dict[str, Sequence[Answer]]) -> tuple[Model, web.AppRunner]:
    """Serve the script; `address` is the model address for `--model`."""
    model = Model(script)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", model.complete)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    model.address = f"openai:scripted@http://127.0.0.1:{port}/v1"
    return model, runner
