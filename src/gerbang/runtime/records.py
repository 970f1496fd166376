"""Writing what happens: the intent before the effect, the outcome before anybody sees it."""

import asyncio
import contextlib
from collections.abc import Container
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gerbang.contract.semantic import SeenCall
from gerbang.errors import StoreError
from gerbang.ledger.machine import LedgerEvent, advance
from gerbang.policy.history import CallStatus
from gerbang.policy.input import PolicyInput
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.behind import Behind
from gerbang.runtime.bodies import step_name
from gerbang.runtime.denying import ended_as
from gerbang.runtime.executor import Execution
from gerbang.runtime.given_again import given_again
from gerbang.runtime.intent import DISPATCHED, basis, call_row, intent, intent_batch
from gerbang.runtime.listening import learn, read_again, speaks_of_outside
from gerbang.runtime.outcome import ended
from gerbang.runtime.output import Output
from gerbang.runtime.present import show_error, show_result
from gerbang.runtime.refusing import denied_row, denies, refusal
from gerbang.runtime.session import RunSession
from gerbang.runtime.stored import read_stored, stored_error
from gerbang.runtime.writing import TakenOver, holder_of, without_approvals, write, written
from gerbang.taint.label import label
from gerbang.values import CallError, Outcome, Proposal, Result, Taint, ValidCall
from gerbang.values.record import Batch, CallRow, CallState, Committed, RunState

if TYPE_CHECKING:
    from gerbang.runtime.ticket import Ticket
    from gerbang.runtime.verdict import Verdict

_STATUS: dict[str, CallStatus] = {"SUCCEEDED": "ok", "FAILED": "error", "UNCERTAIN": "uncertain"}
_AFTER = {  # looked up once: one of them is taken for every call
    "SUCCEEDED": advance(DISPATCHED, LedgerEvent.SUCCEED),
    "FAILED": advance(DISPATCHED, LedgerEvent.FAIL),
    "UNCERTAIN": advance(DISPATCHED, LedgerEvent.LOSE_TRACK),
}


