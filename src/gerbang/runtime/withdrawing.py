"""What a run that ends leaves waiting: its requests are withdrawn, and the keys of their calls are free."""

from msgspec.structs import replace

from gerbang.approval.machine import ApprovalState
from gerbang.ledger.machine import LedgerEvent, advance
from gerbang.ports import Clock, Store
from gerbang.runtime.approvals import withdrawal
from gerbang.runtime.session import RunSession
from gerbang.runtime.writing import write
from gerbang.values.record import Batch, CallRow, CallState


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
        state = advance(CallState.PLANNED, LedgerEvent.CANCEL)
        cancelled = replace(row, state=state, updated_at=now)
        await write(store, Batch(calls=[cancelled], lease=session.lease))
    return planned
