"""A server that takes requests for approval, and what its tests share."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from gerbang.adapters.approvals.signing import HEADER, sign
from gerbang.adapters.approvals.webhook import ID_HEADER, Webhook

SECRET = "not-a-real-secret"


class Keys:
    """Secrets of a test: the usual one, unless others are given."""

    def __init__(self, values: dict[str, str] | None = None) -> None:
        self._values = {"webhook_secret": SECRET} if values is None else values

    def get(self, name: str) -> str | None:
        return self._values.get(name)


class Desk:
    """A server that takes requests for approval, failing as it is told to first."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.taken: list[dict[str, Any]] = []
        self.ids: list[str] = []
        self.slow = asyncio.Event()
        self.url = ""

    @property
    def tried(self) -> int:
        return len(self.ids)

    async def hook(self, request: web.Request) -> web.Response:
        body = await request.read()
        stamp, _, mark = request.headers[HEADER].partition(",v1=")
        assert sign(body, SECRET, float(stamp.removeprefix("t="))) == request.headers[HEADER]
        assert len(mark) == 64
        assert SECRET.encode() not in body
        status = self.statuses.pop(0) if self.statuses else 204
        said = json.loads(body)
        assert said["message_id"] == request.headers[ID_HEADER]
        self.ids.append(said["message_id"])
        if status == 0:
            await self.slow.wait()
        if status == 302:
            raise web.HTTPFound("/elsewhere")
        if status < 300:
            self.taken.append(said)
        return web.Response(status=status or 204)


@asynccontextmanager
async def desk(*statuses: int) -> AsyncIterator[Desk]:
    made = Desk(*statuses)
    app = web.Application()
    app.router.add_post("/hook", made.hook)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}/hook"
    try:
        yield made
    finally:
        made.slow.set()
        await runner.cleanup()


def hook(url: str, **more: Any) -> Webhook:
    return Webhook(url, base_s=0.01, **more)


async def until(check: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not check():
            await asyncio.sleep(0.01)
