"""What is recorded of calls whose caller was cancelled before anything of them was on record."""

import contextlib
from collections.abc import Sequence

from msgspec.structs import replace

from gerbang.errors import StoreError
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.run_record import close_open
from gerbang.runtime.session import RunSession
from gerbang.runtime.withdrawing import lapse
from gerbang.runtime.writing import write
from gerbang.values import Proposal
from gerbang.values.record import RunState


async def cut_off(store: Store, clock: Clock, session: RunSession, proposals: Sequence[Proposal]) -> None:
    """Give each call that has none the record that ends it, and a run of a single call its end.

    A call that waits for a person goes on waiting: it is taken up where it is made again. One that a person
    has agreed to and that was not sent is over, and its grant with it. A store that is closed, or fails,
    leaves things as they are: nothing was sent.
    """
    with contextlib.suppress(StoreError):
        asked = {proposal.call_id for proposal in proposals}
        standing = set()
        for row in await store.open_calls(session.run_id):
            if row.call_id not in asked or not await lapse(store, clock, session, row):
                standing.add(row.call_id)
        left = [one for one in proposals if one.call_id not in session.ended and one.call_id not in standing]
        batch, now = session.batch(), clock.now()
        close_open(session, batch, left, refusals.not_sent(), now)
        if session.closing is not None:  # nothing has ended the run's record yet
            batch.runs = (*batch.runs, replace(session.closing, state=RunState.CANCELLED, updated_at=now))
        if batch.events or batch.runs:
            await write(store, batch)
