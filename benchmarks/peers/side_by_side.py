"""Agents that run side by side on one store, and what the writing of their records costs."""

import asyncio
import gc
import time
from collections.abc import Callable

from own import Gerbang
from script import Script, current

from gerbang.values.record import Batch


async def agents(
    store: str, runs: int, steps: int, ready: Callable[[], object] = lambda: None
) -> tuple[float, float, float]:
    """Return the wall and CPU seconds of the runs, and the CPU seconds that reading all their events takes.

    Opening and closing the store is not counted. `ready` is called right before the first run.
    """
    subject = Gerbang(store=store)
    gc.collect()
    gc.freeze()  # what a benchmark has noted itself is its own: no collection is to look at it

    async def one() -> None:
        script = Script(steps)
        current.set(script)
        await subject.run(script)

    async with subject.gate as gate:
        await gate.store.commit(Batch())  # connects
        ready()
        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(asyncio.create_task(one()) for _ in range(runs)))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        began = time.process_time()
        for head in await gate.store.heads(limit=runs):
            await gate.store.events(head.run_id)
        return wall, cpu, time.process_time() - began
