"""Calls of runs that nobody drives: sent, and nobody is left to record what came of them, or in doubt."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from gerbang.ledger.retry import after_crash
from gerbang.ports import Store
from gerbang.runtime.body import GRACE_S
from gerbang.runtime.gate import Gate
from gerbang.runtime.settling import is_at_work, sending_of
from gerbang.values import Contract
from gerbang.values.record import CallRow, RunRow, RunState

if TYPE_CHECKING:
    from gerbang.compose.toolbox import Toolbox

PATIENCE_S: Final = 5.0
"""How long a look waits for a "no" that does not count yet, in seconds. The next look goes on waiting."""
_CALLERS_S: Final = 3600.0
"""For so many seconds a call is left to who may make it again, or to who knows its tool."""
_YOUNG_S: Final = 2.0
_STRIDE_S: Final = 15.0
"""How often it is looked whether the process that sent a call lives, in seconds."""
_PAGE: Final = 100
_WHILE_A_THREAD_LIVES_S: Final = 60.0
_AGAIN_S: Final = 60.0


class Undriven:
    """Finds those of a store that can be seen to. One instance for a gateway, which looks again and again: it
    remembers when a further look at a call is of use, in seconds since the epoch by the store's clock.
    """

    def __init__(self, store: Store, toolbox: "Toolbox") -> None:
        self._store = store
        self._toolbox = toolbox
        self._due: dict[str, float] = {}

    async def sent(self, limit: int) -> list[tuple[RunRow, list[CallRow]]]:
        """Return the calls that nobody is at work on any more, by their run. Raises StoreError."""
        met: set[str] = set()
        found: list[CallRow] = []
        now = await self._store.time()
        while len(found) < limit:
            rows = await self._store.sent(len(met) + _PAGE)
            fresh = [row for row in rows if row.key not in met]
            if not fresh:
                break
            met.update(row.key for row in fresh)
            found += [row for row in fresh if await self._is_left(row, now)]
        return await self._by_run(found[:limit])

    async def _is_left(self, row: CallRow, now: float) -> bool:
        """Tell whether the call is to be seen to now."""
        entry = self._toolbox.catalogue.recorded(row.tool)
        if now < max(row.updated_at + _YOUNG_S, self._due.get(_name(row), 0.0)):
            return False
        if now < row.updated_at + _CALLERS_S and (entry is None or _may_go_out_again(entry.contract)):
            return False
        timeout_s = 0.0 if entry is None else entry.contract.timeout_s
        sending = await sending_of(self._store, row)
        if not is_at_work(row, sending, now, timeout_s):
            return True
        self._due[_name(row)] = min(now + _STRIDE_S, sending.until + GRACE_S)
        return False

    async def unsure(self, gate: Gate, limit: int) -> list[tuple[RunRow, list[CallRow]]]:
        """Return the calls in doubt whose probe can tell by now, by their run. Raises StoreError."""
        found, now = [], await self._store.time()
        self._due = {name: due for name, due in self._due.items() if due > now}
        for row in await self._store.uncertain(limit):
            name = _name(row)
            entry = self._toolbox.catalogue.recorded(row.tool)
            if entry is None or entry.contract.probe is None or now < self._due.get(name, 0.0):
                continue
            left = await gate.lost.settling(row, entry.contract)
            if left is None:
                self._due[name] = now + _WHILE_A_THREAD_LIVES_S
            elif left > PATIENCE_S:
                self._due[name] = now + left - PATIENCE_S
            else:
                found.append(row)
        return await self._by_run(found)

    async def asked(self, rows: Iterable[CallRow]) -> None:
        """Note that the probes of calls in doubt were asked: one that cannot tell is asked again when as much
        time has passed again, for it may have been out of reach.
        """
        now = await self._store.time()
        for row in rows:
            self._due[_name(row)] = now + max(_AGAIN_S, now - row.updated_at)

    async def _by_run(self, rows: list[CallRow]) -> list[tuple[RunRow, list[CallRow]]]:
        """Put calls with their runs; without those of runs that go on, which are seen to as a whole."""
        by_run: dict[str, list[CallRow]] = {}
        for row in rows:
            by_run.setdefault(row.run_id, []).append(row)
        runs = [(await self._store.run(run_id), calls) for run_id, calls in by_run.items()]
        return [(run, calls) for run, calls in runs if run is not None and run.state != RunState.RUNNING]


def _name(row: CallRow) -> str:
    return f"{row.attempt}.{row.state}.{row.key}"


def _may_go_out_again(contract: Contract) -> bool:
    """Tell whether the call would be sent again, were it made again: a read is simply made anew."""
    return after_crash(contract) == "retry" and not contract.risk.is_read
