"""Switches, leases and limits in the file: read when they are first asked for, written out at the end."""

import sqlite3

from gerbang.adapters.stores import statements
from gerbang.adapters.stores.checks import Checks
from gerbang.values.record import Kill, Lease

CLOCK = "clock"
"""Name of the latest time that a process has told, in `meta`."""
_FENCE = "fence"


class FileSource:
    """Reads through the writing connection, inside its transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def floor(self) -> int:
        """Return the latest time that a process has told."""
        return self._meta(CLOCK)

    def last_fence(self) -> int:
        """Return the newest fencing number."""
        return self._meta(_FENCE)

    def kills(self) -> dict[str, Kill]:
        """Return the switches that are on."""
        rows = self._connection.execute(statements.GET_KILLS).fetchall()
        return {row[0]: Kill(*row) for row in rows}

    def lease(self, run_id: str) -> Lease | None:
        """Return a run's lease."""
        row = self._connection.execute(statements.GET_LEASE, (run_id,)).fetchone()
        return None if row is None else Lease(*row)

    def rate(self, key: str) -> int | None:
        """Return the time at which a rate limit is full again."""
        row = self._connection.execute(statements.GET_RATE, (key,)).fetchone()
        return None if row is None else int(row[0])

    def spent(self, key: str, span: int) -> tuple[int, float] | None:
        """Return the beginning of a budget's window and what was spent in it."""
        row = self._connection.execute(statements.GET_SPENT, (key, span)).fetchone()
        return None if row is None else (int(row[0]), float(row[1]))

    def _meta(self, name: str) -> int:
        row = self._connection.execute(statements.GET_META, (name,)).fetchone()
        return 0 if row is None else int(row[0])


def write_out(checks: Checks, connection: sqlite3.Connection) -> None:
    """Write what changed in this transaction."""
    many = connection.executemany
    if checks.told is not None:
        connection.execute(statements.SET_META, (CLOCK, checks.told))
    if checks.changed_leases:
        leases = [(name, checks.leases[name]) for name in checks.changed_leases]
        many(statements.RELEASE, [(name,) for name, lease in leases if lease is None])
        many(statements.LEASE, [_values(lease) for _, lease in leases if lease is not None])
        if checks.fence is not None:
            connection.execute(statements.SET_META, (_FENCE, checks.fence))
    if checks.changed_rates:
        many(statements.RATE, [(key, checks.rates[key]) for key in checks.changed_rates])
    if checks.changed_spends:
        many(statements.SPENT, [(*place, *(checks.spends[place] or ())) for place in checks.changed_spends])
    for target, kill in checks.changed_kills.items():
        if kill is None:
            connection.execute(statements.REVIVE, (target,))
        else:
            connection.execute(statements.KILL, (kill.target, kill.by, kill.reason, kill.at))
    if checks.changed_pins:
        many(statements.PIN, [(pin.name, pin.digest, pin.by, pin.at) for pin in checks.changed_pins.values()])
    checks.settle()


def prune(now: int, connection: sqlite3.Connection) -> None:
    """Remove limits that are full and budgets of windows that are past."""
    connection.execute(statements.FULL_RATES, (now,))
    connection.execute(statements.PAST_SPENDS, (now,))


def _values(lease: Lease) -> tuple[str, str, int, float]:
    return lease.run_id, lease.holder, lease.fence, lease.expires_at
