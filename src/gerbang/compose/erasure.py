"""Erasure: the payloads of a run go, with the salt that they could be guessed by; the chain stays whole."""

from typing import Final

from msgspec import Struct

from gerbang.audit.export import body_of, time_of
from gerbang.errors import UsageError
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.bodies import RunErased, event
from gerbang.runtime.requests import said_text
from gerbang.runtime.resuming import RESUMABLE
from gerbang.runtime.stored import stored_error
from gerbang.runtime.writing import write
from gerbang.values import Principal
from gerbang.values.principal import is_name
from gerbang.values.record import ERASED, RUN_SWITCH, Batch, CallState, Erase, RunRow, RunState
from gerbang.values.text import clean_text

DAY_S: Final = 86_400.0
_PAGE: Final = 100
_FIRST: Final[dict[str, str]] = {
    CallState.PLANNED: "Decide or withdraw its request (gerbang approvals)",
    CallState.UNCERTAIN: "Say what became of it (gerbang runs resolve)",
}
"""What has to be done about a call before its run is erased."""


class Pruned(Struct, frozen=True):
    """What a pruning did: the runs that were erased, and those that could not be, with the reason."""

    erased: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


async def erase_run(store: Store, clock: Clock, run_id: str, by: Principal, reason: str = "") -> str:
    """Erase the payloads of a run and record that. Return the record's id.

    Raises UsageError for a run that does not exist, is another tenant's, is not over or was erased before,
    and StoreError.
    """
    row = await store.run(run_id) if is_name(run_id) else None
    if row is None or row.tenant != by.tenant:
        raise UsageError(f"There is no run {clean_text(str(run_id)[:80])!r} of {by.tenant}.")
    return await _erase(store, clock, row, by, reason)


async def prune(
    store: Store, clock: Clock, older_than_s: float, by: Principal, reason: str = "retention"
) -> Pruned:
    """Erase the payloads of all runs, of every tenant, that nothing happened in for so many seconds.

    `by.tenant` is not looked at. Raises UsageError and StoreError.
    """
    if not 0 <= older_than_s < float("inf"):
        raise UsageError("The time after which payloads are erased is a number of seconds from 0.")
    before = clock.now() - older_than_s
    erased: list[str] = []
    left: list[tuple[str, str]] = []
    last: str | None = None
    while rows := await store.old_runs(before, after=last, limit=_PAGE):
        last = rows[-1].run_id
        for row in rows:
            if row.updated_at >= before or await _last(store, row) >= before:
                continue
            try:
                await _erase(store, clock, row, by, reason)
                erased.append(row.run_id)
            except UsageError as error:
                left.append((row.run_id, str(error)))
    return Pruned(tuple(erased), tuple(left))


async def _last(store: Store, row: RunRow) -> float:
    """Return when something last happened in a run that a program drives: its row does not tell."""
    if row.state != RunState.OPEN or not row.events:
        return row.updated_at
    events = await store.events(row.run_id, after=row.events - 1, limit=1)
    return max((time_of(body_of(event)) for event in events), default=row.updated_at)


async def _erase(store: Store, clock: Clock, row: RunRow, by: Principal, reason: str) -> str:
    if row.salt == ERASED:
        raise UsageError(f"Run {row.run_id} was erased before; nothing was changed.")
    if row.state in RESUMABLE:
        raise UsageError(
            f"Run {row.run_id} is {row.state}: it needs its payloads to go on. Resume it, or decide what it "
            "waits for, and erase it then."
        )
    if waiting := await store.open_calls(row.run_id):
        first = waiting[0]
        raise UsageError(
            f"The call {first.call_id} of run {row.run_id} is {first.state}: it needs its arguments. "
            f"{_FIRST.get(first.state, 'Let it end')}, and erase the run then."
        )
    body = RunErased(row.run_id, by.user, by.tenant, said_text(str(reason)), clock.now())
    done = await write(
        store,
        Batch(
            events=[event("run.erased", row.run_id, body)],
            erases=(Erase(row.run_id, stored_error(refusals.erased())),),
            revives=(RUN_SWITCH + row.run_id,),
        ),
    )
    return f"{row.run_id}/{done.seq}"
