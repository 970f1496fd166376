"""Calls that were sent and whose outcome is not on record, or not known: the matrix says what follows."""

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from gerbang.approval.grant import authorise
from gerbang.ledger.retry import after_crash
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.approvals import Approvals
from gerbang.runtime.probing import fate_from, is_about, probe_proposal
from gerbang.runtime.process import is_gone
from gerbang.runtime.records import Records
from gerbang.runtime.requests import arguments_of
from gerbang.runtime.resolutions import Resolutions
from gerbang.runtime.session import RunSession
from gerbang.runtime.stored import read_stored
from gerbang.runtime.ticket import Refusal, Ticket
from gerbang.runtime.writing import TakenOver
from gerbang.values import Result
from gerbang.values.contract_parts import Probe
from gerbang.values.record import CallRow, CallState

if TYPE_CHECKING:
    from gerbang.runtime.gate import Gate

_FIRST_LOOK_S: Final = 0.05
_LAST_LOOK_S: Final = 1.0


class Lost:
    """Settles lost calls of a gate."""

    def __init__(
        self, gate: "Gate", store: Store, records: Records, approvals: Approvals, clock: Clock
    ) -> None:
        self._gate = gate
        self._store = store
        self._resolutions = Resolutions(records, clock)
        self._approvals = approvals
        self._clock = clock

    async def elsewhere(self, session: RunSession, ticket: Ticket, row: CallRow) -> CallRow:
        """Wait for a call that another process may be running, for as long as it may take; return its row.

        A read is not waited for: it can be made again. Nor is a call of a run that is ours alone to drive.
        """
        contract = ticket.call.contract
        ours = session.lease is not None and row.run_id == session.run_id
        if ours or contract.risk.is_read or self._store.immediate:
            return row
        until = row.updated_at + contract.timeout_s
        left = session.budget.remaining(self._clock.monotonic())
        if left is not None:
            until = min(until, self._clock.now() + left)
        pause = _FIRST_LOOK_S
        process = await self._sender(row)
        while row.state == CallState.DISPATCHED and self._clock.now() < until and not is_gone(process):
            await asyncio.sleep(min(pause, max(0.0, until - self._clock.now())))
            pause = min(2 * pause, _LAST_LOOK_S)
            row = await self._store.call(ticket.key) or row
        return row

    async def is_running(self, row: CallRow, timeout_s: float) -> bool:
        """Tell whether somebody may still be at work on a call that was sent."""
        if self._clock.now() < row.updated_at + timeout_s:
            return not is_gone(await self._sender(row))
        return False

    async def _sender(self, row: CallRow) -> str:
        """Return the process that sent the call, as its record says."""
        process = ""
        async for event in self._store.stream(row.run_id):
            if event.kind in ("call.dispatched", "call.retried"):
                body = msgspec.json.decode(event.body)
                if body.get("call_id") == row.call_id:
                    process = str(body.get("process", ""))
        return process

    async def settle(self, session: RunSession, ticket: Ticket, row: CallRow) -> Result:
        """Give a call that was cut off its result: made again, found out about, or left uncertain."""
        ticket = _as_sent(ticket, row)
        step = after_crash(ticket.call.contract)
        if step == "retry":
            return await self._again(session, ticket, row, over=row)
        try:
            result = await self._resolutions.lost(session, ticket, row, step == "person")
        except TakenOver as over:
            if over.row is None:
                raise
            return await self._gate.settled(session, ticket, over.row)  # it has come back meanwhile
        if step == "probe":
            return await self.probe(session, ticket, result, sent_at=row.updated_at)
        return result

    async def probe(
        self,
        session: RunSession,
        ticket: Ticket,
        unsure: Result,
        *,
        again: bool = True,
        sent_at: float | None = None,
    ) -> Result:
        """Ask the probe about a call that is UNCERTAIN on record. `unsure` stands when it cannot tell.

        `again` False: what has not happened is not sent again; nobody waits for it any more. `sent_at` is
        when the call was sent, in seconds since the epoch.
        """
        contract, probe = ticket.call.contract, ticket.call.contract.probe
        row = await self._store.call(ticket.key)
        if probe is None or row is None or row.state != CallState.UNCERTAIN:
            return unsure
        ticket = _as_sent(ticket, row)
        await self._drop_probes(session, row)
        answer = await self._ask(session, ticket, probe, row)
        fate = fate_from(probe, answer)
        if fate == "unknown":
            return unsure
        if fate == "happened":
            return await self._found_out(session, ticket, row, answer)
        # it may still be on its way: only after the time that it had is a "no" an answer
        left = (row.updated_at if sent_at is None else sent_at) + contract.timeout_s - self._clock.now()
        if left > 0 and not _answered(row):
            await asyncio.sleep(left)
            answer = await self._ask(session, ticket, probe, row)
            fate = fate_from(probe, answer)
            if fate == "happened":
                return await self._found_out(session, ticket, row, answer)
            if fate == "unknown":
                return unsure
        failed = await self._found_out(session, ticket, row, None)
        if failed.status == "ok" or failed.replayed:
            return failed  # somebody else has found out meanwhile
        if not again or row.attempt >= contract.retry.max_attempts:
            return failed
        return await self._again(session, ticket, row, over=None)

    async def _ask(self, session: RunSession, ticket: Ticket, probe: Probe, row: CallRow) -> Result:
        return await self._gate.call(session, probe_proposal(session, ticket, probe, row), counted=False)

    async def _found_out(
        self, session: RunSession, ticket: Ticket, row: CallRow, answer: Result | None
    ) -> Result:
        try:
            return await self._resolutions.found_out(session, ticket, row, answer)
        except TakenOver as over:
            if over.row is None:
                raise
            return self._gate.restored(session, ticket.call.proposal, over.row)

    async def _drop_probes(self, session: RunSession, row: CallRow) -> None:
        """Close the questions about this call during which a process has ended."""
        for asked in await self._store.open_calls(session.run_id):
            if asked.state == CallState.DISPATCHED and is_about(asked, row):
                await self._resolutions.dropped(session, asked)

    async def _again(self, session: RunSession, ticket: Ticket, row: CallRow, over: CallRow | None) -> Result:
        """Send the call again, under the decision and the approval that it has."""
        approved = None
        if row.approval_id is not None:
            approval = await self._store.approval(row.approval_id)
            approved = None if approval is None else approval.binding
            now = await self._gate.admission.again(session, ticket)
            if isinstance(now, Refusal):
                return await self._gate.refuse(session, ticket, now.error)
            ticket = now.of(now.call, replace(now.decision, decision="ask"))
        grant = authorise(
            ticket.call,
            ticket.decision,
            self._gate.context(session, ticket),
            approved_binding=approved,
            binding=await self._approvals.binding(session, ticket),
            attempt=row.attempt + 1,
        )
        if grant is None:
            return await self._gate.refuse(session, ticket, refusals.stale())
        return await self._gate.send(session, ticket, grant, over)


def _as_sent(ticket: Ticket, row: CallRow) -> Ticket:
    """Return the ticket of a call with the arguments that were sent: a person may have changed them."""
    if row.approval_id is None or row.arguments == ticket.call.canonical:
        return ticket
    call = replace(ticket.call, arguments=arguments_of(row.arguments), canonical=row.arguments)
    return ticket.of(call, ticket.decision)


def _answered(row: CallRow) -> bool:
    """Tell whether the target has answered the call: then nothing of it is on its way any more."""
    error = read_stored(row.result)[1]
    return error is not None and error.error_type == "upstream_error"
