"""Calls that were sent and whose outcome is not on record, or not known: the matrix says what follows."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gerbang.approval.grant import authorise
from gerbang.approval.terms import read_terms
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
from gerbang.runtime.settling import is_at_work, sending_of, settles_at
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
        sending = await sending_of(self._store, row)
        over = sending.until or row.updated_at + seconds
        # never more than it may take, however far back the clock has been set since
        wait = min(max(0.0, over - await self._store.time()), max(seconds, sending.until - sending.began))
        left = session.budget.remaining(began)
        wait = wait if left is None else min(wait, left)
        pause = _FIRST_LOOK_S
        while row.state == CallState.DISPATCHED and not is_gone(sending.process):
            left = began + wait - self._clock.monotonic()
            if left <= 0:
                break
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, _LAST_LOOK_S)
            row = await self._store.call(row.key) or row
        return row

    async def is_running(self, row: CallRow, timeout_s: float) -> bool:
        """Tell whether somebody may still be at work on a call that was sent."""
        now = await self._store.time()
        return is_at_work(row, await sending_of(self._store, row), now, timeout_s)

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
            return await self.probe(session, ticket, result)
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
        self,
        session: RunSession,
        row: CallRow,
        entry: Entry | None,
        unsure: Result,
        code: str = "NOT_AGAIN",
        patience_s: float | None = None,
    ) -> Result:
        """Ask the probe of a call, if it has one, what became of it. It is not sent again. `patience_s`: a
        "no" that does not count by then is none.
        """
        if entry is None or entry.contract.probe is None:
            return unsure
        proposal = proposal_of(row)
        call = ValidCall(proposal, entry.contract, proposal.arguments or {}, row.arguments)
        ticket = self._gate.admission.ticket(session, entry, call, None)
        ticket.key, ticket.fingerprint = row.key, row.fingerprint
        ticket.decision = Decision("allow", (code,), None, self._gate.admission.version)
        return await self.probe(session, ticket, unsure, again=False, patience_s=patience_s)

    async def probe(
        self,
        session: RunSession,
        ticket: Ticket,
        unsure: Result,
        *,
        again: bool = True,
        patience_s: float | None = None,
    ) -> Result:
        """Ask the probe about a call that is UNCERTAIN on record. `unsure` stands when it cannot tell, or
        when the run has less time left than a "no" takes to count: whoever comes back for it goes on waiting.

        `again` False: what has not happened is not sent again; nobody waits for it any more.
        """
        contract, probe = ticket.call.contract, ticket.call.contract.probe
        row = await self._store.call(ticket.key)
        if probe is None or row is None or row.state != CallState.UNCERTAIN:
            return unsure
        ticket = _as_sent(ticket, row)
        await self._drop_probes(session, row)
        left: float | None = await self.settling(row, contract)
        answer = await self._ask(session, ticket, probe, row)
        fate = fate_from(probe, answer)
        if fate == "not_happened" and (left is None or left > 0):
            if left is None or not _has_time(session, left, self._clock.monotonic(), patience_s):
                return unsure
            await asyncio.sleep(left)
            answer = await self._ask(session, ticket, probe, row)
            fate = fate_from(probe, answer)
        if fate == "unknown":
            return unsure
        if fate == "happened":
            return await self._found_out(session, ticket, row, answer)
        failed = await self._found_out(session, ticket, row, None)
        if failed.status == "ok" or failed.replayed:
            return failed  # somebody else has found out meanwhile
        if not again or row.attempt >= contract.retry.max_attempts:
            return failed
        return await self._again(session, ticket, row, over=None)

    async def settling(self, row: CallRow, contract: Contract) -> float | None:
        """Return the seconds after which a "no" counts; None: not as things are, for a thread that nobody can
        end may still be at work. What that comes to will resolve the call.
        """
        now, sending = await self._store.time(), await sending_of(self._store, row)
        counts = settles_at(row, contract, sending, blocks=self._blocks(contract))
        # never more than it may take in all, however far back the clock has been set since
        return None if counts is None else min(counts - now, counts - (sending.began or row.updated_at))

    async def _ask(self, session: RunSession, ticket: Ticket, probe: Probe, row: CallRow) -> Result:
        return await self._gate.call(session, probe_proposal(session, ticket, probe, row), counted=False)

    async def _found_out(
        self, session: RunSession, ticket: Ticket, row: CallRow, answer: Result | None
    ) -> Result:
        session.reopen()
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
        session.reopen()
        approved, then, now = None, None, ticket
        if over is None or row.approval_id is not None:
            admitted = await self._gate.admission.again(session, ticket)
            if isinstance(admitted, Refusal):
                return await self._gate.refuse(session, ticket, admitted.error)
            now = admitted
        if row.approval_id is not None:
            approval = await self._store.approval(row.approval_id)
            if approval is not None:
                approved, then = approval.binding, read_terms(approval.terms)
            now = now.of(now.call, replace(now.decision, decision="ask"))
        elif over is None and now.decision.decision == "ask":
            return await self._gate.ask(session, now)
        ticket = now
        try:
            binding = await self._approvals.binding(session, ticket, then)
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


def _has_time(session: RunSession, seconds: float, now: float, patience_s: float | None) -> bool:
    """Tell whether the run may wait so long, and whoever asks would. `now` is monotonic."""
    left = session.budget.remaining(now) if patience_s is None else patience_s
    return left is None or seconds < left
