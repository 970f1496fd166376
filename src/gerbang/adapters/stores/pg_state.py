"""What stands in the database against a group of batches: read under locks, decided here, written out.

All of it is read with a number of statements that does not grow with the group, in one order in all
processes, and asked for in one pipeline: first all questions, then all answers. Rows that do not exist
cannot be locked: those of leases and limits are made first.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import psycopg
from msgspec.structs import astuple

from gerbang.adapters.stores import pg_statements as statements
from gerbang.adapters.stores.checks import Checks, Nowhere, span_of
from gerbang.adapters.stores.pg_columns import columns, received, row, texts
from gerbang.adapters.stores.pg_connection import Connection
from gerbang.adapters.stores.pg_rows import note_states, send
from gerbang.adapters.stores.prepared import KEY, Params, Prepared
from gerbang.adapters.stores.store_clock import MICRO, StoreClock
from gerbang.adapters.stores.writing import renewed_call
from gerbang.values.call_order import follows, frees
from gerbang.values.record import ApprovalRow, CallRow, Hold, Kill, Lease


class Vanished(Exception):
    """A row was removed, or made, by another process at the wrong moment: begin again."""


class TakeOver(Exception):
    """A lease is to be taken from somebody: that needs the gate's lock alone."""


class ServerChecks(Checks):
    """Switches, leases and limits of one transaction, by the server's clock."""

    def __init__(self, *, alone: bool) -> None:
        super().__init__(Nowhere(), StoreClock())
        self._alone = alone
        self._fences: list[int] = []
        self._made: set[str] = set()
        self._answers: dict[str, psycopg.Cursor[tuple[Any, ...]]] = {}
        self._holds: set[str] = set()
        self._keys: set[str] = set()
        self._places: set[tuple[str, int]] = set()

    def ask(self, connection: Connection, group: Sequence[Prepared]) -> None:
        """Send the questions for what the group asks for; they lock what they read."""
        asked = [batch.asked for batch in group if batch.asked is not None]
        self._holds = {ask.hold.run_id for ask in asked if ask.hold is not None}
        self._keys = {take.key for ask in asked for take in ask.takes}
        self._places = {(spend.key, span_of(spend.window_s)) for ask in asked for spend in ask.spends}
        fenced = {ask.lease[0] for ask in asked if ask.lease is not None} - self._holds
        execute, answers = connection.execute, self._answers
        if any(ask.stops or ask.kills or ask.revives for ask in asked):
            answers["kills"] = execute(statements.GET_KILLS)
        if self._holds:
            names = texts(sorted(self._holds))
            count = sum(1 for ask in asked if ask.hold is not None)
            execute(statements.NEW_LEASES, (names,), binary=True)
            answers["holds"] = execute(statements.LOCK_LEASES, (names,), binary=True)
            answers["fences"] = execute(statements.NEXT_FENCES, (count,), binary=True)
        if fenced:
            answers["leases"] = execute(statements.GET_LEASES, (texts(sorted(fenced)),), binary=True)
        if self._keys:
            names = texts(sorted(self._keys))
            execute(statements.NEW_RATES, (names,), binary=True)
            answers["rates"] = execute(statements.LOCK_RATES, (names,), binary=True)
        if self._places:
            places = columns(("text", "bigint"), sorted(self._places))
            execute(statements.NEW_SPENDS, places, binary=True)
            answers["spends"] = execute(statements.LOCK_SPENDS, places, binary=True)
        if self._holds or self._keys or self._places:  # after all locks: later than what others have told
            answers["now"] = execute(statements.NOW, binary=True)

    def take(self) -> None:
        """Take in the answers. Raises Vanished."""
        answers = {name: cursor.fetchall() for name, cursor in self._answers.items()}
        self._kills = {received(found[0]): row(Kill, found) for found in answers.get("kills", ())}
        for lease in (row(Lease, found) for found in answers.get("leases", ())):
            self.leases[lease.run_id] = lease if lease.fence else None
        for lease in (row(Lease, found) for found in answers.get("holds", ())):
            self.leases[lease.run_id] = lease if lease.fence else None
            if not lease.fence:
                self._made.add(lease.run_id)
        self._fences = [number for (number,) in answers.get("fences", ())]
        for key, full_at in answers.get("rates", ()):
            self.rates[received(key)] = full_at
        for key, span, began, amount in answers.get("spends", ()):
            self.spends[received(key), span] = (began, amount)
        for (now,) in answers.get("now", ()):
            self._now = now
        _all_there(self._holds, self.leases)
        _all_there(self._keys, self.rates)
        _all_there(self._places, self.spends)

    def write_out(self, connection: Connection) -> None:
        """Write what changed."""
        changed = [self.leases[run_id] for run_id in sorted(self.changed_leases)]
        kept = [astuple(lease) for lease in changed if lease is not None]
        gone = {run_id for run_id in self.changed_leases | self._made if self.leases.get(run_id) is None}
        send(connection, statements.LEASE, statements.LEASE_TYPES, kept, 1)
        if gone:
            connection.execute(statements.RELEASE, (texts(sorted(gone)),), binary=True)
        rates = [(key, self.rates[key]) for key in sorted(self.changed_rates)]
        send(connection, statements.RATE, statements.RATE_TYPES, rates, 1)
        spends = [(*place, *(self.spends[place] or ())) for place in sorted(self.changed_spends)]
        send(connection, statements.SPENT, statements.SPENT_TYPES, spends, 2)
        kills = [astuple(kill) for kill in self.changed_kills.values() if kill is not None]
        send(connection, statements.KILL, statements.KILL_TYPES, kills, 1)
        revived = [target for target, kill in self.changed_kills.items() if kill is None]
        if revived:
            connection.execute(statements.REVIVE, (texts(revived),), binary=True)
        pins = [astuple(pin) for pin in self.changed_pins.values()]
        send(connection, statements.PIN, statements.PIN_TYPES, pins, 1)

    def _hold(self, hold: Hold) -> Lease | None:
        standing = self.standing(hold.run_id)
        if standing is not None and not self._alone and hold.ttl_s > 0:
            theirs = standing.holder != hold.holder
            if theirs and standing.expires_at <= self.now() / MICRO:
                raise TakeOver
        return super()._hold(hold)

    def _next_fence(self) -> int:
        return self._fences.pop(0)


