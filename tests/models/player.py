"""A foreign server on loopback that plays bytes: one script for each request, any cut, any pause, any end."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

HANG: Final = "hang"
"""Send nothing more, keep the connection open."""
RESET: Final = "reset"
"""Break the connection (RST) instead of closing it."""
PAUSE: Final = "pause"
"""Wait a moment, so that what was sent has been read."""
Step = bytes | str
Script = Sequence[Step]

SSE: Final = "text/event-stream"
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"


def head(status: int = 200, content_type: str = SSE, **headers: str) -> bytes:
    """Return the head of an answer whose body ends with the connection."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {content_type}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def reply(body: bytes | str, status: int = 200, content_type: str = JSON, **headers: str) -> Script:
    """Return a script that sends a whole answer."""
    data = body.encode() if isinstance(body, str) else body
    return [head(status, content_type, **headers), data]


class Player:
    """`requests` are the heads and bodies that came; `open` counts the connections that still stand."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.requests: list[tuple[str, Any]] = []
        self.open = 0
        self.url = ""
        self._scripts = list(scripts)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            text = (await reader.readuntil(b"\r\n\r\n")).decode()
            size = next(
                (
                    int(line.split(":")[1])
                    for line in text.split("\r\n")
                    if line.lower().startswith("content-length")
                ),
                0,
            )
            self.requests.append((text, json.loads(await reader.readexactly(size))))
            script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
            for step in script:
                if step == HANG:
                    await reader.read()  # returns when the client has gone
                elif step == PAUSE:
                    await asyncio.sleep(0.1)
                elif step == RESET:
                    writer.transport.abort()
                elif isinstance(step, bytes):
                    writer.write(step)
                    await writer.drain()
                    await asyncio.sleep(0)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def playing(*scripts: Script) -> AsyncIterator[Player]:
    """Serve the scripts, one a request, the last one again and again."""
    player = Player(scripts)
    server = await asyncio.start_server(player.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    player.url = f"http://127.0.0.1:{port}"
    try:
        yield player
    finally:
        server.close()
        for _wait in range(500):
            if not player.open:
                break
            await asyncio.sleep(0.01)
        await server.wait_closed()
