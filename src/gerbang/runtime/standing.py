"""Refusals of calls that have a row already: sent before a crash, or waiting for a person. That row is ended.

What was sent, and may not be sent again, is UNCERTAIN, or what its probe says: whoever made the call is told
so, and not that it was merely refused.
"""

import msgspec

from gerbang.ledger.keys import caller_key, effect_key, runtime_key
from gerbang.ports import Store
from gerbang.runtime.approvals import Approvals
from gerbang.runtime.in_flight import InFlight
from gerbang.runtime.lost import Lost
from gerbang.runtime.records import Records
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Ticket
from gerbang.runtime.verdict import Verdict
from gerbang.values import CallError, Proposal, Result
from gerbang.values.record import CallRow, CallState


class Standing:
    """Ends them for a gate. `in_flight` are the keys that this process works on."""

    def __init__(
        self, store: Store, lost: Lost, approvals: Approvals, records: Records, in_flight: InFlight
    ) -> None:
        self._store = store
        self._lost = lost
        self._approvals = approvals
        self._records = records
        self._in_flight = in_flight

    async def ended(
        self, session: RunSession, proposal: Proposal, error: CallError, ticket: Ticket | None
    ) -> Result | Verdict | None:
        """Bring the row of a call that is refused with `error` to its end.

        Returns the call's result, or what has to end along with the refusal; None when it has no row of its
        own that is still open. Raises StoreError, TakenOver.
        """
        row = await self._own(session, proposal, ticket)
        if row is None or self._in_flight.is_others(row.key):
            return None
        resumed = session.standing is not None
        if row.state == CallState.DISPATCHED:
            entry = session.catalogue.recorded(row.tool)
            row = await self._lost.elsewhere(session, row, None if entry is None else entry.contract)
            if row.state == CallState.DISPATCHED:
                return await self._lost.given_up(session, proposal, row, entry, error)
            return self._records.restored(session, proposal, row) if resumed else None
        if row.state == CallState.PLANNED and resumed:  # a caller may come back for it when it may be made
            return None if row.approval_id is None else await self._approvals.dropped(row)
        if row.state == CallState.UNCERTAIN and resumed:
            unsure = self._records.restored(session, proposal, row)
            return await self._lost.look(session, row, session.catalogue.recorded(row.tool), unsure)
        return None

    async def _own(self, session: RunSession, proposal: Proposal, ticket: Ticket | None) -> CallRow | None:
        """Return the row of this very call. A caller may have come back with another one to its place."""
        if session.standing is not None:
            known = session.standing.get(proposal.call_id)
            return None if known is None else await self._store.call(known.key)
        row = await self._store.call(_key(session, proposal) if ticket is None else ticket.key)
        if row is None or (row.run_id, row.call_id) != (session.run_id, proposal.call_id):
            return None
        return row if _is_same(session, proposal, row) else None


def _key(session: RunSession, proposal: Proposal) -> str:
    """Return the key of a call that was refused before it had one."""
    tenant, entry = session.principal.tenant, session.catalogue.recorded(proposal.name)
    if session.key is not None:
        return caller_key(tenant, session.principal.user, session.key)
    if entry is not None and entry.contract.natural_key and proposal.arguments is not None:
        return effect_key(tenant, entry.contract, proposal.arguments)
    return runtime_key(tenant, session.run_id, proposal.step_id, proposal.ordinal)


def _is_same(session: RunSession, proposal: Proposal, row: CallRow) -> bool:
    entry = session.catalogue.recorded(proposal.name)
    name = proposal.name if entry is None else entry.contract.name
    try:
        return name == row.tool and bool(msgspec.json.decode(row.arguments) == proposal.arguments)
    except msgspec.MsgspecError:
        return False
