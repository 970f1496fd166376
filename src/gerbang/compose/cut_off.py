"""What is recorded of calls whose caller was cancelled before anything of them was on record."""

import contextlib
from collections.abc import Sequence

from gerbang.approval.terms import asker, is_theirs
from gerbang.errors import StoreError
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.ballot import opened
from gerbang.runtime.gate import Gate
from gerbang.runtime.run_record import close_open
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Refusal
from gerbang.runtime.withdrawing import lapse
from gerbang.runtime.writing import write
from gerbang.values import Proposal
from gerbang.values.record import CallRow, CallState, RunState


async def cut_off(
    store: Store, clock: Clock, gate: Gate, session: RunSession, proposals: Sequence[Proposal]
) -> None:
    """Give each call that has none the record that ends it, and a run of a single call its end.

    A call that waits for a person goes on waiting: it is taken up where it is made again. One that a person
    has agreed to and that was not sent is over, and its grant with it, whichever run it was asked for in. A
    store that is closed, or fails, leaves things as they are: nothing was sent.
    """
    with contextlib.suppress(StoreError):
        asked = {proposal.call_id for proposal in proposals}
        standing = set()
        for row in await store.open_calls(session.run_id):
            if row.call_id not in asked or not await _lapses(store, clock, gate, session, row):
                standing.add(row.call_id)
        left = [one for one in proposals if one.call_id not in session.ended and one.call_id not in standing]
        for proposal in left:
            await _held_elsewhere(store, clock, gate, session, proposal)
        batch, now = session.batch(), clock.now()
        close_open(session, batch, left, refusals.not_sent(), now)
        if session.closing is not None:  # nothing has ended the run's record yet
            batch.runs = (*batch.runs, *session.ends_as(RunState.CANCELLED, now))
        if batch.events or batch.runs:
            await write(store, batch)


async def _lapses(store: Store, clock: Clock, gate: Gate, session: RunSession, row: CallRow) -> bool:
    """Give a call's grant up, unless it is another task's that is at work on the very call."""
    return not gate.in_flight.is_others(row.key) and await lapse(store, clock, session, row)


async def _held_elsewhere(
    store: Store, clock: Clock, gate: Gate, session: RunSession, proposal: Proposal
) -> None:
    """Give up the grant of a call that goes by its caller's key, or its natural one: it was asked for under
    another run, or at another step. What somebody else asked for is theirs to use.
    """
    ticket = gate.admission.checked(session, proposal, session.key)
    row = None if isinstance(ticket, Refusal) else await store.call(ticket.key)
    if isinstance(ticket, Refusal) or row is None or row.state != CallState.PLANNED:
        return
    approval = None if row.approval_id is None else await store.approval(row.approval_id)
    ballot = None if approval is None or row.fingerprint != ticket.fingerprint else opened(approval)
    run = "" if session.nameless else session.run_id
    if ballot is None or not is_theirs(ballot.terms, asker(session.principal, session.purpose), run):
        return
    if await _lapses(store, clock, gate, session, row) and session.nameless:
        held = await store.run(row.run_id)
        if held is not None and held.state == RunState.PENDING_APPROVAL:
            session.inherited = held
