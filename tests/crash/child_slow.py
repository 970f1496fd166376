"""Makes one call, or sees to those that were cut off, and ends itself when a further request has come.

Arguments: the store, the target's address, `call` or `recover`, and what it dies of: when the call is `sent`,
when its probe is `asked`, or of nothing (`-`).
"""

import asyncio
import os
import signal
import sys

import aiohttp

import gerbang as g

from .slow import POLICY, tools


async def came(session: aiohttp.ClientSession, of: str) -> int:
    """Return how many requests of a kind have come."""
    async with session.get("/met", params={"item": "a"}) as answer:
        return int((await answer.json())[of])


async def die(origin: str, of: str, counting: asyncio.Event) -> None:
    """Wait for a request of that kind, and end the process."""
    async with aiohttp.ClientSession(origin) as session:
        first = await came(session, of)
        counting.set()
        while await came(session, of) == first:
            await asyncio.sleep(0.02)
        os.kill(os.getpid(), signal.SIGKILL)


async def main(store: str, origin: str, what: str, of: str) -> None:
    counting, dying = asyncio.Event(), None
    if of != "-":
        dying = asyncio.create_task(die(origin, of, counting))
        await counting.wait()
    async with g.Gateway(tools=tools(origin), policy=POLICY, store=store, lease_s=1.0) as gate:
        if what == "call":
            await gate.call("slow.act.v1", {"item": "a"}, run_id="r")
        else:
            while await gate.store.open_calls("r"):
                await gate.recover()
                await asyncio.sleep(0.1)
    if dying is not None:
        dying.cancel()


asyncio.run(main(*sys.argv[1:5]))
