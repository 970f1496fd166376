"""The writing connection: made anew when it is lost, and able to say what became of its last transaction."""

import time
import uuid
from typing import Any, Final

import psycopg

from gerbang.adapters.stores import pg_statements as statements
from gerbang.adapters.stores.pg_connection import Address, Connection
from gerbang.adapters.stores.pg_fault import is_lost
from gerbang.errors import StoreUnavailable

_FIRST_WAIT_S: Final = 0.05
_LONGEST_WAIT_S: Final = 1.0


class Session:
    """One writer's connection. Used by the writing thread only.

    Each transaction writes its number into the row of this writer. When the answer to COMMIT is lost, the
    row says whether that transaction is in the database: it is read under a lock that the transaction, if
    the server still works at it, holds until its end.
    """

    def __init__(self, address: Address, patience_s: float) -> None:
        self._address = address
        self._patience_s = patience_s
        self._connection: Connection | None = None
        self._backend: tuple[Any, ...] = ()
        self._id = uuid.uuid4()
        self._known = False
        self._number = 0
        self._wrote: psycopg.Cursor[tuple[Any, ...]]

    @property
    def shown(self) -> str:
        """The store's address as it may be shown."""
        return self._address.shown

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def connection(self) -> Connection:
        """Return the connection, made anew when it was lost. Raises psycopg.Error."""
        return self._connection or self._connect()

    def begin(self, connection: Connection) -> None:
        """Begin a transaction, as the first statements of a pipeline."""
        self._number += 1
        connection.execute(statements.BEGIN)
        self._wrote = connection.execute(statements.WROTE, (self._number, self._id))

    def check(self, connection: Connection) -> None:
        """Make sure, at the end of that pipeline, that the transaction left its number."""
        if self._wrote.rowcount != 1:  # the row of a writer that rested for a month
            connection.execute(statements.NEW_WRITER, (self._id,))
            connection.execute(statements.WROTE, (self._number, self._id))

    def commit(self, connection: Connection) -> bool:
        """Commit; True when it is certain that it is on disk, False when it is certain that nothing is.

        Raises StoreUnavailable when neither can be found out in time.
        """
        try:
            done = connection.execute("COMMIT").statusmessage == "COMMIT"
        except psycopg.Error as fault:
            if not (is_lost(fault) or connection.closed):
                raise
            self.drop()
            return self._found_written()
        if not done:
            raise psycopg.InternalError("COMMIT did not commit")
        return True

    def undo(self, connection: Connection) -> None:
        """End the transaction without writing anything."""
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self.drop()

    def drop(self) -> None:
        """Leave a connection that is no longer of use."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def wait(self, until: float, pause_s: float) -> float | None:
        """Wait before the next attempt; return the pause after it, None when the time is over."""
        if time.monotonic() + pause_s > until:
            return None
        time.sleep(pause_s)
        return min(pause_s * 2, _LONGEST_WAIT_S)

    def deadline(self) -> tuple[float, float]:
        """Return until when to try, by the monotonic clock, and the first pause, in seconds."""
        return time.monotonic() + self._patience_s, _FIRST_WAIT_S

    def _connect(self) -> Connection:
        connection = self._address.connect()
        try:
            if self._backend:
                # What is left of our former session must not go on while we do.
                connection.execute(statements.END_BACKEND, self._backend)
            self._backend = connection.execute(statements.MYSELF).fetchone() or ()
            if not self._known:
                connection.execute(statements.NEW_WRITER, (self._id,))
                self._known = True
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _found_written(self) -> bool:
        """Find out on a new connection whether the last transaction was committed."""
        until, pause = self.deadline()
        while True:
            try:
                connection = self._connection or self._connect()
                with connection.transaction():
                    row = connection.execute(statements.LAST_WROTE, (self._id,)).fetchone()
                return row is not None and row[0] == self._number
            except psycopg.Error as fault:
                self.drop()
                again = self.wait(until, pause)
                if again is None:
                    raise StoreUnavailable(
                        f"The connection to {self.shown} was lost while a record was written, and it is not "
                        "known whether it was. Nothing was executed after it. When the server is back, look "
                        "at the run, and resume it."
                    ) from fault
                pause = again
