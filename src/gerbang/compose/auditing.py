"""Checking and passing on the records of a store: run by run, page by page, with flat memory."""

from collections.abc import AsyncIterator, Iterable
from typing import Final

from msgspec import Struct

from gerbang.audit.chain import detail_is_true, extend, start
from gerbang.audit.checkpoint import Head, Reading, Run, Writing, store_name
from gerbang.audit.commitments import SALT_BYTES, Commitments
from gerbang.audit.export import body_of
from gerbang.ports import Clock, Store
from gerbang.values.record import CallRow, EventRow, HeadRow

_PAGE: Final = 1000
_SENT: Final = frozenset({"call.dispatched", "call.retried"})
_COMMITTING: Final = _SENT | {"call.finished", "call.resolved"}


class Checked(Struct, frozen=True):
    """What the check of a run's chain found. `broken_at` is the first event that is not in its place.

    `what` says of it: `chain` (changed, removed, reordered or inserted), `detail` (the detail that goes with
    it was changed), `payload` (the arguments or the result in the call's row are not those that it commits
    to), `checkpoint` (it is not the one that a checkpoint names) or `missing` (it is not there).
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
    """Check the chain of a run, the details of its events and its payloads for as long as they are kept.

    The rows of the run's calls are in memory meanwhile, its events are not.
    """
    row = await store.run(run_id)
    marks = Commitments(row.salt) if row is not None and len(row.salt) == SALT_BYTES else None
    payloads = _Payloads(await store.calls(run_id), marks) if marks is not None else None
    head, seq, named = start(run_id), 0, False
    async for event in store.stream(run_id, page=_PAGE):
        seq += 1
        head = extend(head, event.kind, event.body)
        if event.seq != seq or event.digest != head:
            return Checked(run_id, seq, head.hex(), seq, "chain")
        if not detail_is_true(event.body, marks):
            return Checked(run_id, seq, head.hex(), seq, "detail")
        if marks is not None and payloads is not None:
            name = body_of(event).get("salt_id")
            if name and not named and name != marks.name:  # the first to begin a run gives it its salt
                return Checked(run_id, seq, head.hex(), seq, "detail")
            named = named or bool(name)
            payloads.take(event)
    wrong = None if payloads is None else payloads.wrong()
    if wrong is not None:
        return Checked(run_id, seq, head.hex(), wrong, "payload")
    return Checked(run_id, seq, head.hex())


class _Payloads:
    """Compares the rows of a run's calls with the newest commitments to them."""

    def __init__(self, rows: list[CallRow], marks: Commitments) -> None:
        self._rows = {row.call_id: row for row in rows}
        self._marks = marks
        self._said: dict[str, tuple[int, str, str]] = {}

    def take(self, event: EventRow) -> None:
        """Note what an event commits to."""
        if event.kind not in _COMMITTING:
            return
        body = body_of(event)
        name = str(body.get("call_id"))
        if name in self._rows and body.get("salt_id") == self._marks.name:
            _, given, gave = self._said.get(name, (0, "", ""))
            sent = event.kind in _SENT
            given = body.get("input_hash", "") if sent else given
            self._said[name] = (event.seq, given, "" if sent else body.get("output_hash", gave))

    def wrong(self) -> int | None:
        """Return the number of the event that a row does not agree with, None when all do."""
        for name, (seq, given, gave) in self._said.items():
            row = self._rows[name]
            if not (self._is(row.arguments, given) and self._is(row.result, gave)):
                return seq
        return None

    def _is(self, payload: object, commitment: str) -> bool:
        # somebody who writes into a database may leave another type there
        return not commitment or (type(payload) is bytes and self._marks.of(payload) == commitment)


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
