"""Checking and passing on the records of a store: run by run, page by page, with flat memory."""

from collections.abc import AsyncIterator, Iterable
from typing import Final

from gerbang.audit.check import Checked, RunCheck
from gerbang.audit.checkpoint import Head, Reading, Run, Writing, store_name
from gerbang.ports import Clock, Store
from gerbang.values.record import EventRow, HeadRow

_PAGE: Final = 1000


async def every_head(store: Store) -> AsyncIterator[HeadRow]:
    """Yield the last events of all runs, a page in memory at a time."""
    after = 0
    while rows := await store.heads(after=after, limit=_PAGE):
        for row in rows:
            yield row
        after = rows[-1].place


async def check_run(store: Store, run_id: str) -> Checked:
    """Check the chain of a run, the details of its events and its payloads for as long as they are kept.

    The events are not in memory meanwhile; the rows of the run's calls are, at the end.
    """
    check = RunCheck(run_id, await store.run(run_id))
    async for event in store.stream(run_id, page=_PAGE):
        check.take(event)
        if check.over:
            break
    return await finish(store, run_id, check)


async def finish(store: Store, run_id: str, check: RunCheck) -> Checked:
    """Return what a check found that has taken all events of a run, or as many as it wanted."""
    while True:
        found = check.found(await store.run(run_id), await store.calls(run_id))
        if found.what != "payload":
            return found
        later = await store.events(run_id, after=check.seen, limit=_PAGE)  # what they say may be newer
        if not later:
            return found
        for event in later:
            check.take(event)


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
