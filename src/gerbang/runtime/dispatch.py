"""From a grant to an outcome: the intent on record, the attempts that the retry matrix allows, the end."""

import asyncio
import contextlib
import random
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from gerbang.approval.grant import AuthorisedCall, renewed
from gerbang.contract.client_tools import is_clients
from gerbang.errors import StoreError
from gerbang.ledger.retry import next_step, wait_ms
from gerbang.ports import Clock
from gerbang.runtime import refusals
from gerbang.runtime.admission import Admission
from gerbang.runtime.behind import Behind
from gerbang.runtime.breaker import Breakers
from gerbang.runtime.clearance import Clearance
from gerbang.runtime.executor import Execution, Executor
from gerbang.runtime.named_files import NamedFiles
from gerbang.runtime.records import Records
from gerbang.runtime.resolutions import Resolutions
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Refusal, Ticket
from gerbang.runtime.verdict import Verdict
from gerbang.runtime.writing import TakenOver
from gerbang.values import CallError, Contract, Outcome, Result, ValidCall
from gerbang.values.record import CallRow, Committed, RunState

_AFTER_S: Final = 1.0


class Stopped(Struct, frozen=True, gc=False):
    """Nothing ran: why, or the row of the call that holds the key, or that a person is to be asked now."""

    error: CallError | None = None
    taken: CallRow | None = None
    asks: bool = False


class _Flight(Struct):
    """The attempts of one call: the newest one's row and grant, and what came of the one before that ended.

    `verdict` is what a person said of it. `lates` is work that outlived its time, `doubt` the attempts before
    the newest whose fate nobody knows. `flying` tells that something of it may be on its way.
    """

    row: CallRow
    grant: AuthorisedCall
    doubt: list[int]
    verdict: Verdict | None
    lates: list[asyncio.Future[Any]] = []
    ended: Execution | None = None
    flying: bool = False
    until: float = 0.0
    clearance: Clearance | None = None


