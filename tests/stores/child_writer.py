"""Commits without end, or as often as told, and prints each key once the store has acknowledged it.

Arguments: the path or address, a prefix for keys, the run to append to, the number of commits (0: until
killed), and how many producers commit side by side.
"""

import asyncio
import itertools
import sys

from gerbang.adapters.stores import open_store
from gerbang.adapters.stores.sqlite import SqliteStore
from gerbang.values.event import NewEvent
from gerbang.values.record import AnswerRow, Batch, CallRow, RunRow


async def main(path: str, prefix: str, run_id: str, count: int, producers: int) -> None:
    store = open_store(path) if "://" in path else SqliteStore(path, busy_timeout_s=30)
    await store.open()
    print("ready", flush=True)
    numbers = iter(range(count)) if count else itertools.count()

    async def produce() -> None:
        for number in numbers:
            key = f"{prefix}{number}"
            await store.commit(
                Batch(
                    runs=[RunRow(run_id, "acme", "ana", "running", 1.0, float(number))],
                    answers=[AnswerRow(f"{run_id}.{key}", 1, b"{}")],
                    claims=[CallRow(key, run_id, "1", 0, key, "a.b.v1", "PLANNED", "f")],
                    events=[
                        NewEvent(run_id, "call.planned", key.encode()),
                        NewEvent(run_id, "call.sent", key.encode()),
                    ],
                )
            )
            print(key, flush=True)

    await asyncio.gather(*(produce() for _ in range(producers)))
    await store.close()


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
