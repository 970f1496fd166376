"""Writing a group of batches in one transaction: claims decided in order, all other rows table by table."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import astuple

from gerbang.adapters.stores import statements
from gerbang.adapters.stores.sqlite_heads import Heads
from gerbang.audit.chain import extend
from gerbang.values.record import ApprovalRow, Batch, CallRow, Committed, frees

Params = tuple[Any, ...]
_KEY: Final = 0  # place of the key in a call's parameters


class Prepared:
    """A batch as parameters of statements, taken when it is handed in: changing it later changes nothing."""

    __slots__ = ("answers", "approvals", "calls", "claims", "events", "expects", "runs")

    def __init__(self, batch: Batch) -> None:
        self.claims = [astuple(row) for row in batch.claims]
        self.calls = [astuple(row) for row in batch.calls]
        self.runs = [astuple(row) for row in batch.runs]
        self.answers = [astuple(row) for row in batch.answers]
        self.approvals = [astuple(row) for row in batch.approvals]
        self.events = tuple(batch.events)
        self.expects = dict(batch.expects)


class _Contended(Exception):
    """A claimed key has a row, or an approval's state matters: batches are decided one after the other."""


class GroupWriter:
    """Writes groups on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._heads = Heads(connection)

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        """Write all batches whose claims are free and commit them together.

        Returns one answer a batch. Raises what SQLite raises; then none of the group was written.
        """
        try:
            return self._transaction(group, _Together(self._connection, self._heads))
        except _Contended:
            return self._transaction(group, _InTurn(self._connection, self._heads))

    def _transaction(self, group: Sequence[Prepared], writing: "_Together") -> list[Committed]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._heads.refresh()
            committed = writing.write(group)
            connection.execute("COMMIT")
        except BaseException:
            self._heads.forget()  # they may be ahead of what is in the file
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return committed


class _Together:
    """One transaction in the making, for the usual case that every claimed key is new."""

    def __init__(self, connection: sqlite3.Connection, heads: Heads) -> None:
        self._connection = connection
        self._heads = heads
        self._calls: list[Params] = []
        self._runs: list[Params] = []
        self._answers: list[Params] = []
        self._approvals: list[Params] = []
        self._events: list[Params] = []

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        """Write the group and return its answers. Raises _Contended before anything else is written."""
        if any(batch.expects for batch in group):
            raise _Contended
        claims = [row for batch in group for row in batch.claims]
        if claims:
            keys = {row[_KEY] for row in claims}
            if any(row[_KEY] in keys for batch in group for row in batch.calls):
                raise _Contended
            if self._connection.executemany(statements.CLAIM, claims).rowcount != len(claims):
                raise _Contended
        committed = [self._add(batch) for batch in group]
        self._flush()
        return committed

    def _add(self, batch: Prepared) -> Committed:
        if batch.calls:
            self._calls += batch.calls
        if batch.runs:
            self._runs += batch.runs
        if batch.answers:
            self._answers += batch.answers
        if batch.approvals:
            self._approvals += batch.approvals
        seq = 0
        append = self._events.append
        for event in batch.events:
            head = self._heads.of(event.run_id)
            kind, body = event.kind, event.body
            head.digest = digest = extend(head.digest, kind, body)
            head.seq = seq = head.seq + 1
            append((head.run, seq, kind, body, digest))
        return Committed(seq)

    def _flush(self) -> None:
        many = self._connection.executemany
        for statement, rows in (
            (statements.CALL, self._calls),
            (statements.RUN, self._runs),
            (statements.ANSWER, self._answers),
            (statements.APPROVAL, self._approvals),
            (statements.EVENT, self._events),
        ):
            if rows:
                many(statement, rows)
                rows.clear()


class _InTurn(_Together):
    """The same, batch after batch: each sees what those before it did to the keys that it claims."""

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        """Write the batches whose claims are free; the others are answered with the row in their way."""
        committed = []
        for batch in group:
            stale = self._unexpected(batch.expects)
            taken = None if stale is not None else self._claim(batch.claims)
            if stale is not None or taken is not None:
                committed.append(Committed(0, taken, stale))
            else:
                committed.append(self._add(batch))
        self._flush()
        return committed

    def _unexpected(self, expects: dict[str, str]) -> ApprovalRow | None:
        """Return the first approval that is not in the state that the batch expects."""
        if not expects:
            return None
        self._flush()  # a batch before this one may have decided it
        for approval_id, state in expects.items():
            found = self._connection.execute(statements.GET_APPROVAL, (approval_id,)).fetchone()
            if found is not None and (standing := ApprovalRow(*found)).state != state:
                return standing
        return None

    def _claim(self, claims: list[Params]) -> CallRow | None:
        """Insert the claims, or return the row that holds the first key that is not free."""
        if not claims:
            return None
        self._flush()  # a batch before this one may have changed the rows
        seen: dict[str, Params] = {}
        freed: list[tuple[str]] = []
        for row in claims:
            key = row[_KEY]
            if key in seen:
                return CallRow(*seen[key])
            seen[key] = row
            found = self._connection.execute(statements.GET_CALL, (key,)).fetchone()
            if found is None:
                continue
            holder = CallRow(*found)
            if not frees(holder, CallRow(*row)):
                return holder
            freed.append((key,))
        # New rows, not the old ones changed: calls are listed in the order of their rows.
        self._connection.executemany(statements.FREE_CALL, freed)
        self._connection.executemany(statements.CLAIM, claims)
        return None
