"""The durable store: one SQLite file, shared safely with other processes."""

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from gerbang.adapters.stores import statements
from gerbang.adapters.stores.checks import span_of, window
from gerbang.adapters.stores.mended import mended
from gerbang.adapters.stores.seal_mark import NAME, check_mark
from gerbang.adapters.stores.sql_reading import Row, SqlReading
from gerbang.adapters.stores.sqlite_checks import CLOCK
from gerbang.adapters.stores.sqlite_fault import translate
from gerbang.adapters.stores.sqlite_file import open_reader, open_writer
from gerbang.adapters.stores.sqlite_group import GroupWriter
from gerbang.adapters.stores.store_clock import MICRO, StoreClock
from gerbang.adapters.stores.writer import Writer, hand_in
from gerbang.errors import StoreError
from gerbang.ports import Clock, Named, Writing
from gerbang.values.record import (
    Batch,
    CallRow,
    Kill,
    Pin,
    RunRow,
)

BUSY_TIMEOUT_S: Final = 5.0
"""How long a commit waits for another process that writes, in seconds."""


class SqliteStore(SqlReading):
    """Records in a SQLite file (WAL, synced at each commit). Several processes may share it on one machine.

    One thread writes, one reads; the event loop never waits for the disk. `busy_timeout_s` bounds the wait
    for another process. Usable from several event loops of one process. Leases and limits go by `clock`, and
    never back: the latest time told is in the file.
    """

    immediate = False
    _queries = statements

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

    def _row(self, kind: type[Row], values: tuple[Any, ...]) -> Row:
        return kind(*mended(kind, values))

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

    def commit(self, batch: Batch) -> Writing:
        """Write the batch; it is on disk when this has been waited for.

        Raises StoreError, StoreUnavailable, StoreBusy.
        """
        return hand_in(batch, self._writer)

    async def unfinished(self, limit: int = 100) -> list[RunRow]:
        """Return runs that are RUNNING and that nobody holds a lease of, oldest first."""
        now = await self._now()
        return self._rows(RunRow, await self._read(statements.GET_UNFINISHED, now / MICRO, max(limit, 0)))

    async def sent(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in DISPATCHED of runs that nobody drives, oldest first."""
        now = await self._now()
        return self._rows(CallRow, await self._read(statements.GET_SENT, now / MICRO, max(limit, 0)))

    async def named(self, kind: Named, beginning: str, limit: int = 10) -> list[str]:
        """Return the ids of runs, or of approvals, that begin so, in order."""
        end = beginning + "\U0010ffff"
        found = await self._read(statements.NAMED[kind], beginning, end, max(limit, 0))
        return [name for (name,) in found]

    async def kills(self) -> list[Kill]:
        """Return the kill switches that are on, by target."""
        return self._rows(Kill, await self._read(statements.GET_KILLS))

    async def pins(self) -> list[Pin]:
        """Return the pins, by name."""
        return self._rows(Pin, await self._read(statements.GET_PINS))

    async def spent(self, key: str, window_s: float | None) -> float:
        """Return what was spent of a budget in the current window."""
        span = span_of(window_s)
        found = await self._read(statements.GET_SPENT, key, span)
        return window((found[0][0], found[0][1]) if found else None, span, await self._now())[1]

    async def time(self) -> float:
        """Return the time of the clock that leases and limits go by."""
        return await self._now() / MICRO

    async def _now(self) -> int:
        """Return the time of the store, in microseconds."""
        told = await self._read(statements.GET_META, CLOCK)
        return self._clock.now(told[0][0] if told else 0)

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
