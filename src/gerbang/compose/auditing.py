"""Checking and passing on the records of a store: run by run, page by page, with flat memory."""

from collections.abc import AsyncIterator, Iterable
from typing import Final

from msgspec import Struct

from gerbang.audit.chain import detail_is_true, extend, start
from gerbang.audit.checkpoint import Head, Reading, Run, Writing, store_name
from gerbang.audit.commitments import SALT_BYTES, Commitments
from gerbang.ports import Clock, Store
from gerbang.values.record import EventRow, HeadRow

_PAGE: Final = 1000


class Checked(Struct, frozen=True):
    """What the check of a run's chain found. `broken_at` is the first event that is not in its place.

    `what` says of it: `chain` (changed, removed, reordered or inserted), `detail` (the detail that goes with
    it was changed), `checkpoint` (it is not the one that a checkpoint names) or `missing` (it is not there).
    """

    run_id: str
    events: int
    head: str
    broken_at: int | None = None
    what: str = ""

    @property
    def whole(self) -> bool:
        """True when nothing was found."""
        return self.broken_at is None


async def every_head(store: Store) -> AsyncIterator[HeadRow]:
    """Yield the last events of all runs, a page in memory at a time."""
    after = 0
    while rows := await store.heads(after=after, limit=_PAGE):
        for row in rows:
            yield row
        after = rows[-1].place


async def check_run(store: Store, run_id: str) -> Checked:
    """Check the chain of a run, and the details of its events for as long as they are kept."""
    row = await store.run(run_id)
    marks = Commitments(row.salt) if row is not None and len(row.salt) == SALT_BYTES else None
    head, seq = start(run_id), 0
    async for event in store.stream(run_id, page=_PAGE):
        seq += 1
        head = extend(head, event.kind, event.body)
        if event.seq != seq or event.digest != head:
            return Checked(run_id, seq, head.hex(), seq, "chain")
        if not detail_is_true(event.body, marks):
            return Checked(run_id, seq, head.hex(), seq, "detail")
    return Checked(run_id, seq, head.hex())


async def check_against(store: Store, line: Run) -> Checked:
    """Check that the event that a checkpoint names is in the store as it was then."""
    found = await store.events(line.run, after=line.seq - 1, limit=1)
    if not found or found[0].seq != line.seq:
        return Checked(line.run, 0, "", line.seq, "missing")
    event = found[0]
    if event.digest.hex() != line.digest:
        return Checked(line.run, event.seq, event.digest.hex(), line.seq, "checkpoint")
    return Checked(line.run, event.seq, line.digest)


async def checkpoint_lines(store: Store, clock: Clock, writing: Writing) -> AsyncIterator[bytes]:
    """Yield the lines of a checkpoint, all but the last, which is `writing.foot(...)`."""
    yield writing.head(store_name(await store.secret_key()), clock.now())
    async for row in every_head(store):
        yield writing.run(row)


def read_lines(lines: Iterable[bytes], reading: Reading) -> Iterable[Run]:
    """Yield the runs of a checkpoint. Raises BadCheckpoint."""
    for data in lines:
        line = reading.line(data)
        if isinstance(line, Run):
            yield line


async def is_of(store: Store, head: Head) -> bool:
    """Tell whether a checkpoint is of this store."""
    return store_name(await store.secret_key()) == head.store


async def every_event(store: Store, run_id: str | None = None) -> AsyncIterator[EventRow]:
    """Yield the events of a run, or of all runs one after the other."""
    if run_id is not None:
        async for event in store.stream(run_id, page=_PAGE):
            yield event
        return
    async for head in every_head(store):
        async for event in store.stream(head.run_id, page=_PAGE):
            yield event
