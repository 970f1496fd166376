"""Writing a group of batches in one transaction of PostgreSQL."""

import enum
from collections.abc import Sequence
from typing import Any, Final

import psycopg

from gerbang.adapters.stores import checks as limits
from gerbang.adapters.stores import pg_statements as statements
from gerbang.adapters.stores.pg_columns import columns, received, text, texts
from gerbang.adapters.stores.pg_connection import Address, Connection
from gerbang.adapters.stores.pg_fault import is_conflict, is_everyones, is_lost, translate
from gerbang.adapters.stores.pg_heads import PgHeads
from gerbang.adapters.stores.pg_rows import Rows
from gerbang.adapters.stores.pg_schema import GATE_LOCK, LOCK_FAMILY
from gerbang.adapters.stores.pg_session import Session
from gerbang.adapters.stores.pg_state import Ledger, ServerChecks, TakeOver, Vanished
from gerbang.adapters.stores.prepared import KEY, Prepared
from gerbang.errors import StoreError
from gerbang.values.record import Committed

_TRIES: Final = 50
"""Conflicts with other processes before a group is given up."""


class _Contended(Exception):
    """Something may stand against a batch: they are decided one after the other."""


class _Way(enum.Enum):
    """How a group is written."""

    TOGETHER = 1
    """As if nothing stood against any: what the database answers tells whether that was so."""
    IN_TURN = 2
    """Batch after batch, on what was read under locks."""
    ALONE = 3
    """The same, while no commit of another process that a switch or a lease may stop is on its way."""


class PgGroup:
    """Writes groups on one connection. Used by the writing thread only."""

    def __init__(self, address: Address, patience_s: float) -> None:
        self._address = address
        self._session = Session(address, patience_s)
        self._heads = PgHeads()
        self._rows = Rows(self._heads)
        self._drawn = 0

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        """Write all batches that nothing stands against and commit them together.

        A transaction that certainly left nothing (another process was in the way, the connection was lost
        before COMMIT) is done again. Raises StoreError and what the driver raises; then none was written.
        """
        way, conflicts = _way(group), 0
        until, pause = self._session.deadline()
        while True:
            try:
                answers = self._transaction(group, way, lock=conflicts > 0)
                if answers is not None:
                    return answers
            except _Contended:
                way = _Way.IN_TURN
                continue
            except TakeOver:
                way = _Way.ALONE
                continue
            except Vanished:
                conflicts += 1
                if conflicts == _TRIES:
                    raise
                continue
            except psycopg.Error as fault:
                if is_conflict(fault) and conflicts < _TRIES:
                    conflicts += 1
                    continue
                if not is_lost(fault):
                    raise
                again = self._session.wait(until, pause)
                if again is None:
                    raise
                pause = again

    def translate(self, fault: Exception) -> StoreError:
        """Return what the callers are told."""
        return translate(fault, self._address.shown, self._address.password)

    def of_one(self, fault: Exception) -> bool:
        """A server that is down, full or read-only is in the way of all."""
        return not is_everyones(fault)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def _transaction(self, group: Sequence[Prepared], way: _Way, *, lock: bool) -> list[Committed] | None:
        """Write the group; None when the connection was lost and nothing is in the database."""
        connection: Connection | None = None
        try:
            connection = self._session.connection()
            if way is _Way.TOGETHER:
                answers = self._together(connection, group, lock=lock)
            else:
                answers = self._in_turn(connection, group, alone=way is _Way.ALONE)
            written = self._session.commit(connection)
        except BaseException as fault:
            if self._rows.moved or not isinstance(fault, _Contended):
                self._heads.forget()
            else:
                self._heads.let_go()
            if is_lost(fault):
                self._session.drop()
            elif connection is not None:
                self._session.undo(connection)
            raise
        if not written:
            self._heads.forget()
            return None
        return answers

    def _together(self, connection: Connection, group: Sequence[Prepared], *, lock: bool) -> list[Committed]:
        """Write all, in one pipeline. Raises _Contended when something stands against one of them."""
        gate = _Gate(group)
        rows = self._rows = Rows(self._heads)
        claimed = None
        with connection.pipeline():
            self._session.begin(connection)
            gate.ask(connection)
            run_ids = {event.run_id for batch in group for event in batch.events}
            self._heads.load(connection, run_ids, lock=lock)
            rows.claims = [row for batch in group for row in batch.claims]
            if rows.claims:
                values = columns(statements.CALL_TYPES, rows.claims)
                claimed = connection.execute(statements.CLAIM, values, binary=True)
            answers = []
            for batch in group:
                if rows.is_behind(batch):
                    raise _Contended
                if batch.calls:
                    rows.calls += batch.calls
                answers.append(rows.add(batch))
            rows.write(connection)
        self._session.check(connection)
        if gate.shut() or (claimed is not None and claimed.rowcount != len(rows.claims)) or rows.overtook():
            raise _Contended
        return answers

    def _in_turn(self, connection: Connection, group: Sequence[Prepared], *, alone: bool) -> list[Committed]:
        """Write those that nothing stands against; the others are answered with what does."""
        ledger, checks = Ledger(), ServerChecks(alone=alone)
        with connection.pipeline():
            self._session.begin(connection)
            gate = statements.LOCK_GATE if alone else statements.SHARE_GATE
            connection.execute(gate, (LOCK_FAMILY, GATE_LOCK))
            ledger.ask(connection, group)
            checks.ask(connection, group)
        self._session.check(connection)
        ledger.take()
        checks.take()
        rows = self._rows = Rows(self._heads)
        run_ids = {event.run_id for batch in group for event in batch.events}
        with connection.pipeline():
            self._heads.load(connection, run_ids, lock=True)
        answers: list[Committed] = []
        for batch in group:
            answer = _decide(batch, ledger, checks, rows)
            if answer.written:
                ledger.enter(batch)
                answer = rows.add(batch, answer.held)
            answers.append(answer)
        going = [batch for batch, answer in zip(group, answers, strict=True) if answer.written]
        with connection.pipeline():
            ledger.write_out(connection)
            checks.write_out(connection)
            rows.write(connection)
            for batch in going:
                for erase in batch.erases:
                    for statement, replaces in statements.ERASE:
                        known = (erase.result, text(erase.run_id)) if replaces else (text(erase.run_id),)
                        connection.execute(statement, known)
            if checks.told is not None:
                self._drawn += 1
                if self._drawn % limits.PRUNE_EVERY == 0:
                    connection.execute(statements.FULL_RATES, (checks.told,))
                    connection.execute(statements.PAST_SPENDS, (checks.told,))
        ledger.check()
        return answers


