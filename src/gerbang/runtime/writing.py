"""Commits seen to their end: whoever is cancelled meanwhile learns of it when the record stands."""

import asyncio
from collections.abc import Awaitable

from msgspec.structs import replace

from gerbang.ports import Store, Writing
from gerbang.values import Result
from gerbang.values.record import FREE_STATES, Batch, CallRow, CallState, Committed


class TakenOver(Exception):
    """Another process drives the run: nothing of ours may be written, or sent, any more.

    `batch` is what was to be written and `result` whose record it was; `row` is what the other process has
    written of the call, when that is what stood against it.
    """

    def __init__(
        self, batch: Batch | None = None, result: Result | None = None, row: CallRow | None = None
    ) -> None:
        super().__init__("another process drives the run")
        self.batch = batch
        self.result = result
        self.row = row


class CalledOff(Exception):
    """The run was asked to end: nothing was written, and it ends as cancelled."""


def write(store: Store, batch: Batch) -> Awaitable[Committed]:
    """Commit the batch: to be waited for. Raises StoreError, and CancelledError only after the batch is on
    disk. A cancelled caller that went on at once could otherwise be read before its own record is.
    """
    return store.commit(batch) if store.immediate else _to_its_end(store, batch)


async def _to_its_end(store: Store, batch: Batch) -> Committed:
    committed, interrupted = await written(store, batch)
    if interrupted is not None:
        raise interrupted
    return committed


async def written(store: Store, batch: Batch) -> tuple[Committed, asyncio.CancelledError | None]:
    """Commit the batch, however often the task is cancelled meanwhile. Returns what the store says, and the
    cancellation, which is the caller's to raise. Raises StoreError.
    """
    handed = store.commit(batch)
    if store.immediate:
        return await handed, None
    lasting = isinstance(handed, Writing)  # else it gets a task, which a cancellation must not reach
    writing = handed if isinstance(handed, Writing) else asyncio.ensure_future(handed)
    interrupted: asyncio.CancelledError | None = None
    while not writing.done():
        try:
            await (writing if lasting else asyncio.wait((writing,)))
        except asyncio.CancelledError as cancelled:
            interrupted = cancelled
        except Exception:  # whatever went wrong is told by its result
            break
    if writing.cancelled():
        raise interrupted or asyncio.CancelledError
    return writing.result(), interrupted


async def holder_of(store: Store, key: str, committed: Committed) -> Committed:
    """Return a refused commit with the row that holds the key, where a call that was made does."""
    row = await store.call(key)
    made = row is not None and row.state != CallState.PLANNED and row.state not in FREE_STATES
    return replace(committed, taken=row) if made else committed


def without_approvals(batch: Batch) -> Batch:
    """Return the batch without what it says of approvals."""
    events = [event for event in batch.events if not event.kind.startswith("approval.")]
    return replace(batch, approvals=[], expects={}, events=events)
