"""Records of what became of calls whose outcome was not known: lost for good, or found out about."""

from typing import Any

import msgspec
from msgspec.structs import replace

from gerbang.audit.chain import PENDING
from gerbang.ledger.machine import LedgerEvent, advance
from gerbang.ports import Clock
from gerbang.runtime import refusals
from gerbang.runtime.bodies import event, refused_body, shown_input, with_detail
from gerbang.runtime.executor import Execution
from gerbang.runtime.present import show_error
from gerbang.runtime.records import Records
from gerbang.runtime.refusing import left_body
from gerbang.runtime.session import RunSession
from gerbang.runtime.stored import stored_error
from gerbang.runtime.ticket import Ticket
from gerbang.runtime.writing import TakenOver
from gerbang.values import CallError, Decision, Proposal, Result
from gerbang.values.event import NewEvent
from gerbang.values.record import Batch, CallRow, CallState

_ENCODER = msgspec.json.Encoder()


class Resolutions:
    """Writes them, each with the call's one result."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    async def lost(self, session: RunSession, ticket: Ticket, row: CallRow, person: bool) -> Result:
        """Record that nobody knows what became of a call, and return that as its result.

        `person`: it is of a kind that somebody should look at now.
        """
        error, now = refusals.uncertain(), self._clock.now()
        contract, proposal = ticket.call.contract, ticket.call.proposal
        state = advance(row.state, LedgerEvent.LOSE_TRACK)
        shown = show_error(error, contract.name, session.profile, session.texts)
        done = replace(row, state=state, result=stored_error(error), for_model=shown, updated_at=now)
        reasons = ("NEEDS_A_PERSON",) if person else ()
        body = left_body(session.principal, proposal, done, error, now, reasons)
        lost = event("call.lost", session.run_id, body)
        return await self._ending(session, proposal, ticket.decision, done, lost, error)

    async def given_up(
        self, session: RunSession, proposal: Proposal, row: CallRow, why: CallError, read: bool
    ) -> Result:
        """Record the end of a call that was sent before, and that is refused now; return that as its result.

        A read has failed, for the reason `why`. Of what changes something nobody knows what became of it.
        """
        error, now = why if read else refusals.not_again(why), self._clock.now()
        state = advance(row.state, LedgerEvent.FAIL if read else LedgerEvent.LOSE_TRACK)
        shown = show_error(error, row.tool, session.profile, session.texts)
        done = replace(row, state=state, result=stored_error(error), for_model=shown, updated_at=now)
        reasons = (why.error_code,) if read else ("NEEDS_A_PERSON", why.error_code)
        body = left_body(session.principal, proposal, done, error, now, reasons)
        kind = "call.finished" if read else "call.lost"
        return await self._ending(session, proposal, None, done, event(kind, session.run_id, body), error)

    async def found_out(
        self, session: RunSession, ticket: Ticket, row: CallRow, answer: Result | None
    ) -> Result:
        """Record what a probe has found out about an UNCERTAIN call. `answer` None: it has not happened."""
        happened = answer is not None
        what = LedgerEvent.LEARN_HAPPENED if happened else LedgerEvent.LEARN_NOT_HAPPENED
        state, now = advance(row.state, what), self._clock.now()
        contract, proposal = ticket.call.contract, ticket.call.proposal
        error = None if happened else refusals.not_happened()
        value = None if answer is None else {"happened": True, "found": answer.value}
        stored = stored_error(error) if error is not None else _ENCODER.encode(value)
        shown = (
            show_error(error, contract.name, session.profile, session.texts)
            if error is not None
            else session.texts.happened
        )
        done = replace(row, state=state, result=stored, for_model=shown, updated_at=now)
        body = refused_body(
            session.principal,
            proposal,
            state=state,
            attempt=row.attempt,
            status="success" if happened else "error",
            finished_at=now,
            reasons=("PROBED",),
        )
        found = event("call.resolved", session.run_id, body)
        return await self._ending(session, proposal, ticket.decision, done, found, error, value)

    async def _ending(
        self,
        session: RunSession,
        proposal: Proposal,
        decision: Decision | None,
        done: CallRow,
        said: NewEvent,
        error: CallError | None,
        value: Any = None,
    ) -> Result:
        """Write a call's row and event, with what the run owes, and return the call's result."""
        batch = session.batch()
        batch.calls = (*batch.calls, done)
        batch.events.append(said)
        result = Result(
            status="ok" if error is None else "error",
            tool=done.tool,
            run_id=session.run_id,
            step_id=proposal.step_id,
            call_id=proposal.call_id,
            value=value,
            error=error,
            for_model=done.for_model,
            decision=decision,
        )
        return await self._records.ending(session, batch, result)

    async def overtaken(
        self, session: RunSession, ticket: Ticket, row: CallRow, execution: Execution, over: TakenOver
    ) -> Result:
        """Record an outcome after another process has gone on with the run, or with the call.

        Nothing else of ours is written without the lease. What stands in the call's row guards it: it is
        the outcome of an attempt that is still open, or resolves one that the other process had to leave
        UNCERTAIN. Returns the result to whoever made the call; raises TakenOver in a run that is another's.
        """
        session.batch()  # what the run owed is the other one's to write
        batch, result = over.batch, over.result
        standing = await self._records.standing(ticket.key)
        if standing is not None and standing.state == CallState.DISPATCHED and batch is not None:
            batch.lease = None
            committed = await self._records.through(session, batch)
            standing = None if committed.written else committed.taken
        known = execution.outcome.state != "UNCERTAIN"
        if standing is not None and standing.state == CallState.UNCERTAIN and known:
            await self.resolved(session, ticket, row, execution)
        if session.lease is not None or result is None:
            raise over
        return result

    async def dropped(self, session: RunSession, row: CallRow) -> None:
        """Record the end of a question that a process asked and did not live to hear the answer of."""
        error, now = refusals.cancelled(read=True), self._clock.now()
        state = advance(row.state, LedgerEvent.FAIL)
        body = refused_body(
            session.principal,
            Proposal(row.run_id, row.step_id, row.ordinal, row.call_id, row.tool, {}),
            state=state,
            attempt=row.attempt,
            status="error",
            error_code=error.error_code,
            effect="none",
            finished_at=now,
        )
        done = replace(row, state=state, result=stored_error(error), updated_at=now)
        await self._records.through(
            session,
            Batch(calls=[done], events=[event("call.finished", row.run_id, body)], lease=session.lease),
        )

    async def resolved(self, session: RunSession, ticket: Ticket, row: CallRow, execution: Execution) -> None:
        """Record what became of a call whose fate was not known, unless somebody has found out meanwhile."""
        happened = execution.outcome.state == "SUCCEEDED"
        what = LedgerEvent.LEARN_HAPPENED if happened else LedgerEvent.LEARN_NOT_HAPPENED
        state = advance(CallState.UNCERTAIN, what)
        error, output, now = execution.outcome.error, execution.output, self._clock.now()
        stored = b"" if output is None else output.text
        if error is not None:
            stored = stored_error(error)
        _, shown = self._records.show(session, ticket, execution.outcome, output)
        done = replace(row, state=state, result=stored, for_model=shown, updated_at=now)
        body = refused_body(
            session.principal,
            ticket.call.proposal,
            state=state,
            attempt=row.attempt,
            status="success" if error is None else "error",
            finished_at=now,
            output_hash=session.memory.marks.of(stored) if output is not None else "",
            salt_id=session.memory.marks.name,
            output_bytes=len(stored),
        )
        await self._records.through(
            session, Batch(calls=[done], events=[event("call.resolved", session.run_id, body)])
        )

    async def previewed(self, session: RunSession, ticket: Ticket, text: str) -> Result:
        """Record that the call was only looked at, and return what it would have done as its result."""
        decision, proposal = ticket.decision, ticket.call.proposal
        result = Result(
            status="ok",
            tool=ticket.call.contract.name,
            run_id=session.run_id,
            step_id=proposal.step_id,
            call_id=proposal.call_id,
            value={"dry_run": True, "preview": text},
            for_model=f"{session.texts.dry_run}\n{text}",
            decision=decision,
        )
        body = refused_body(
            session.principal,
            proposal,
            risk_class=str(ticket.call.contract.risk),
            contract=ticket.call.contract.digest,
            input_hash=session.memory.marks.of(ticket.call.canonical),
            salt_id=session.memory.marks.name,
            detail_hash=PENDING,
            input_redacted=shown_input(ticket.call),
            policy_decision="dry_run",
            reasons=decision.reasons,
            rule=decision.rule,
            policy_version=decision.policy_version,
            status="success",
            finished_at=self._clock.now(),
        )
        batch = session.batch()
        batch.events.append(with_detail("call.previewed", session.run_id, body, session.memory.marks))
        return await self._records.ending(session, batch, result)