class Dispatch:
    """Runs granted calls. One instance for a gate."""

    def __init__(
        self, executor: Executor, *, records: Records, admission: Admission, clock: Clock, files: NamedFiles
    ) -> None:
        self._executor = executor
        self._files = files
        self._records = records
        self._resolutions = Resolutions(records, clock)
        self._admission = admission
        self._clock = clock
        self._breakers = Breakers()
        self._slots: dict[str, asyncio.Semaphore] = {}  # of tools that may not run many times at once
        self._late: set[asyncio.Task[None]] = set()
        self._closed = False

    async def in_turn(
        self,
        session: RunSession,
        ticket: Ticket,
        grant: AuthorisedCall,
        verdict: Verdict | None = None,
        over: CallRow | None = None,
    ) -> Result | Stopped:
        """Run a call of a tool that may not run many times at once, when it is its turn.

        What was decided before a wait may hold no longer after it: raises Behind then, and what `run` does.
        """
        contract = ticket.call.contract
        slots = self._slots.setdefault(contract.name, asyncio.Semaphore(contract.concurrency or 1))
        waits = slots.locked() and over is None
        try:
            async with asyncio.timeout(self._time_for(session, ticket, self._clock.monotonic())):
                await slots.acquire()
        except TimeoutError:
            return Stopped(refusals.too_busy(contract.name))
        try:
            if waits and not await self._holds(session, ticket, verdict):
                raise Behind
            return await self.run(session, ticket, grant, verdict, over)
        finally:
            slots.release()

    async def _holds(self, session: RunSession, ticket: Ticket, verdict: Verdict | None) -> bool:
        """Tell whether a call that has waited would be decided, and approved, as it was."""
        return await self._admission.same(session, ticket) and await self._files.still(ticket.call, verdict)

    async def run(
        self,
        session: RunSession,
        ticket: Ticket,
        grant: AuthorisedCall,
        verdict: Verdict | None = None,
        over: CallRow | None = None,
    ) -> Result | Stopped:
        """Record the intent, run, record the outcome. `over` is a lost attempt whose place the call takes.

        Raises StoreError, TakenOver, and CancelledError after the outcome is on record.
        """
        clock = self._clock
        planned = began = clock.monotonic()
        troubled = self._breakers.troubled
        open_circuit = self._breakers.refused(ticket.call.contract, began) if troubled else None
        if open_circuit is not None:
            return Stopped(open_circuit)
        if ticket.past != session.memory.history.total:
            allowed = ticket.decision.decision == "allow"
            refusal = await self._admission.settled(session, ticket)
            if refusal is not None or (allowed and ticket.decision.decision == "ask"):
                return Stopped(None if refusal is None else refusal.error, asks=refusal is None)
        started = clock.now()
        attempt = grant.attempt if over is None else max(grant.attempt, over.attempt + 1)
        row, refused = await self._records.dispatched(session, ticket, attempt, started, verdict, over)
        if refused is not None:
            return _not_begun(session, refused)
        now = began = clock.monotonic()
        flight = _Flight(row, grant, [] if over is None else [row.attempt], verdict)
        if now >= session.lease_until:
            if not await _still_ours(session):
                lost = _doubted(ticket, flight, Execution(Outcome("FAILED", error=refusals.taken_over())))
                return await self._lost(session, ticket, row, lost, started, verdict)
            now = clock.monotonic()
        if not (ticket.call.contract.risk.is_read or self._records.immediate):
            # another process may make the call when its time is over, counted from when it was put on record
            began = planned
            flight.clearance = self._clearance(session, ticket, planned, started)
        flight.until = began + self._time_for(session, ticket, began)
        cancelled: asyncio.CancelledError | None = None
        try:
            execution = await self._attempt(ticket, flight, now)
            if execution.outcome.error is not None or troubled:
                execution = _doubted(ticket, flight, await self._again(session, ticket, flight, execution))
        except asyncio.CancelledError as caught:  # the outcome is recorded first, then the task ends
            cancelled = caught
            if session.closing is not None:
                session.closing = replace(session.closing, state=RunState.CANCELLED)
            execution = _cut_off(session, ticket, flight)
        try:
            result = await self._records.finished(session, ticket, flight.row, execution, started, verdict)
        except TakenOver as over:  # what comes after another process took over resolves what that one left
            result = await self._resolutions.overtaken(session, ticket, flight.row, execution, over)
        finally:  # though the run be another's by now: what comes back resolves the call
            for late in flight.lates:
                self._watch(session, ticket, flight.row, late)
        if cancelled is not None:
            raise cancelled
        return result

    def _clearance(self, session: RunSession, ticket: Ticket, began: float, at: float) -> Clearance:
        """Return the last look before the first byte. `began` is a monotonic time, `at` the clock's then."""
        seconds = self._time_for(session, ticket, began)
        return Clearance(session, ticket, self._admission, self._clock, began=began, at=at, seconds=seconds)

    async def _lost(
        self,
        session: RunSession,
        ticket: Ticket,
        row: CallRow,
        execution: Execution,
        started: float,
        verdict: Verdict | None,
    ) -> Result:
        """Record the end of a call that was never sent: another process drives the run."""
        try:
            return await self._records.finished(session, ticket, row, execution, started, verdict)
        except TakenOver as over:
            return await self._resolutions.overtaken(session, ticket, row, execution, over)

    def blocks(self, contract: Contract) -> bool:
        """Tell whether the tool's calls run in threads."""
        return self._executor.blocks(contract)

    async def preview(self, call: ValidCall) -> str | None:
        """Return what the tool itself says that the call would do."""
        return await self._executor.preview(call)

    async def _attempt(self, ticket: Ticket, flight: _Flight, now: float) -> Execution:
        """Make the newest attempt. `now` is a monotonic time."""
        flight.flying = True
        left = flight.until - now
        flight.ended = execution = await self._executor.run(
            flight.grant, ticket.entry, left if left > 0 else 0.0, flight.lates.append, flight.clearance
        )
        flight.flying = False
        return execution

    async def _again(
        self, session: RunSession, ticket: Ticket, flight: _Flight, execution: Execution
    ) -> Execution:
        """Repeat the call as often as the matrix lets it, inside its own time. Returns how it ended."""
        contract, clock = ticket.call.contract, self._clock
        while True:
            error, row = execution.outcome.error, flight.row
            self._breakers.noted(contract, error, clock.monotonic())
            step = "no" if error is None else next_step(contract, error, row.attempt)
            if step == "ask":
                session.budget.turn_away(ticket.fingerprint)
            if error is None or flight.lates or step != "retry":
                return execution
            asked = error.retry_after_ms
            wait = wait_ms(contract, row.attempt, random.random(), None if asked is UNSET else asked)  # noqa: S311
            if clock.monotonic() + wait / 1000 >= flight.until:
                return execution
            await asyncio.sleep(wait / 1000)
            again = await self._admission.again(session, ticket)
            if isinstance(again, Refusal):
                return execution
            new = renewed(flight.grant, again.decision, row.attempt + 1)
            if new is None or not await self._files.still(ticket.call, flight.verdict):
                return execution
            retried, cancelled = await self._records.retried(session, ticket, row, clock.now())
            if retried is not None:
                flight.grant, flight.row = new, retried
                if error.effect == "unknown":
                    flight.doubt.append(row.attempt)
            if cancelled is not None:
                raise cancelled
            if retried is None or (
                clock.monotonic() >= session.lease_until and not await _still_ours(session)
            ):
                return execution
            execution = await self._attempt(ticket, flight, clock.monotonic())

    def _watch(self, session: RunSession, ticket: Ticket, row: CallRow, late: "asyncio.Future[Any]") -> None:
        """Resolve the UNCERTAIN call when its work comes back after all."""

        async def resolve() -> None:
            execution = self._executor.late_result(late, ticket.entry)
            if execution is not None:
                with contextlib.suppress(StoreError):  # closed meanwhile: UNCERTAIN stands
                    await self._resolutions.resolved(session, ticket, row, execution)

        def back(_: object) -> None:
            if self._closed:
                return
            task = asyncio.ensure_future(resolve())
            self._late.add(task)
            task.add_done_callback(self._late.discard)

        late.add_done_callback(back)

    async def aclose(self) -> None:
        """Let what is being resolved be written; nothing later is."""
        self._closed = True
        if self._late:
            await asyncio.wait(self._late)

    @staticmethod
    def _time_for(session: RunSession, ticket: Ticket, now: float) -> float:
        """Return the seconds that the call may take: its own time-out, or a little more than the run has
        left: it is the run's deadline then that ends the call, and not what looks like a slow tool.
        """
        timeout, deadline = ticket.call.contract.timeout_s, session.budget.deadline
        if deadline is None or now + timeout <= deadline:
            return timeout
        return min(timeout, max(0.0, deadline - now) + _AFTER_S)


