"""The durable store: one SQLite file, shared safely with other processes."""

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from gerbang.adapters.stores import statements
from gerbang.adapters.stores.checks import asks, span_of, window
from gerbang.adapters.stores.prepared import Prepared
from gerbang.adapters.stores.seal_mark import NAME, check_mark
from gerbang.adapters.stores.sqlite_checks import CLOCK
from gerbang.adapters.stores.sqlite_fault import translate
from gerbang.adapters.stores.sqlite_file import open_reader, open_writer
from gerbang.adapters.stores.sqlite_group import GroupWriter
from gerbang.adapters.stores.store_clock import MICRO, StoreClock
from gerbang.adapters.stores.switches import Switches
from gerbang.adapters.stores.writer import Writer
from gerbang.adapters.stores.writing import check_bounds, check_text, no_such_row
from gerbang.errors import StoreError
from gerbang.ports import Clock
from gerbang.values.record import (
    AnswerRow,
    ApprovalRow,
    Batch,
    CallRow,
    Committed,
    EventRow,
    HeadRow,
    Kill,
    Pin,
    RunRow,
)

BUSY_TIMEOUT_S: Final = 5.0
"""How long a commit waits for another process that writes, in seconds."""

Row = TypeVar("Row", RunRow, AnswerRow, CallRow, ApprovalRow, EventRow, HeadRow, Kill, Pin)


