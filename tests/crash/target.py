"""A server whose effects are counted durably: each is on disk before it is answered. Prints its port.

`POST /plain/MANNER` has an effect for every request, `POST /keyed/MANNER` one for each idempotency key;
`GET /made?item=…` says whether there was one, `GET /met?item=…` how many requests of both kinds have come.
Manners: `ok`; `slow`; `refused` (400, no effect); `busy` (429
the first time); `lost` (500 without an effect the first time), `made` (500 after the effect the first time).
Argument: the file of effects. It ends when its input does.
"""

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path

import msgspec
from aiohttp import web
from msgspec import Struct

FLIGHT_S = 0.04
"""Seconds between the arrival of a request and its effect: a caller can die in between."""
SLOW_S = 2.5
"""The same where the target is slow: longer than a lease lasts, shorter than a call may take."""


class Effect(Struct):
    """One request: what it is about, under which key, and whether it had an effect."""

    item: str
    key: str
    happened: bool


def effects_in(path: Path) -> list[Effect]:
    """Return what the server has written down."""
    return msgspec.json.Decoder(Effect).decode_lines(path.read_bytes()) if path.exists() else []


class Target:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._made = {effect.item for effect in effects_in(path) if effect.happened}
        self._keys: set[str] = set()
        self._met: set[str] = set()
        self._came: Counter[str] = Counter()

    def _write(self, item: str, key: str, happened: bool) -> None:
        line = msgspec.json.encode(Effect(item, key, happened)) + b"\n"
        os.write(self._file, line)
        os.fsync(self._file)

    async def act(self, request: web.Request) -> web.Response:
        """Have an effect, or not."""
        kind, manner = request.match_info["kind"], request.match_info["manner"]
        body = await request.json()
        item, key = str(body["item"]), request.headers.get("Idempotency-Key", "")
        key = key or str(body.get("key", ""))
        first = item not in self._met
        self._met.add(item)
        self._came[f"sent {item}"] += 1
        await asyncio.sleep(SLOW_S if manner == "slow" else FLIGHT_S)
        if manner == "refused":
            return web.json_response({"why": "no"}, status=400)
        if manner == "busy" and first:
            return web.json_response({"why": "busy"}, status=429, headers={"Retry-After": "0"})
        if manner == "lost" and first:
            return web.json_response({"why": "broken"}, status=500)
        again = kind == "keyed" and key in self._keys
        self._keys.add(key)
        self._write(item, key, not again)
        self._made.add(item)
        if manner == "made" and first:
            return web.json_response({"why": "broken"}, status=500)
        return web.json_response({"done": item})

    async def made(self, request: web.Request) -> web.Response:
        """Say whether there was an effect."""
        self._came[f"asked {request.query.get('item')}"] += 1
        return web.json_response({"made": request.query.get("item") in self._made})

    async def met(self, request: web.Request) -> web.Response:
        """Say how many requests have come."""
        item = request.query.get("item")
        return web.json_response({kind: self._came[f"{kind} {item}"] for kind in ("sent", "asked")})


async def main(path: str) -> None:
    target, app = Target(Path(path)), web.Application()
    app.router.add_post("/{kind}/{manner}", target.act)
    app.router.add_get("/made", target.made)
    app.router.add_get("/met", target.met)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
