"""Writing a group of batches in one transaction: claims decided in order, all other rows table by table."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import astuple

from gerbang.adapters.stores import statements
from gerbang.audit.chain import extend, start
from gerbang.values.record import FREE_STATES, Batch, CallRow, Committed

_HEADS_KEPT: Final = 4096

Params = tuple[Any, ...]


class Prepared:
    """A batch as parameters of statements, taken when it is handed in: changing it later changes nothing."""

    __slots__ = ("answers", "approvals", "calls", "claims", "events", "runs")

    def __init__(self, batch: Batch) -> None:
        self.claims = tuple(batch.claims)
        self.calls = [astuple(row) for row in batch.calls]
        self.runs = [astuple(row) for row in batch.runs]
        self.answers = [astuple(row) for row in batch.answers]
        self.approvals = [astuple(row) for row in batch.approvals]
        self.events = tuple(batch.events)


class _Head:
    """The end of a run's chain."""

    __slots__ = ("digest", "run", "seq")

    def __init__(self, run: int, seq: int, digest: bytes) -> None:
        self.run = run
        self.seq = seq
        self.digest = digest


class GroupWriter:
    """Writes groups on one connection. Chain heads are remembered while no other process writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._heads: dict[str, _Head] = {}
        self._data_version = -1

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        """Write all batches whose claims are free and commit them together.

        Returns one answer a batch. Raises what SQLite raises; then none of the group was written.
        """
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._trust_heads()
            committed = _Group(connection, self._heads).write(group)
            connection.execute("COMMIT")
        except BaseException:
            self._heads.clear()  # they may be ahead of what is in the file
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return committed

    def _trust_heads(self) -> None:
        """Forget remembered heads when another connection has written. Inside the transaction nobody can."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._data_version or len(self._heads) > _HEADS_KEPT:
            self._heads.clear()
            self._data_version = version


class _Group:
    """One transaction in the making."""

    def __init__(self, connection: sqlite3.Connection, heads: dict[str, _Head]) -> None:
        self._connection = connection
        self._heads = heads
        self._moved: dict[str, _Head] = {}
        self._pending: dict[str, list[Params]] = {
            statements.CALL: [],
            statements.RUN: [],
            statements.ANSWER: [],
            statements.APPROVAL: [],
            statements.EVENT: [],
        }

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        committed = [self._add(batch) for batch in group]
        self._flush()
        moved = [(head.seq, head.digest, head.run) for head in self._moved.values()]
        if moved:
            self._connection.executemany(statements.HEAD, moved)
        return committed

    def _add(self, batch: Prepared) -> Committed:
        taken = self._claim(batch.claims)
        if taken is not None:
            return Committed(0, taken)
        pending = self._pending
        pending[statements.CALL] += batch.calls
        pending[statements.RUN] += batch.runs
        pending[statements.ANSWER] += batch.answers
        pending[statements.APPROVAL] += batch.approvals
        seq = 0
        for event in batch.events:
            head = self._head(event.run_id)
            head.digest = extend(head.digest, event.kind, event.body)
            head.seq = seq = head.seq + 1
            pending[statements.EVENT].append((head.run, seq, event.kind, event.body, head.digest))
        return Committed(seq)

    def _claim(self, claims: tuple[CallRow, ...]) -> CallRow | None:
        """Insert the claims, or return the row that holds the first key that is not free."""
        if len(claims) > 1:
            taken = self._taken(claims)
            if taken is not None:
                return taken
        for row in claims:
            if self._connection.execute(statements.CLAIM, astuple(row)).rowcount == 1:
                continue
            holder = self._holder(row.key)
            if holder is not None and holder.state not in FREE_STATES:
                return holder
            # A new row, not the old one changed: calls are listed in the order of their rows.
            self._connection.execute(statements.FREE_CALL, (row.key,))
            self._connection.execute(statements.CLAIM, astuple(row))
        return None

    def _taken(self, claims: tuple[CallRow, ...]) -> CallRow | None:
        """Look at all keys before the first is written, so that a refused batch has nothing to undo."""
        mine: dict[str, CallRow] = {}
        for row in claims:
            holder = self._holder(row.key)
            if holder is not None and holder.state not in FREE_STATES:
                return holder
            if row.key in mine:
                return mine[row.key]
            mine[row.key] = row
        return None

    def _holder(self, key: str) -> CallRow | None:
        self._flush()  # a batch before this one in the group may have changed the row
        found = self._connection.execute(statements.GET_CALL, (key,)).fetchone()
        return None if found is None else CallRow(*found)

    def _head(self, run_id: str) -> _Head:
        head = self._heads.get(run_id)
        if head is None:
            head = self._heads[run_id] = self._read_head(run_id)
        self._moved[run_id] = head
        return head

    def _read_head(self, run_id: str) -> _Head:
        found = self._connection.execute(statements.GET_HEAD, (run_id,)).fetchone()
        if found is not None:
            return _Head(*found)
        first = start(run_id)
        number = self._connection.execute(statements.NEW_HEAD, (run_id, 0, first)).lastrowid
        if number is None:  # only after a statement that inserts nothing
            raise sqlite3.InternalError("an inserted row has no number")
        return _Head(number, 0, first)

    def _flush(self) -> None:
        for statement, rows in self._pending.items():
            if rows:
                self._connection.executemany(statement, rows)
                rows.clear()