class SqliteStore(Switches):
    """Records in a SQLite file (WAL, synced at each commit). Several processes may share it on one machine.

    One thread writes, one reads; the event loop never waits for the disk. `busy_timeout_s` bounds the wait
    for another process. Usable from several event loops of one process. Leases and limits go by `clock`, and
    never back: the latest time told is in the file.
    """

    immediate = False

    def __init__(
        self, path: str | Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S, clock: Clock | None = None
    ) -> None:
        self._clock = StoreClock(clock)
        self._path = Path(path).expanduser().absolute()
        self._timeout_s = busy_timeout_s
        self._writer: Writer | None = None
        self._reader: sqlite3.Connection | None = None
        self._reading: ThreadPoolExecutor | None = None
        self._key = b""
        self._opening = threading.Lock()

    async def open(self) -> None:
        """Open or create the file and migrate it forward. Does nothing when it is open.

        Raises StoreUnavailable, StoreBusy, StoreTooNew.
        """
        if self._writer is None:
            await asyncio.to_thread(self._open)

    def _open(self) -> None:
        with self._opening:
            if self._writer is None:  # else a task of another loop was faster
                self._start()

    def _start(self) -> None:
        try:
            connection = open_writer(self._path, self._timeout_s)
            try:
                (self._key,) = connection.execute(statements.GET_KEY).fetchone()
                mark = connection.execute(statements.GET_SEAL, (NAME,)).fetchone()
                check_mark(mark and mark[0], self.unsealing)
                self._reader = open_reader(self._path, self._timeout_s)
            except BaseException:
                connection.close()
                raise
        except sqlite3.Error as fault:
            raise translate(fault, str(self._path), self._timeout_s) from fault
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="gerbang-store-read")
        self._writer = Writer(GroupWriter(connection, self._clock, str(self._path), self._timeout_s))

    async def close(self) -> None:
        """Write what is queued and close the file. May be called more than once."""
        writer, reading, reader = self._writer, self._reading, self._reader
        self._writer = self._reading = self._reader = None
        if writer is not None and reading is not None and reader is not None:
            await asyncio.shield(asyncio.to_thread(_close, writer, reading, reader))

    async def commit(self, batch: Batch) -> Committed:
        """Write the batch; it is on disk on return. Raises StoreError, StoreUnavailable, StoreBusy.

        A caller that is cancelled while it waits leaves a batch that is written as a whole.
        """
        if self._writer is None:
            raise StoreError("The store is closed. Open it before recording.")
        check_text(batch)
        if asks(batch):
            check_bounds(batch)
        return await self._writer.submit(Prepared(batch))

    async def call(self, key: str) -> CallRow | None:
        """Return the ledger row of a key."""
        return _first(CallRow, await self._read(statements.GET_CALL, key))

    async def calls(self, run_id: str) -> list[CallRow]:
        """Return a run's calls in the order they were proposed."""
        return _rows(CallRow, await self._read(statements.GET_CALLS, run_id))

    async def run(self, run_id: str) -> RunRow | None:
        """Return one run, `events` being the number that is recorded."""
        return _first(RunRow, await self._read(statements.GET_RUN, run_id))

    async def runs(
        self,
        *,
        limit: int = 50,
        tenant: str | None = None,
        state: str | None = None,
        before: str | None = None,
    ) -> list[RunRow]:
        """Return the newest runs first, from the one after the run `before` on."""
        wanted = {"tenant": tenant, "state": state, "before": before}
        query = statements.get_runs(**{name: value is not None for name, value in wanted.items()})
        values = [value for value in wanted.values() if value is not None]
        rows = _rows(RunRow, await self._read(query, *values, max(limit, 0)))
        if not rows and before is not None and await self.run(before) is None:
            raise no_such_row(before)
        return rows

    async def unfinished(self, limit: int = 100) -> list[RunRow]:
        """Return runs that are RUNNING and that nobody holds a lease of, oldest first."""
        now = await self._now()
        return _rows(RunRow, await self._read(statements.GET_UNFINISHED, now / MICRO, max(limit, 0)))

    async def open_calls(self, run_id: str) -> list[CallRow]:
        """Return the run's calls that have no outcome yet, in the order they were proposed."""
        return _rows(CallRow, await self._read(statements.GET_OPEN_CALLS, run_id))

    async def uncertain(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in UNCERTAIN of all runs, oldest first."""
        return _rows(CallRow, await self._read(statements.GET_UNCERTAIN, max(limit, 0)))

    async def kills(self) -> list[Kill]:
        """Return the kill switches that are on, by target."""
        return _rows(Kill, await self._read(statements.GET_KILLS))

    async def pins(self) -> list[Pin]:
        """Return the pins, by name."""
        return _rows(Pin, await self._read(statements.GET_PINS))

    async def spent(self, key: str, window_s: float | None) -> float:
        """Return what was spent of a budget in the current window."""
        span = span_of(window_s)
        found = await self._read(statements.GET_SPENT, key, span)
        return window((found[0][0], found[0][1]) if found else None, span, await self._now())[1]

    async def _now(self) -> int:
        """Return the time of the store, in microseconds."""
        told = await self._read(statements.GET_META, CLOCK)
        return self._clock.now(told[0][0] if told else 0)

    async def answers(self, run_id: str) -> list[AnswerRow]:
        """Return a run's committed answers by step."""
        return _rows(AnswerRow, await self._read(statements.GET_ANSWERS, run_id))

    async def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EventRow]:
        """Return a run's events with a sequence above `after`."""
        return _rows(EventRow, await self._read(statements.GET_EVENTS, run_id, after, max(limit, 0)))

    async def heads(self, *, after: int = 0, limit: int = 1000) -> list[HeadRow]:
        """Return the last events of runs, in the order in which the runs began to be recorded."""
        return _rows(HeadRow, await self._read(statements.GET_ALL_HEADS, after, max(limit, 0)))

    async def old_runs(self, before: float, *, after: str | None = None, limit: int = 100) -> list[RunRow]:
        """Return runs that began before a time and whose payloads are kept, oldest first."""
        query = statements.get_old_runs(after=after is not None)
        page = () if after is None else (after,)
        return _rows(RunRow, await self._read(query, before, *page, max(limit, 0)))

    async def approval(self, approval_id: str) -> ApprovalRow | None:
        """Return one approval request."""
        return _first(ApprovalRow, await self._read(statements.GET_APPROVAL, approval_id))

    async def approvals(
        self,
        *,
        run_id: str | None = None,
        state: str | None = None,
        tenant: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[ApprovalRow]:
        """Return approval requests, newest first."""
        wanted = {"run": run_id, "state": state, "tenant": tenant, "before": before}
        query = statements.get_approvals(**{name: value is not None for name, value in wanted.items()})
        values = [value for value in wanted.values() if value is not None]
        rows = _rows(ApprovalRow, await self._read(query, *values, max(limit, 0)))
        if not rows and before is not None and await self.approval(before) is None:
            raise no_such_row(before)
        return rows

    async def secret_key(self) -> bytes:
        """Return the store's own 32 random bytes."""
        if self._writer is None:
            raise StoreError("The store is closed. Open it before asking for its key.")
        return self._key

    async def _read(self, query: str, *values: str | float) -> list[tuple[Any, ...]]:
        reader, reading = self._reader, self._reading
        if reader is None or reading is None:
            raise StoreError("The store is closed. Open it before reading.")

        def work() -> list[tuple[Any, ...]]:
            return reader.execute(query, values).fetchall()

        try:
            return await asyncio.get_running_loop().run_in_executor(reading, work)
        except (sqlite3.Error, UnicodeEncodeError) as fault:
            raise translate(fault, str(self._path), self._timeout_s) from fault


def _close(writer: Writer, reading: ThreadPoolExecutor, reader: sqlite3.Connection) -> None:
    """Close the reader first: the last connection to close folds the log into the file."""
    reading.shutdown()
    reader.close()
    writer.stop()


def _rows(kind: type[Row], found: Sequence[tuple[Any, ...]]) -> list[Row]:
    return [kind(*values) for values in found]


def _first(kind: type[Row], found: Sequence[tuple[Any, ...]]) -> Row | None:
    return kind(*found[0]) if found else None
