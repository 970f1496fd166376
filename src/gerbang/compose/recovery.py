"""Runs that were cut off: found by their leases, and ended or left to whoever can go on with them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gerbang.approval.machine import ApprovalState
from gerbang.compose.rights import Known, sent_as, still_theirs
from gerbang.compose.toolbox import Toolbox
from gerbang.compose.undriven import PATIENCE_S, Undriven
from gerbang.contract.catalogue import Entry
from gerbang.ledger.machine import LedgerEvent, advance
from gerbang.limits import TOOL_TIMEOUT_S
from gerbang.loop.budget import Budget
from gerbang.loop.profile import profile_named
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.bodies import event
from gerbang.runtime.gate import Gate
from gerbang.runtime.kept import OPENING
from gerbang.runtime.leases import Leases
from gerbang.runtime.lost import proposal_of
from gerbang.runtime.refusing import left_body
from gerbang.runtime.session import RunMemory, RunSession
from gerbang.runtime.stored import stored_error
from gerbang.runtime.writing import TakenOver, write
from gerbang.values import CallError, Principal, Result
from gerbang.values.record import Batch, CallRow, CallState, RunRow, RunState

_WIDTH: Final = 8


class Recovered(Struct, frozen=True):
    """A run that was cut off, or had calls that were, and how it stands now. `calls` are the tools and states
    of what was open.
    """

    run_id: str
    state: str
    calls: tuple[tuple[str, str], ...] = ()


class Recovery:
    """Sees to the cut off runs of a store, one after the other. Two of them at once do nothing twice.

    `known` says what people may do now; None: nobody here knows.
    """

    def __init__(
        self,
        gate: Gate,
        store: Store,
        clock: Clock,
        leases: Leases,
        toolbox: Toolbox,
        undriven: Undriven,
        known: Known | None = None,
    ) -> None:
        self._undriven = undriven
        self._known = known
        self._gate = gate
        self._store = store
        self._clock = clock
        self._leases = leases
        self._toolbox = toolbox

    async def all(self, limit: int) -> list[Recovered]:
        """See to them all. Raises StoreError."""
        undriven = self._undriven
        found = await self._each(self._unfinished, await self._store.unfinished(limit))
        found += await self._each(self._left, await undriven.sent(limit))
        return found + await self._each(self._doubted, await undriven.unsure(self._gate, limit))

    async def _each(
        self, see_to: Callable[[Any], Awaitable[Recovered | None]], which: list[Any]
    ) -> list[Recovered]:
        """See to some of them at a time: one may have to wait until its probe can tell. Raises StoreError."""
        width = asyncio.Semaphore(_WIDTH)

        async def one(what: Any) -> Recovered | None:
            async with width:
                return await see_to(what)

        ended = await asyncio.gather(*map(one, which), return_exceptions=True)
        found = []
        for recovered in ended:
            if isinstance(recovered, BaseException):
                raise recovered
            if recovered is not None:
                found.append(recovered)
        return found

    async def _unfinished(self, run: RunRow) -> Recovered | None:
        answers = await self._store.answers(run.run_id)
        if answers and answers[0].step == OPENING:
            return Recovered(run.run_id, run.state)
        return await self._one(run)

    async def _doubted(self, what: tuple[RunRow, list[CallRow]]) -> Recovered | None:
        """The same for calls in doubt, whose probes are asked."""
        changed = await self._left(what)
        await self._undriven.asked(what[1])
        return changed

    async def _left(self, what: tuple[RunRow, list[CallRow]]) -> Recovered | None:
        """See to calls of a run that nobody drives; the run stays as it is. None when nothing came of it."""
        run, calls = what
        session = self.session(run)
        if not await self._leases.take(session):
            return None
        try:
            rows = [await self._store.call(row.key) for row in calls]
            standing = [row for row, was in zip(rows, calls, strict=True) if row == was and row is not None]
            if not await self.close_sent(session, standing):
                return None
        except TakenOver:  # by who makes the call again, or recovers as well
            return None
        finally:
            await self._leases.let_go(session)
        named = []
        for was in standing:
            row = await self._store.call(was.key)
            if row is not None and row.state != was.state:
                named.append((row.tool, row.state))
        return Recovered(run.run_id, run.state, tuple(named)) if named else None

    async def _one(self, run: RunRow) -> Recovered | None:
        """End the run of a single call; None when somebody is still at work on it."""
        session = self.session(run)
        if not await self._leases.take(session):
            return None
        try:
            fresh = await self._store.run(run.run_id)
            if fresh is None or fresh.state != RunState.RUNNING:
                return None
            return await self._settle(session, fresh)
        except TakenOver:  # by another one that recovers; it sees to the run
            return None
        finally:
            await self._leases.let_go(session)

    def entry(self, tool: str) -> Entry | None:
        """Return the tool as it is here; None for one that is not."""
        return self._toolbox.catalogue.recorded(tool)

    def session(self, run: RunRow) -> RunSession:
        """Return what a run is ended under: for its user, with no rights."""
        return RunSession(
            run_id=run.run_id,
            principal=Principal(run.user, run.tenant),
            catalogue=self._toolbox.catalogue,
            memory=RunMemory(Budget(), run.salt),
            profile=profile_named("gateway"),
            lang="en",
        )

    async def _settle(self, session: RunSession, run: RunRow) -> Recovered | None:
        calls = await self._store.open_calls(run.run_id)
        if await self.at_work(calls):
            return None
        batch, state = Batch(), RunState.CANCELLED
        for row in calls:
            if row.state == CallState.PLANNED and await self._waits(row):
                state = RunState.PENDING_APPROVAL
            elif row.state != CallState.UNCERTAIN:
                self._close(session, row, batch)
        if not await self._written(session, batch, calls):
            return None
        # last: whoever finds out can die on the way, and a run that is over is not looked at again
        ended = replace(run, state=state, updated_at=self._clock.now())
        if not (await write(self._store, Batch(runs=[ended], lease=session.lease))).written:
            return None
        after = [await self._store.call(row.key) for row in calls]
        named = tuple((row.tool, row.state) for row in after if row is not None)
        return Recovered(run.run_id, state, named)

    async def close_sent(self, session: RunSession, calls: Sequence[CallRow]) -> bool:
        """End calls that were sent and that nobody waits for any more. False: somebody else saw to them."""
        batch = Batch()
        for row in calls:
            if row.state == CallState.DISPATCHED:
                self._close(session, row, batch)
        return await self._written(session, batch, calls)

    async def _written(self, session: RunSession, batch: Batch, calls: Sequence[CallRow]) -> bool:
        """Write how calls ended, then ask about those whose fate nobody knows."""
        batch.lease = session.lease
        if batch.calls and not (await write(self._store, batch)).written:
            return False
        for row in calls:
            if row.state in (CallState.DISPATCHED, CallState.UNCERTAIN):
                entry = self._toolbox.catalogue.find(row.tool)
                unsure = Result("error", row.tool, row.run_id, row.step_id, row.call_id)
                if entry is not None and entry.contract.probe is not None:
                    await self._ask_as_sent(session, row)
                await self._gate.lost.look(session, row, entry, unsure, "RECOVERED", PATIENCE_S)
        return True

    async def _ask_as_sent(self, session: RunSession, row: CallRow) -> None:
        """Have the probe of a call asked for whoever sent it, with what rights they have left:
        nobody is here who could ask with their own.
        """
        run = await self._store.run(row.run_id)
        then = None if run is None else await sent_as(self._store, run, row)
        if then is None:
            session.act_for(Principal(session.principal.user, session.principal.tenant))
        elif self._known is None:
            session.act_for(then)
        else:
            session.act_for(still_theirs(then, self._known(then.user, then.tenant)))

    async def at_work(self, calls: Sequence[CallRow]) -> bool:
        """Tell whether somebody may still be at work on one of the calls."""
        for row in calls:
            if row.state == CallState.DISPATCHED and await self._is_running(row):
                return True
        return False

    async def _is_running(self, row: CallRow) -> bool:
        entry = self._toolbox.catalogue.find(row.tool)
        seconds = TOOL_TIMEOUT_S if entry is None else entry.contract.timeout_s
        return await self._gate.lost.is_running(row, seconds)

    async def _waits(self, row: CallRow) -> bool:
        """Tell whether a person may still decide on the call, or has agreed to it."""
        approval = None if row.approval_id is None else await self._store.approval(row.approval_id)
        return (
            approval is not None
            and approval.state in (ApprovalState.PENDING, ApprovalState.GRANTED)
            and self._clock.now() < approval.expires_at
        )

    def _close(self, session: RunSession, row: CallRow, batch: Batch) -> None:
        """Have the end of a call written that nobody waits for any more."""
        entry, now = self._toolbox.catalogue.find(row.tool), self._clock.now()
        read = entry is not None and entry.contract.risk.is_read
        error: CallError
        if row.state == CallState.PLANNED:
            what, error = LedgerEvent.CANCEL, refusals.not_sent()
        elif read:
            what, error = LedgerEvent.FAIL, refusals.cancelled(read=True)
        else:
            what, error = LedgerEvent.LOSE_TRACK, refusals.uncertain()
        state = advance(row.state, what)
        done = replace(row, state=state, result=stored_error(error), for_model=error.message, updated_at=now)
        batch.calls = (*batch.calls, done)
        reasons = ("NEEDS_A_PERSON",) if what == LedgerEvent.LOSE_TRACK else ()
        body = left_body(session.principal, proposal_of(row), done, error, now, reasons)
        batch.events.append(event("call.lost", session.run_id, body))
