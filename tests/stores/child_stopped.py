"""Writes under a short lease that it never extends until it is stopped, and prints by what.."""

import asyncio
import sys

from gerbang.adapters.stores import open_store
from gerbang.values.event import NewEvent
from gerbang.values.record import Batch


async def main(url: str) -> None:
    store = open_store(url)
    await store.open()
    lease = await store.lease("r1", "child", 0.5)
    assert lease is not None
    print("ready", flush=True)
    said: list[str] = []

    async def produce() -> None:
        event = NewEvent("r1", "won", b"{}")
        stops = ("all", "tool:a.v1")
        while not said:
            outcome = await store.commit(Batch(events=[event], stops=stops, lease=("r1", lease.fence)))
            if not outcome.written:
                said.append("stopped" if outcome.stopped else "fenced")

    await asyncio.gather(*(produce() for _ in range(4)))
    print(said[0], flush=True)
    await store.close()


asyncio.run(main(sys.argv[1]))