class Ledger:
    """The calls and approvals that a group touches: read under locks, changed here, then written out."""

    def __init__(self) -> None:
        self._calls: dict[str, CallRow] = {}
        self._approvals: dict[str, ApprovalRow] = {}
        self._fresh: dict[str, CallRow] = {}
        self._changed: dict[str, CallRow] = {}
        self._freed: set[str] = set()
        self._answers: dict[str, psycopg.Cursor[tuple[Any, ...]]] = {}
        self._claimed: tuple[psycopg.Cursor[tuple[Any, ...]], int] | None = None

    def ask(self, connection: Connection, group: Sequence[Prepared]) -> None:
        """Send the questions for what the group claims, changes and expects."""
        expected = sorted({name for batch in group for name in batch.expects})
        if expected:
            self._answers["approvals"] = connection.execute(
                statements.LOCK_APPROVALS, (texts(expected),), binary=True
            )
        keys = sorted({call[KEY] for batch in group for call in (*batch.claims, *batch.calls)})
        if keys:
            self._answers["calls"] = connection.execute(statements.LOCK_CALLS, (texts(keys),), binary=True)

    def take(self) -> None:
        """Take in the answers."""
        answers = {name: cursor.fetchall() for name, cursor in self._answers.items()}
        approvals = [row(ApprovalRow, found) for found in answers.get("approvals", ())]
        self._approvals = {approval.approval_id: approval for approval in approvals}
        calls = [row(CallRow, found) for found in answers.get("calls", ())]
        self._calls = {call.key: call for call in calls}

    def unexpected(self, expects: Mapping[str, str]) -> ApprovalRow | None:
        """Return the first approval that is not in the state that the batch expects."""
        for approval_id, state in expects.items():
            standing = self._approvals.get(approval_id)
            if standing is not None and not standing.answers_to(state):
                return standing
        return None

    def taken(self, claims: Iterable[Params]) -> CallRow | None:
        """Return the row that holds the first key that is not free."""
        seen: dict[str, CallRow] = {}
        for values in claims:
            claim = CallRow(*values)
            if claim.key in seen:
                return seen[claim.key]
            seen[claim.key] = claim
            holder = self._calls.get(claim.key)
            if holder is not None and not frees(holder, claim):
                return holder
        return None

    def overtaken(self, calls: Iterable[Params]) -> CallRow | None:
        """Return the first row that is not one that its new form may follow."""
        for values in calls:
            call = CallRow(*values)
            former = self._calls.get(call.key)
            if former is not None and not follows(former, call):
                return former
        return None

    def enter(self, batch: Prepared) -> None:
        """Take in the calls and approvals of a batch that nothing stands against."""
        for values in batch.claims:
            self._claim(CallRow(*values))
        for values in batch.calls:
            call = CallRow(*values)
            former = self._calls.get(call.key)
            if former is None:
                self._claim(call)
                continue
            after = self._calls[call.key] = renewed_call(former, call)
            if call.key in self._fresh:
                self._fresh[call.key] = after
            else:
                self._changed[call.key] = after
        for values in batch.approvals:
            approval = ApprovalRow(*values)
            self._approvals[approval.approval_id] = approval

    def write_out(self, connection: Connection) -> None:
        """Send the calls."""
        if self._freed:
            connection.execute(statements.FREE_CALL, (texts(sorted(self._freed)),), binary=True)
        changed = [astuple(call) for _, call in sorted(self._changed.items())]
        send(connection, statements.SET_CALL, statements.CALL_TYPES, changed, 1)
        fresh = [astuple(call) for call in self._fresh.values()]
        if fresh:
            values = columns(statements.CALL_TYPES, fresh)
            self._claimed = connection.execute(statements.CLAIM, values, binary=True), len(fresh)
        note_states(connection, changed + fresh)

    def check(self) -> None:
        """Raise Vanished when another process has claimed one of the keys meanwhile."""
        if self._claimed is not None and self._claimed[0].rowcount != self._claimed[1]:
            raise Vanished

    def _claim(self, call: CallRow) -> None:
        """A new row, not the old one changed: calls are listed in the order of their rows."""
        if call.key in self._calls and call.key not in self._fresh:
            self._freed.add(call.key)
        self._changed.pop(call.key, None)
        self._fresh.pop(call.key, None)
        self._calls[call.key] = self._fresh[call.key] = call


def _all_there(wanted: Iterable[Any], found: Any) -> None:
    if any(key not in found for key in wanted):
        raise Vanished
