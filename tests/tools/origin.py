"""Real servers on loopback for HTTP tools: one that answers by a function, one that plays bytes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from msgspec import Struct

import gerbang as g
from tests.runtime.street import ALLOW_ALL

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Seen(Struct):
    """A request as it came. `path` is the raw path and query."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Origin:
    """A server; `seen` are its requests."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.url = ""
        self.port = 0

    @property
    def last(self) -> Seen:
        """The last request."""
        return self.seen[-1]


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    """Answer with the method."""
    return web.json_response({"method": request.method})


@asynccontextmanager
async def serving(handler: Handler = echo, host: str = "127.0.0.1") -> AsyncIterator[Origin]:
    """Serve with a function of aiohttp's own server, every verb and path."""
    origin = Origin()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        origin.seen.append(Seen(request.method, request.raw_path, headers, await request.read()))
        return await handler(request)

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, host, 0)
    await site.start()
    origin.port = runner.addresses[0][1]
    origin.url = f"http://{'[::1]' if host == '::1' else host}:{origin.port}"
    try:
        yield origin
    finally:
        await runner.cleanup()


class Script:
    """What a raw server does with each connection. `gone` counts connections that the client ended."""

    def __init__(self, steps: Sequence[bytes | str]) -> None:
        self.steps = steps
        self.url = ""
        self.heads: list[str] = []
        self.sent = 0
        self.open = 0
        self.gone = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            for step in self.steps:
                if step == "hang":
                    await reader.read()
                elif step == "reset":
                    writer.transport.abort()
                elif step == "flood":
                    while True:
                        writer.write(b"x" * 65_536)
                        await writer.drain()
                        self.sent += 65_536
                elif isinstance(step, bytes):
                    writer.write(step)
                    await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.gone.set()
            writer.close()
            self.open -= 1


@asynccontextmanager
async def playing(*steps: bytes | str) -> AsyncIterator[Script]:
    """Serve bytes as they are. `hang` waits for the client to go, `flood` sends on and on, `reset` breaks."""
    script = Script(steps)
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        server.close()
        while script.open:
            await asyncio.sleep(0.005)
        await server.wait_closed()


def reply(body: bytes = b"", *headers: str, status: int = 200, length: int | None = None) -> bytes:
    """Return a whole answer. `length` may lie about the body."""
    size = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {size}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def definition(url: str, method: str = "GET", **more: Any) -> dict[str, Any]:
    """Return a definition with the parameters that the tests use, all of them texts or anything."""
    names = ("id", "q", "n", "flag", "k", "deep")
    return {
        "name": "the_tool",
        "description": "Does it. Use for tests.",
        "parameters": {"type": "object", "properties": {name: {} for name in names}},
        "url": url,
        "method": method,
        **more,
    }


def write(folder: Path, *tools: dict[str, Any]) -> Path:
    """Write a file of tools."""
    path = folder / "tools.json"
    path.write_text(json.dumps(tools))
    return path


async def call(
    folder: Path,
    tool: dict[str, Any],
    arguments: dict[str, Any] | None = None,
    *,
    egress: list[str] | None = None,
    policy: Any = ALLOW_ALL,
    **gateway: Any,
) -> g.Result:
    """Load one tool, call it once through the gate."""
    tools = g.load_tools(write(folder, tool), egress=egress)
    async with g.Gateway(tools=tools, policy=policy, **gateway) as gate:
        return await gate.call(tool["name"], arguments or {}, run_id="r")
