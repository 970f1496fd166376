"""Writing a group of batches in one transaction: claims decided in order, all other rows table by table."""

import sqlite3
from collections.abc import Mapping, Sequence

from gerbang.adapters.stores import checks, statements
from gerbang.adapters.stores.checks import KEPT, Checks
from gerbang.adapters.stores.collecting import Collecting
from gerbang.adapters.stores.prepared import KEY, Params, Prepared
from gerbang.adapters.stores.sqlite_checks import FileSource, prune, write_out
from gerbang.adapters.stores.sqlite_fault import is_busy, translate
from gerbang.adapters.stores.sqlite_heads import Heads
from gerbang.adapters.stores.store_clock import StoreClock
from gerbang.errors import StoreError
from gerbang.values.call_order import follows, frees
from gerbang.values.record import ApprovalRow, CallRow, Committed, Lease


class _Contended(Exception):
    """A claimed key has a row, a row or a run is not what a writer knew, or an approval's state matters:
    batches are decided one after the other.
    """


class GroupWriter:
    """Writes groups on one connection."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        clock: StoreClock | None = None,
        path: str = "",
        timeout_s: float = 0,
    ) -> None:
        self._connection = connection
        self._path = path
        self._timeout_s = timeout_s
        self._heads = Heads(connection)
        self._checks = Checks(FileSource(connection), clock or StoreClock(), KEPT)
        self._drawn = 0

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        """Write all batches that nothing stands against and commit them together.

        Returns one answer a batch. Raises what SQLite raises; then none of the group was written.
        """
        try:
            return self._transaction(group, _Together(self._connection, self._heads, self._checks))
        except _Contended:
            return self._transaction(group, _InTurn(self._connection, self._heads, self._checks))

    def translate(self, fault: Exception) -> StoreError:
        """Return what the callers are told."""
        return translate(fault, self._path, self._timeout_s)

    def of_one(self, fault: Exception) -> bool:
        """A lock that another process holds is in the way of all."""
        return not is_busy(fault)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _transaction(self, group: Sequence[Prepared], writing: "_Together") -> list[Committed]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            if self._heads.refresh():
                self._checks.forget()
            committed = writing.write(group)
            if self._checks.told is not None:
                self._drawn += 1
                if self._drawn % checks.PRUNE_EVERY == 0:
                    prune(self._checks.told, connection)
            connection.execute("COMMIT")
        except BaseException as fault:
            if writing.moved or not isinstance(fault, _Contended):
                self._heads.forget()  # they may be ahead of what is in the file
            self._checks.forget()
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return committed


class _Together(Collecting):
    """One transaction in the making, for the usual case that every claimed key is new."""

    def __init__(self, connection: sqlite3.Connection, heads: Heads, known: Checks) -> None:
        super().__init__(heads)
        self._connection = connection
        self._checks = known
        self._calls: list[Params] = []

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        """Write the group and return its answers. Raises _Contended before anything else is written."""
        if any(batch.expects or batch.erases for batch in group):
            raise _Contended
        drawn: list[Committed | Lease | None] = [None] * len(group)
        going = group
        if asking := any(batch.asked for batch in group):
            self._checks.begin()
            drawn = [self._checks.decide(batch.asked) if batch.asked else None for batch in group]
            going = [
                batch for batch, answer in zip(group, drawn, strict=True) if not isinstance(answer, Committed)
            ]
        claims = [row for batch in going for row in batch.claims]
        if claims:
            keys = {row[KEY] for row in claims}
            if any(row[KEY] in keys for batch in going for row in batch.calls):
                raise _Contended
            if self._connection.executemany(statements.CLAIM, claims).rowcount != len(claims):
                raise _Contended
        committed = [
            answer if isinstance(answer, Committed) else self._add(batch, answer)
            for batch, answer in zip(group, drawn, strict=True)
        ]
        self._flush()
        if asking:
            write_out(self._checks, self._connection)
        return committed

    def _add(self, batch: Prepared, held: Lease | None = None) -> Committed:
        if self.is_behind(batch):
            raise _Contended
        if batch.calls:
            self._calls += batch.calls
        return self.add(batch, held)

    def _flush(self) -> None:
        many = self._connection.executemany
        for statement, rows in (
            (statements.CALL, self._calls),
            (statements.RUN, self._runs),
            (statements.ANSWER, self._answers),
            (statements.APPROVAL, self._approvals),
            (statements.MESSAGE, self._messages),
            (statements.EVENT, self._events),
        ):
            if rows:
                written = many(statement, rows).rowcount
                if rows is self._calls and written != len(rows):
                    raise _Contended
                rows.clear()


class _InTurn(_Together):
    """The same, batch after batch: each sees what those before it did to the keys that it claims."""

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        """Write the batches that nothing stands against; the others are answered with what does."""
        self._checks.begin()
        committed = [self._one(batch) for batch in group]
        self._flush()
        write_out(self._checks, self._connection)
        return committed

    def _one(self, batch: Prepared) -> Committed:
        asked = batch.asked
        barred = None if asked is None else self._checks.barred(asked)
        if barred is not None:
            return barred
        if self.is_behind(batch):
            return Committed(behind=True)
        stale = self._unexpected(batch.expects)
        if stale is not None:
            return Committed(stale=stale)
        freed: list[tuple[str]] = []
        taken = self._taken(batch.claims, freed)
        if taken is not None:
            return Committed(0, taken)
        overtaken = self._overtaken(batch.calls)
        if overtaken is not None:
            return Committed(0, overtaken)
        drawn = None if asked is None else self._checks.draw(asked)
        if isinstance(drawn, Committed):
            return drawn
        # New rows, not the old ones changed: calls are listed in the order of their rows.
        self._connection.executemany(statements.FREE_CALL, freed)
        self._connection.executemany(statements.CLAIM, batch.claims)
        committed = self._add(batch, drawn)
        if batch.erases:
            self._flush()
            self._connection.execute("PRAGMA secure_delete = ON")  # what is let go is overwritten
            for erase in batch.erases:
                for statement in statements.ERASE:
                    known = (erase.run_id, erase.result) if "?2" in statement else (erase.run_id,)
                    self._connection.execute(statement, known)
            self._connection.execute("PRAGMA secure_delete = OFF")
        return committed

    def _unexpected(self, expects: Mapping[str, str]) -> ApprovalRow | None:
        """Return the first approval that is not in the state that the batch expects."""
        if not expects:
            return None
        self._flush()  # a batch before this one may have decided it
        for approval_id, state in expects.items():
            found = self._connection.execute(statements.GET_APPROVAL, (approval_id,)).fetchone()
            if found is not None and not (standing := ApprovalRow(*found)).answers_to(state):
                return standing
        return None

    def _overtaken(self, calls: Sequence[Params]) -> CallRow | None:
        """Return the first row that is not one that its new form may follow."""
        if calls:
            self._flush()  # a batch before this one may have changed the rows
        for row in calls:
            found = self._connection.execute(statements.GET_CALL, (row[KEY],)).fetchone()
            if found is not None and not follows(standing := CallRow(*found), CallRow(*row)):
                return standing
        return None

    def _taken(self, claims: Sequence[Params], freed: list[tuple[str]]) -> CallRow | None:
        """Return the row that holds the first key that is not free, and note the rows that give way."""
        if not claims:
            return None
        self._flush()  # a batch before this one may have changed the rows
        seen: dict[str, Params] = {}
        for row in claims:
            key = row[KEY]
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
        return None