class _Gate:
    """The switches and leases that a group depends on, asked for while no kill can come in between."""

    def __init__(self, group: Sequence[Prepared]) -> None:
        asked = [batch.asked for batch in group if batch.asked is not None]
        self._asking = bool(asked)
        self._stops = {stop for ask in asked for stop in ask.stops}
        self._fences = [ask.lease for ask in asked if ask.lease is not None]
        self._kills: psycopg.Cursor[tuple[Any, ...]] | None = None
        self._leases: psycopg.Cursor[tuple[Any, ...]] | None = None

    def ask(self, connection: Connection) -> None:
        """Send the questions."""
        if self._asking:
            connection.execute(statements.SHARE_GATE, (LOCK_FAMILY, GATE_LOCK))
        if self._stops:
            self._kills = connection.execute(statements.GET_TARGETS)
        if self._fences:
            names = texts(sorted({run_id for run_id, _ in self._fences}))
            self._leases = connection.execute(statements.GET_FENCES, (names,), binary=True)

    def shut(self) -> bool:
        """Tell, from the answers, whether a batch may be stopped or fenced."""
        if self._kills is not None and any(received(target) in self._stops for (target,) in self._kills):
            return True
        standing = {received(run_id): fence for run_id, fence in self._leases or ()}
        return any(standing.get(run_id) != fence for run_id, fence in self._fences)


def _decide(batch: Prepared, ledger: Ledger, checks: ServerChecks, rows: Rows) -> Committed:
    """Return a refusal, or what the batch took."""
    asked = batch.asked
    barred = None if asked is None else checks.barred(asked)
    if barred is not None:
        return barred
    if rows.is_behind(batch):
        return Committed(behind=True)
    stale = ledger.unexpected(batch.expects)
    if stale is not None:
        return Committed(stale=stale)
    taken = ledger.taken(batch.claims)
    if taken is not None:
        return Committed(taken=taken)
    overtaken = ledger.overtaken(batch.calls)
    if overtaken is not None:
        return Committed(taken=overtaken)
    drawn = None if asked is None else checks.draw(asked)
    return drawn if isinstance(drawn, Committed) else Committed(held=drawn)


def _way(group: Sequence[Prepared]) -> _Way:
    way = _Way.TOGETHER
    keys: set[str] = set()
    for batch in group:
        ask = batch.asked
        if ask is not None:
            if ask.kills or ask.revives:
                return _Way.ALONE
            if ask.takes or ask.spends or ask.hold or ask.pins:
                way = _Way.IN_TURN
        if batch.expects or batch.erases:
            way = _Way.IN_TURN
        for row in batch.claims:
            keys.add(row[KEY])
    if keys and way is _Way.TOGETHER and any(row[KEY] in keys for batch in group for row in batch.calls):
        return _Way.IN_TURN
    return way
