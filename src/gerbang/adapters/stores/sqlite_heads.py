"""The ends of the chains that are being written to."""

import sqlite3
from typing import Final

from gerbang.adapters.stores import statements
from gerbang.adapters.stores.heads import Head
from gerbang.audit.chain import start

_KEPT: Final = 4096


class Heads:
    """Chain ends by run, remembered for as long as no other connection writes to the file.

    Who wrote the newest events of a run is remembered longer: a chain that ends as it did is still ours.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._heads: dict[str, Head] = {}
        self._former: dict[str, Head] = {}
        self._data_version = -1

    def refresh(self) -> bool:
        """Forget all when another connection has written, and tell so. Call it first in a transaction.

        SQLite changes the number that is compared here with every commit of another connection, and
        inside the transaction there can be none.
        """
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        others = bool(version != self._data_version)
        if others or len(self._heads) > _KEPT:
            if len(self._former) > _KEPT:
                self._former.clear()
            self._former |= self._heads
            self._heads.clear()
            self._data_version = version
        return others

    def forget(self) -> None:
        """Forget all: the transaction that moved them was undone."""
        self._heads.clear()
        self._former.clear()

    def of(self, run_id: str) -> Head:
        """Return the end of a run's chain, which is the caller's to move. A new run gets its number."""
        head = self._heads.get(run_id)
        if head is None:
            head = self._heads[run_id] = self._read(run_id)
            head.follow(self._former.pop(run_id, None))
        return head

    def _read(self, run_id: str) -> Head:
        found = self._connection.execute(statements.GET_CHAIN, (run_id,)).fetchone()
        if found is None:
            number = self._connection.execute(statements.NEW_CHAIN, (run_id,)).lastrowid
            if number is None:  # only after a statement that inserts nothing
                raise sqlite3.InternalError("an inserted row has no number")
            return Head(number, 0, start(run_id))
        last = self._connection.execute(statements.GET_HEAD, found).fetchone()
        return Head(found[0], *last) if last else Head(found[0], 0, start(run_id))
