"""Commits seen to their end: whoever is cancelled meanwhile learns of it when the record stands."""

import asyncio

from gerbang.ports import Store
from gerbang.values.record import Batch, Committed


async def write(store: Store, batch: Batch) -> Committed:
    """Commit the batch. Raises StoreError, and CancelledError only after the batch is on disk.

    A cancelled caller that went on at once could otherwise be read before its own record is.
    """
    if store.immediate:
        return await store.commit(batch)
    writing = asyncio.ensure_future(store.commit(batch))
    interrupted: asyncio.CancelledError | None = None
    while not writing.done():
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError as cancelled:
            if writing.cancelled():
                raise
            interrupted = cancelled
    committed = writing.result()
    if interrupted is not None:
        raise interrupted
    return committed
