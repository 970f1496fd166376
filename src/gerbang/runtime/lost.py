"""Calls that were sent and whose outcome is not on record, or not known: the matrix says what follows."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from gerbang.approval.grant import authorise
from gerbang.contract.catalogue import Entry
from gerbang.contract.client_tools import is_clients
from gerbang.ledger.retry import after_crash
from gerbang.limits import TOOL_TIMEOUT_S
from gerbang.ports import Clock, Store, UnreadableFile
from gerbang.runtime import refusals
from gerbang.runtime.approvals import Approvals
from gerbang.runtime.objections import no_file
from gerbang.runtime.probing import fate_from, is_about, probe_proposal
from gerbang.runtime.process import is_gone
from gerbang.runtime.records import Records
from gerbang.runtime.requests import arguments_of
from gerbang.runtime.resolutions import Resolutions
from gerbang.runtime.session import RunSession
from gerbang.runtime.stored import read_stored
from gerbang.runtime.ticket import Refusal, Ticket
from gerbang.runtime.writing import TakenOver
from gerbang.values import CallError, Contract, Decision, Proposal, Result, ValidCall
from gerbang.values.contract_parts import Probe
from gerbang.values.record import CallRow, CallState

if TYPE_CHECKING:
    from gerbang.runtime.gate import Gate

_FIRST_LOOK_S: Final = 0.05
_LAST_LOOK_S: Final = 1.0


class Lost:
    """Settles lost calls of a gate."""

    def __init__(
        self,
        gate: "Gate",
        store: Store,
        records: Records,
        approvals: Approvals,
        clock: Clock,
        blocks: Callable[[Contract], bool],
    ) -> None:
        self._blocks = blocks  # tells whether a tool's calls run in threads, which nobody can end
        self._gate = gate
        self._store = store
        self._resolutions = Resolutions(records, clock)
        self._approvals = approvals
        self._clock = clock

    async def elsewhere(self, session: RunSession, row: CallRow, contract: Contract | None) -> CallRow:
        """Wait for a call that another process may be running, for as long as it may take; return its row.

        A read is not waited for: it can be made again. Nor is a call of a run that is ours alone to drive.
        `contract` is None for a tool that is not there any more.
        """
        ours = session.lease is not None and row.run_id == session.run_id
        if ours or self._store.immediate or (contract is not None and contract.risk.is_read):
            return row
        seconds, began = TOOL_TIMEOUT_S if contract is None else contract.timeout_s, self._clock.monotonic()
        wait = self._left(row, seconds)
        left = session.budget.remaining(began)
        wait = wait if left is None else min(wait, left)
        pause = _FIRST_LOOK_S
        process = await self._sender(row)
        while row.state == CallState.DISPATCHED and not is_gone(process):
            left = began + wait - self._clock.monotonic()
            if left <= 0:
                break
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, _LAST_LOOK_S)
            row = await self._store.call(row.key) or row
        return row

    def _left(self, row: CallRow, timeout_s: float, sent_at: float | None = None) -> float:
        """Return the seconds for which what was sent may still be on its way: never more than it may take,
        however far back the clock has been set since.
        """
        over = (row.updated_at if sent_at is None else sent_at) + timeout_s
        return min(max(0.0, over - self._clock.now()), timeout_s)

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
        contract = ticket.call.contract
        step = (
            "retry" if is_clients(contract) else after_crash(contract)
        )  # handing a call over changes nothing
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

    async def given_up(
        self, session: RunSession, proposal: Proposal, row: CallRow, entry: Entry | None, why: CallError
    ) -> Result:
        """End a call that was sent, without an outcome on record, and that `why` stands against now.

        `entry` is None for a tool that is not there any more: then nobody knows that it only read.
        """
        read = entry is not None and (entry.contract.risk.is_read or is_clients(entry.contract))
        try:
            result = await self._resolutions.given_up(session, proposal, row, why, read)
        except TakenOver as over:
            if over.row is None:
                raise
            return self._gate.restored(session, proposal, over.row)  # it has come back meanwhile
        return await self.look(session, row, entry, result)

    async def look(
        self, session: RunSession, row: CallRow, entry: Entry | None, unsure: Result, code: str = "NOT_AGAIN"
    ) -> Result:
        """Ask the probe of a call, if it has one, what became of it. It is not sent again."""
        if entry is None or entry.contract.probe is None:
            return unsure
        proposal = proposal_of(row)
        call = ValidCall(proposal, entry.contract, proposal.arguments or {}, row.arguments)
        ticket = self._gate.admission.ticket(session, entry, call, None)
        ticket.key, ticket.fingerprint = row.key, row.fingerprint
        ticket.decision = Decision("allow", (code,), None, self._gate.admission.version)
        return await self.probe(session, ticket, unsure, again=False, sent_at=row.updated_at)

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
        if await self._goes_on(row, contract):
            return unsure
        # it may still be on its way: only after the time that it had is a "no" an answer, and of a target
        # that was too slow only after the same time again
        if _was_slow(row):
            sent_at = None
        left = self._left(row, contract.timeout_s, sent_at)
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

    async def _goes_on(self, row: CallRow, contract: Contract) -> bool:
        """Tell whether a thread that was left behind may still be at work on the call: then a "no" says
        nothing, and what the thread comes to will resolve the call.
        """
        error = read_stored(row.result)[1]
        left = error is not None and error.error_code in ("TOOL_TIMEOUT", "RUN_CANCELLED")
        return left and self._blocks(contract) and not is_gone(await self._sender(row))

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
        """Send the call again, under the approval that it has. When nothing is in doubt any more, as after a
        probe's "no", policy may ask a person about it who was not asked before.
        """
        approved, now = None, ticket
        if over is None or row.approval_id is not None:
            admitted = await self._gate.admission.again(session, ticket)
            if isinstance(admitted, Refusal):
                return await self._gate.refuse(session, ticket, admitted.error)
            now = admitted
        if row.approval_id is not None:
            approval = await self._store.approval(row.approval_id)
            approved = None if approval is None else approval.binding
            now = now.of(now.call, replace(now.decision, decision="ask"))
        elif over is None and now.decision.decision == "ask":
            return await self._gate.ask(session, now)
        ticket = now
        try:
            binding = await self._approvals.binding(session, ticket)
        except UnreadableFile as file:
            return await self._gate.refuse(session, ticket, no_file(str(file.args[0])))
        grant = authorise(
            ticket.call,
            ticket.decision,
            self._gate.context(session, ticket),
            approved_binding=approved,
            binding=binding,
            attempt=row.attempt + 1,
        )
        if grant is None:
            return await self._gate.refuse(session, ticket, refusals.stale())
        return await self._gate.send(session, ticket, grant, over)


def proposal_of(row: CallRow) -> Proposal:
    """Return the proposal that a row was made from, with the arguments that it holds."""
    return Proposal(row.run_id, row.step_id, row.ordinal, row.call_id, row.tool, arguments_of(row.arguments))


def _as_sent(ticket: Ticket, row: CallRow) -> Ticket:
    """Return the ticket of a call with the arguments that were sent: a person may have changed them."""
    if row.approval_id is None or row.arguments == ticket.call.canonical:
        return ticket
    call = replace(ticket.call, arguments=arguments_of(row.arguments), canonical=row.arguments)
    return ticket.of(call, ticket.decision)


def _was_slow(row: CallRow) -> bool:
    """Tell whether the call is in doubt because nothing came back in its time; the row says since when."""
    error = read_stored(row.result)[1]
    return error is not None and error.error_type == "timeout"


def _answered(row: CallRow) -> bool:
    """Tell whether the target has answered the call: then nothing of it is on its way any more."""
    error = read_stored(row.result)[1]
    return error is not None and error.error_type == "upstream_error"
