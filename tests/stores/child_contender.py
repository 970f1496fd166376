"""Tries to have everything, and prints what it got. Arguments: address, own name."""

import asyncio
import random
import sys

from gerbang.adapters.stores import open_store
from gerbang.values.event import NewEvent
from gerbang.values.record import ApprovalRow, Batch, CallRow, Spend, Take


async def main(url: str, name: str) -> None:
    store = open_store(url)
    await store.open()
    event = NewEvent("r1", "won", name.encode())
    wishes: list[tuple[str, Batch]] = []
    for n in range(20):
        row = CallRow(f"k{n}", "r1", "1", n, name, "a.b.v1", "PLANNED", "f")
        wishes.append((f"claim:k{n}", Batch(claims=[row], events=[event])))
        granted = ApprovalRow(
            f"a{n}", "r1", "key", "t", "acme", "granted", "b", "p", b"{}", "[]", 1.0, 9.0, name, 2.0
        )
        wishes.append(
            (f"approval:a{n}", Batch(approvals=[granted], expects={f"a{n}": "pending"}, events=[event]))
        )
    wishes += [("rate", Batch(takes=(Take("rate", 1e6, 25),), events=[event])) for _ in range(40)]
    wishes += [("budget", Batch(spends=(Spend("budget", None, 15, 1),), events=[event])) for _ in range(40)]
    random.shuffle(wishes)

    async def wish(what: str, batch: Batch) -> None:
        if (await store.commit(batch)).written:
            print(what, name, flush=True)

    async def lease(run_id: str) -> None:
        if await store.lease(run_id, name, 1e6) is not None:
            print(f"lease:{run_id}", name, flush=True)

    work = [wish(*one) for one in wishes] + [lease(f"r{n}") for n in range(20)]
    random.shuffle(work)
    for start in range(0, len(work), 10):
        await asyncio.gather(*work[start : start + 10])
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
