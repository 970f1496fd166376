"""The ends of the chains that this process writes to. The database has the last word."""

from collections.abc import Iterable
from typing import Final

from gerbang.adapters.stores import pg_statements as statements
from gerbang.adapters.stores.heads import Head
from gerbang.adapters.stores.pg_columns import received, texts
from gerbang.adapters.stores.pg_connection import Connection
from gerbang.audit.chain import start

_KEPT: Final = 4096


class PgHeads:
    """Chain ends by run, remembered between transactions.

    Another process may have appended meanwhile: then an event of ours meets its number in the unique index,
    the transaction is undone, and begins again with what is read under the chain's lock.
    """

    def __init__(self) -> None:
        self._heads: dict[str, Head] = {}
        self._former: dict[str, Head] = {}

    def forget(self) -> None:
        """Forget all: the transaction that moved them was undone, or another process has written."""
        self._heads.clear()
        self._former.clear()

    def load(self, connection: Connection, run_ids: Iterable[str], *, lock: bool) -> None:
        """Make the ends of these chains known; new runs get their numbers. Waits only for unknown ones."""
        if len(self._heads) > _KEPT:
            self._heads.clear()
        missing = sorted({run_id for run_id in run_ids if lock or run_id not in self._heads})
        if not missing:
            return
        names = texts(missing)
        connection.execute(statements.NEW_CHAINS, (names,), binary=True)
        if lock:
            connection.execute(statements.LOCK_CHAINS, (names,), binary=True)
        for found, run, seq, digest in connection.execute(statements.GET_HEADS, (names,), binary=True):
            run_id = received(found)
            head = Head(run, seq or 0, digest if seq else start(run_id))
            head.follow(self._heads.get(run_id) or self._former.get(run_id))
            self._heads[run_id] = head

    def let_go(self) -> None:
        """Read the ends anew: they have not moved in the transaction that was undone."""
        self._former, self._heads = self._heads, {}

    def of(self, run_id: str) -> Head:
        """Return the end of a run's chain, which is the caller's to move."""
        return self._heads[run_id]
