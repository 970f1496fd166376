"""The durable store that several processes on several machines share: one PostgreSQL database."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import LifoQueue
from typing import Any, Final

import psycopg

from gerbang.adapters.stores import pg_open
from gerbang.adapters.stores import pg_statements as statements
from gerbang.adapters.stores.checks import span_of, window
from gerbang.adapters.stores.pg_columns import received, row, text
from gerbang.adapters.stores.pg_connection import Address, Connection
from gerbang.adapters.stores.pg_fault import is_lost, translate
from gerbang.adapters.stores.pg_group import PgGroup
from gerbang.adapters.stores.seal_mark import NAME, check_mark
from gerbang.adapters.stores.sql_reading import Row, SqlReading
from gerbang.adapters.stores.store_clock import MICRO
from gerbang.adapters.stores.writer import Writer, hand_in
from gerbang.errors import StoreError
from gerbang.ports import Named, Writing
from gerbang.values.record import (
    Batch,
    CallRow,
    Kill,
    Pin,
    RunRow,
)

READERS: Final = 4
"""Connections that read, at most; one more writes."""
PATIENCE_S: Final = 10.0
"""How long a commit or a reader waits for a server that is away, in seconds."""
_PAUSE_S: Final = 0.1


class PostgresStore(SqlReading):
    """Records in the schema `gerbang` of a PostgreSQL database, shared by any number of processes.

    One thread writes, a few read; the event loop never waits for the server. A connection that is lost is
    made anew: `patience_s` bounds the wait. Usable from several event loops of one process. Leases and
    limits go by the server's clock.
    """

    immediate = False
    has_own_clock = True
    _queries = statements

    def __init__(self, url: str, *, patience_s: float = PATIENCE_S) -> None:
        self._address = Address(url)
        self._patience_s = patience_s
        self._writer: Writer | None = None
        self._reading: ThreadPoolExecutor | None = None
        self._idle: LifoQueue[Connection | None] = LifoQueue()
        self._key = b""
        self._opening = threading.Lock()

    async def open(self) -> None:
        """Connect, create the tables or migrate them forward. Does nothing when it is open.

        Raises StoreUnavailable, StoreBusy, StoreTooNew.
        """
        if self._writer is None:
            await asyncio.to_thread(self._open)

    def _open(self) -> None:
        with self._opening:
            if self._writer is not None:
                return  # a task of another loop was faster
            try:
                with contextlib.closing(self._address.connect()) as connection:
                    self._key = pg_open.prepare(connection, self._address.shown)
                    mark = connection.execute(statements.GET_SEAL, (NAME,)).fetchone()
                    check_mark(mark and mark[0], self.unsealing)
                    pg_open.forget_old_writers(connection)
            except psycopg.Error as fault:
                raise self._translated(fault) from fault
            self._idle = LifoQueue()
            for _ in range(READERS):
                self._idle.put(None)  # a connection is made when it is first needed
            self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="gerbang-store-read")
            self._writer = Writer(PgGroup(self._address, self._patience_s))

    async def close(self) -> None:
        """Write what is queued and close the connections. May be called more than once."""
        writer, reading, idle = self._writer, self._reading, self._idle
        self._writer = self._reading = None
        if writer is not None and reading is not None:
            await asyncio.shield(asyncio.to_thread(_close, writer, reading, idle))

    def commit(self, batch: Batch) -> Writing:
        """Write the batch; it is on the server's disk when this has been waited for.

        Raises StoreError and its kinds.
        """
        return hand_in(batch, self._writer)

    async def unfinished(self, limit: int = 100) -> list[RunRow]:
        """Return runs that are RUNNING and that nobody holds a lease of, oldest first."""
        return self._rows(RunRow, await self._read(statements.GET_UNFINISHED, max(limit, 0)))

    async def sent(self, limit: int = 100) -> list[CallRow]:
        """Return the calls in DISPATCHED of runs that nobody drives, oldest first."""
        return self._rows(CallRow, await self._read(statements.GET_SENT, max(limit, 0)))

    async def named(self, kind: Named, beginning: str, limit: int = 10) -> list[str]:
        """Return the ids of runs, or of approvals, that begin so, in order."""
        found = await self._read(statements.NAMED[kind], beginning, max(limit, 0))
        return [received(name) for (name,) in found]

    async def kills(self) -> list[Kill]:
        """Return the kill switches that are on, by target."""
        return sorted(self._rows(Kill, await self._read(statements.GET_KILLS)), key=lambda kill: kill.target)

    async def pins(self) -> list[Pin]:
        """Return the pins, by name."""
        return sorted(self._rows(Pin, await self._read(statements.GET_PINS)), key=lambda pin: pin.name)

    async def spent(self, key: str, window_s: float | None) -> float:
        """Return what was spent of a budget in the current window."""
        span = span_of(window_s)
        ((now,),) = await self._read(statements.NOW)
        found = await self._read(statements.GET_SPENT, key, span)
        return window((found[0][0], found[0][1]) if found else None, span, now)[1]

    async def time(self) -> float:
        """Return the server's time."""
        ((now,),) = await self._read(statements.NOW)
        return int(now) / MICRO

    def _row(self, kind: type[Row], values: tuple[Any, ...]) -> Row:
        made: Row = row(kind, values)
        return made

    async def _read(self, query: str, *values: str | float) -> list[tuple[Any, ...]]:
        reading, idle = self._reading, self._idle
        if reading is None:
            raise StoreError("The store is closed. Open it before reading.")
        sent = [text(value) if isinstance(value, str) else value for value in values]
        try:
            return await asyncio.get_running_loop().run_in_executor(reading, self._ask, idle, query, sent)
        except (psycopg.Error, UnicodeEncodeError) as fault:
            raise self._translated(fault) from fault

    def _ask(
        self, idle: "LifoQueue[Connection | None]", query: str, values: Sequence[str | float]
    ) -> list[tuple[Any, ...]]:
        """Read on a connection of the pool, or on a new one; wait for a server that is away."""
        connection = idle.get()
        until = time.monotonic() + self._patience_s
        try:
            while True:
                try:
                    if connection is None:
                        connection = self._address.connect(read_only=True)
                    return connection.execute(query, values, binary=True).fetchall()
                except psycopg.Error as fault:
                    if not is_lost(fault):
                        raise
                    fresh = connection is None
                    if connection is not None:
                        connection.close()
                        connection = None
                    if fresh and time.monotonic() + _PAUSE_S > until:
                        raise
                    if fresh:
                        time.sleep(_PAUSE_S)
        finally:
            idle.put(connection)

    def _translated(self, fault: Exception) -> StoreError:
        return translate(fault, self._address.shown, self._address.password)


def _close(writer: Writer, reading: ThreadPoolExecutor, idle: "LifoQueue[Connection | None]") -> None:
    reading.shutdown()
    while not idle.empty():
        connection = idle.get_nowait()
        if connection is not None:
            connection.close()
    writer.stop()