def _not_begun(session: RunSession, committed: Committed) -> Stopped:
    """Return why a call whose intent is not on record does not run. Raises TakenOver."""
    if committed.taken is not None:
        return Stopped(taken=committed.taken)
    if committed.fenced:
        raise TakenOver
    if committed.stopped == session.switch:
        session.ask_to_end()
    return Stopped(refusals.not_committed(committed))


def _doubted(ticket: Ticket, flight: _Flight, execution: Execution) -> Execution:
    """Return how a call ended: that its last attempt had no effect says nothing of one before it."""
    error, contract = execution.outcome.error, ticket.call.contract
    if not flight.doubt or error is None or error.effect != "none":
        return execution
    if contract.risk.is_read or is_clients(contract):  # neither has an effect that could be in doubt
        return execution
    return Execution(Outcome("UNCERTAIN", error=refusals.uncertain()))


def _cut_off(session: RunSession, ticket: Ticket, flight: _Flight) -> Execution:
    """Return how a call ended that was cancelled: in the middle of an attempt, or between two."""
    late = session.out_of_time()
    if ticket.call.contract.risk.is_read:
        return Execution(Outcome("FAILED", error=refusals.cancelled(True, late)))
    ended = None if flight.ended is None else flight.ended.outcome.error
    if flight.flying or ended is None or ended.effect != "none":
        return Execution(Outcome("UNCERTAIN", error=refusals.cancelled(False, late)))
    return _doubted(ticket, flight, Execution(Outcome("FAILED", error=refusals.not_sent(late))))


async def _still_ours(session: RunSession) -> bool:
    """Ask the store for more of a lease whose time is over: we were paused, or another drives the run."""
    return session.renew is not None and await session.renew()
