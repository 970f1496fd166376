"""What a run that ends leaves waiting: its requests are withdrawn, and the keys of their calls are free."""

import contextlib
from functools import partial

from msgspec.structs import replace

from gerbang.approval.machine import ApprovalState
from gerbang.approval.seal import is_genuine, sealed
from gerbang.errors import StoreError
from gerbang.ledger.machine import LedgerEvent, advance
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.approvals import withdrawal
from gerbang.runtime.session import RunSession
from gerbang.runtime.verdict import Verdict
from gerbang.runtime.writing import write
from gerbang.values.record import Batch, CallRow, CallState


async def lapse(store: Store, clock: Clock, session: RunSession, row: CallRow) -> bool:
    """Give up a call that a person has agreed to and that was not sent, and the grant with it. False: there
    is no such grant, or it was used. It still needs the record that ends it. Raises StoreError.
    """
    fresh = await store.call(row.key)
    if fresh is None or fresh.state != CallState.PLANNED or fresh.approval_id is None:
        return False
    approval, now = await store.approval(fresh.approval_id), clock.now()
    if approval is None or approval.state != ApprovalState.GRANTED:
        return False
    state = advance(CallState.PLANNED, LedgerEvent.CANCEL)
    batch = Batch(calls=[replace(fresh, state=state, updated_at=now)], lease=session.lease)
    key = await store.secret_key()
    if is_genuine(approval, key):
        verdict = Verdict("granted", approval.approval_id, approval, fresh, seal=partial(sealed, key=key))
        verdict.give_up(batch, now, refusals.not_sent(session.out_of_time()))
    return (await write(store, batch)).written


async def forgo(store: Store, clock: Clock, session: RunSession, row: CallRow | None) -> None:
    """Do the same for whoever is cancelled. When the store fails the grant stands until it expires."""
    with contextlib.suppress(StoreError):
        if row is not None:
            await lapse(store, clock, session, row)


async def withdraw_open(store: Store, clock: Clock, session: RunSession, note: str) -> list[CallRow]:
    """Cancel every call of the run that was planned and not sent; return their rows as they were.

    Nothing of this tells the model: each of them still needs the record that ends it. Raises StoreError.
    """
    planned = [row for row in await store.open_calls(session.run_id) if row.state == CallState.PLANNED]
    for row in planned:
        now = clock.now()
        approval = None if row.approval_id is None else await store.approval(row.approval_id)
        if approval is not None and approval.state == ApprovalState.PENDING:
            batch = withdrawal(approval, row, await store.secret_key(), now, note)
            batch.lease = session.lease
            if (await write(store, batch)).stale is None:
                continue  # else somebody has decided it meanwhile: nobody can use that any more
        if await lapse(store, clock, session, row):
            continue
        state = advance(CallState.PLANNED, LedgerEvent.CANCEL)
        cancelled = replace(row, state=state, updated_at=now)
        await write(store, Batch(calls=[cancelled], lease=session.lease))
    return planned
