"""Fills the store until a size limit stops it, lifts the limit, and goes on. Prints what happened.

The limit stands for a full disk: the kernel refuses the write in the same way, in the middle of a commit.
"""

import asyncio
import resource
import sys

from gerbang.adapters.stores.sqlite import SqliteStore
from gerbang.errors import StoreUnavailable
from gerbang.values.event import NewEvent
from gerbang.values.record import Batch, CallRow, Committed


def batch(number: int) -> Batch:
    call = CallRow(f"k{number}", "r1", "1", 0, "id", "a.b.v1", "PLANNED", "f", result=b"x" * 5_000)
    return Batch(
        claims=[call], events=[NewEvent("r1", "call.planned", b"y" * 3_000), NewEvent("r1", "b", b"")]
    )


async def main(path: str, side_by_side: int) -> None:
    store = SqliteStore(path)
    await store.open()
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    written = number = 0
    refusals: list[BaseException] = []
    while not refusals:
        outcomes = await asyncio.gather(
            *(store.commit(batch(number + n)) for n in range(side_by_side)), return_exceptions=True
        )
        number += side_by_side
        written += sum(isinstance(outcome, Committed) for outcome in outcomes)
        refusals = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert all(isinstance(refusal, StoreUnavailable) for refusal in refusals), refusals
    assert "Nothing of this record was written" in str(refusals[0])
    assert len(await store.calls("r1")) == written
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert (await store.commit(batch(number))) == Committed(2 * written + 2)
    await store.close()
    print(written + 1)


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