class Records:
    """Turns the street's steps into rows and events. Validators ask about results of `watched` tools."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        watched: Container[str] = (),
        *,
        history: bool = True,
        taint: bool = True,
    ) -> None:
        self.asks_taint = taint  # nor of where values came from
        self._history = history  # a policy that never asks for past calls need not be told of them
        self._store = store
        self._clock = clock
        self.watched = watched

    @property
    def immediate(self) -> bool:
        """True when no other process can open the store."""
        return self._store.immediate

    async def dispatched(
        self,
        session: RunSession,
        ticket: "Ticket",
        attempt: int,
        at: float,
        verdict: "Verdict | None",
        over: CallRow | None = None,
    ) -> tuple[CallRow, Committed | None]:
        """Record that the call is about to run. Returns its row, and the commit if it was refused: a kill
        switch, a limit, another holder of the key or of the run may stand against it.

        `over` is a row whose place the call takes. Raises Behind when others have gone on with the run.
        """
        approval_id = None if verdict is None else verdict.approval_id
        row = call_row(session, ticket, DISPATCHED, attempt, at, approval_id)
        batch = intent_batch(session, ticket, row, at, verdict, over)
        history, before = session.memory.history, None
        if self._history:  # before anything is waited for: a sibling that is decided on meanwhile counts it
            before = history.before(ticket.plan.info) if batch.knows >= 0 else None
            ticket.number = history.note_started(ticket.plan.info, row.step_id)
        cancelled: asyncio.CancelledError | None = None
        try:
            if self._store.immediate:
                committed = await self._store.commit(batch)
            else:
                committed, cancelled = await written(self._store, batch)
        except StoreError:
            self._not_begun(session, ticket)
            session.give_back(batch)
            raise
        if cancelled is not None:
            if committed.written:
                await self._never_sent(session, ticket, row)
            else:
                self._not_begun(session, ticket)
                session.give_back(batch)
            raise cancelled
        if committed.written:
            session.memory.row = None
            session.memory.described.add(ticket.call.contract.digest)
            return row, None
        if committed.behind:
            number, ticket.number = ticket.number, 0
            if before is not None:
                history.withdraw(number, ticket.plan.info, before)
            session.give_back(batch)
            raise Behind
        self._not_begun(session, ticket)
        session.give_back(batch)
        if committed.stale is not None:  # the approval was used: by this very call, perhaps
            committed = await holder_of(self._store, ticket.key, committed)
        return row, committed

    @staticmethod
    def _not_begun(session: RunSession, ticket: "Ticket") -> None:
        number, ticket.number = ticket.number, 0
        if number:
            session.memory.history.take_back(number, ticket.plan.info)

    def restored(self, session: RunSession, proposal: Proposal, row: CallRow) -> Result:
        """Return the result of a call that is over, as its row tells it. Records nothing."""
        output, error = read_stored(row.result)
        good = row.state in (CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED) and error is None
        entry = session.catalogue.find(row.tool)
        taint = None
        if good and output is not None and entry is not None:
            taint = label(row.tool, entry.contract.risk, output.text[:64_000].decode("utf-8", "replace"))
        return Result(
            status="ok" if good else "error",
            tool=row.tool,
            run_id=session.run_id,
            step_id=proposal.step_id,
            call_id=proposal.call_id,
            value=output.value if good and output is not None else None,
            error=None if good else error or refusals.uncertain(),
            replayed=True,
            taint=taint,
            for_model=row.for_model,
            approval_id=row.approval_id,
        )

    async def retried(
        self, session: RunSession, ticket: "Ticket", row: CallRow, at: float
    ) -> tuple[CallRow | None, asyncio.CancelledError | None]:
        """Record that the call is about to be sent again. Returns its row, None when that may not be, and the
        cancellation that came meanwhile, which is the caller's to raise.
        """
        state = advance(CallState.DISPATCHED, LedgerEvent.DISPATCH)
        again = replace(row, state=state, attempt=row.attempt + 1, updated_at=at)
        batch = Batch(
            calls=[again],
            events=[intent("call.retried", session, ticket, again, None)],
            stops=ticket.plan.stops + session.stops,
            lease=session.lease,
            writer=session.memory.writer,
        )
        committed, cancelled = await written(self._store, batch)
        return again if committed.written else None, cancelled

    async def _never_sent(self, session: RunSession, ticket: "Ticket", row: CallRow) -> None:
        execution = Execution(Outcome("FAILED", error=refusals.not_sent(session.out_of_time())))
        session.memory.row = None
        with contextlib.suppress(TakenOver):
            await asyncio.shield(self.finished(session, ticket, row, execution, self._clock.now(), None))

    async def finished(
        self,
        session: RunSession,
        ticket: "Ticket",
        row: CallRow,
        execution: Execution,
        started: float,
        verdict: "Verdict | None",
    ) -> Result:
        """Record the outcome and return the call's result. Raises TakenOver."""
        call, outcome, output = ticket.call, execution.outcome, execution.output
        contract, proposal = call.contract, call.proposal
        taint, shown = self.show(session, ticket, outcome, output)
        if verdict is not None and verdict.edited_note:
            shown = f"{verdict.edited_note}\n{shown}"
        now = self._clock.now()
        stored = output.text if output is not None and outcome.error is None else b""
        if outcome.error is not None:
            stored = stored_error(outcome.error)
        state = _AFTER[outcome.state]
        done = replace(row, state=state, result=stored, for_model=shown, updated_at=now)
        error = outcome.error
        said = ended(session, ticket, done, outcome, taint, started, has_output=output is not None)
        batch = Batch(calls=[done], events=[said])
        if ticket.number:  # 0: cancelled before it began
            session.memory.history.note_finished(ticket.number, ticket.plan.info, _STATUS[outcome.state])
        result = Result(  # in the order of the fields: names cost more than the rest of it
            "ok" if error is None else "error",
            contract.name,
            session.run_id,
            proposal.step_id,
            proposal.call_id,
            outcome.value,
            error,
            False,
            taint,
            "",
            shown,
            row.approval_id,
            ticket.decision,
        )
        result = await self.ending(session, batch, result)
        if self.asks_taint:
            learn(session, ticket, outcome)
        if error is None and ticket.entry.contract.name in self.watched:
            session.memory.seen.append(
                SeenCall(contract.name, row.call_id, result.event_id, call.arguments, now)
            )
        return result

    async def ending(self, session: RunSession, batch: Batch, result: Result) -> Result:
        """Write the record that ends a call, and return its result with the record's id.

        The run knows of the result before the record is written: whoever is cancelled meanwhile must not
        end the call a second time. Raises TakenOver when another process has gone on with the run or call,
        and Behind when the batch asks for that.
        """
        batch.lease, batch.writer = session.lease, session.memory.writer
        if session.closing is None and self._store.immediate:  # nobody can come in between
            committed = await self._store.commit(batch)
            session.memory.row = None
        else:
            session.ended[result.call_id] = result
            try:
                committed = await self.through(session, batch, result)
            except StoreError:
                del session.ended[result.call_id]
                raise
        if not committed.written:
            session.ended.pop(result.call_id, None)
            session.give_back(batch)
            if committed.behind:
                raise Behind
            raise TakenOver(batch, result, None if committed.fenced else committed.taken)
        result = replace(result, event_id=f"{session.run_id}/{committed.seq}")
        session.ended[result.call_id] = result
        return result

    async def standing(self, key: str) -> CallRow | None:
        """Return what is on record of a call."""
        return await self._store.call(key)

    async def through(self, session: RunSession, batch: Batch, result: Result | None = None) -> Committed:
        """Commit an outcome: it is written whether or not somebody still waits for it.

        `result` is what a run of one call ends with.
        """
        batch.writer = session.memory.writer
        if session.closing is not None:
            state = session.closing.state
            if state == RunState.RUNNING:
                state = RunState.COMPLETED if result is None else ended_as(result)
            batch.runs = (*batch.runs, *session.ends_as(state, self._clock.now()))
            session.closed_row, session.closing = session.closing, None
        try:
            if self._store.immediate:
                committed = await self._store.commit(batch)
            else:
                committed = await write(self._store, batch)
            if committed.stale is not None:  # its approval was used meanwhile; the refusal stands without
                committed = await write(self._store, without_approvals(batch))
        except StoreError:
            session.give_back(batch)
            raise
        session.memory.row = None
        return committed

    def show(
        self, session: RunSession, ticket: "Ticket", outcome: Outcome, output: Output | None
    ) -> tuple[Taint | None, str]:
        """Return the taint of an outcome, and the text of it that the model sees."""
        contract, proposal = ticket.call.contract, ticket.call.proposal
        if outcome.error is not None or output is None:
            error = outcome.error or refusals.uncertain()
            if speaks_of_outside(contract, error):
                session.memory.taint(step_name(proposal.step_id), proposal.ordinal)
            return None, show_error(error, contract.name, session.profile, session.texts)
        text = output.plain
        taint = label(contract.name, contract.risk, text)
        if taint.trust_level == "external":
            session.memory.taint(step_name(proposal.step_id), proposal.ordinal)
        return taint, show_result(output, text, contract, taint, session.profile, session.texts)

    async def refused(
        self,
        session: RunSession,
        proposal: Proposal,
        error: CallError,
        call: ValidCall | None,
        verdict: "Verdict | None",
        result: Result,
        seen: PolicyInput | None = None,
        *,
        knows: int = -1,
    ) -> Result:
        """Record that a proposal was not run. Returns its result with the record's id.

        `call` is what was asked for, where it fits its contract, `seen` what policy decided on: when that was
        to deny it, both are kept. `knows` from 0 on: raises Behind when the run has later events of others.
        """
        now = self._clock.now()
        batch = session.batch()
        batch.knows = knows
        if verdict is not None:
            verdict.give_up(batch, now, error)
            if verdict.held is not None:  # the key was held for the approval; it is free again
                state = advance(CallState.PLANNED, LedgerEvent.REFUSE)
                batch.calls = (
                    *batch.calls,
                    replace(
                        verdict.held,
                        state=state,
                        result=stored_error(error),
                        updated_at=now,
                        policy_input=verdict.held.policy_input if seen is None else basis(session, seen),
                    ),
                )
        if call is not None and seen is not None and denies(result) and not batch.calls:
            batch.claims = (*batch.claims, denied_row(session, call, seen, result, now))
        batch.events.append(refusal(session, proposal, error, call, result.decision, verdict, now))
        try:
            return await self.ending(session, batch, result)
        except TakenOver as over:
            if over.row is None:
                raise
            batch.calls = []  # another process has used the key meanwhile; the refusal stands without
            session.batch()
            return await self.ending(session, batch, result)

    async def replayed(self, session: RunSession, ticket: "Ticket", row: CallRow) -> Result:
        """Record that a stored result was given again, and return it with this run's taint."""
        contract, proposal = ticket.call.contract, ticket.call.proposal
        output, error = read_stored(row.result)
        outcome = Outcome("SUCCEEDED", None if output is None else output.value, error)
        taint, shown = self.show(session, ticket, outcome, output)
        batch = session.batch()
        batch.events.append(given_again(session, ticket, row, error, taint, self._clock.now()))
        result = Result(
            status="ok" if error is None else "error",
            tool=contract.name,
            run_id=session.run_id,
            step_id=proposal.step_id,
            call_id=proposal.call_id,
            value=outcome.value,
            error=error,
            replayed=True,
            taint=taint,
            for_model=shown,
            decision=ticket.decision,
        )
        if self._history:
            read_again(session, ticket, row)
        if self.asks_taint:
            learn(session, ticket, outcome)
        return await self.ending(session, batch, result)
