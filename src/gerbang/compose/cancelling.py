"""Ending a run that any process drives, or none: by a request on record, or at once."""

import asyncio
from typing import Final

from msgspec.structs import replace

from gerbang.compose.recovery import Recovery
from gerbang.compose.runs import check_place
from gerbang.errors import UsageError
from gerbang.ports import Clock, Store
from gerbang.runtime import refusals
from gerbang.runtime.bodies import CancelAsked, RunFinished, event
from gerbang.runtime.leases import Leases
from gerbang.runtime.lost import proposal_of
from gerbang.runtime.refusing import cut_off
from gerbang.runtime.resuming import RESUMABLE, Progress, progress_of
from gerbang.runtime.session import RunSession
from gerbang.runtime.withdrawing import withdraw_open
from gerbang.runtime.writing import write
from gerbang.values import Principal, Proposal
from gerbang.values.event import NewEvent
from gerbang.values.record import RUN_SWITCH, Batch, CallRow, CallState, Kill, RunRow, RunState

_FIRST_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.5


class Cancelling:
    """Ends runs of a store. Two of them at once do nothing twice."""

    def __init__(self, store: Store, clock: Clock, leases: Leases, recovery: Recovery) -> None:
        self._store = store
        self._clock = clock
        self._leases = leases
        self._recovery = recovery

    async def cancel(self, run_id: str, by: Principal, reason: str, wait_s: float) -> RunRow:
        """End the run, and return it as it is after `wait_s` seconds at most."""
        check_place(by, run_id, 1, None, None, None)
        run, asked, pause = await self._own(run_id, by), False, _FIRST_LOOK_S
        if run.state == RunState.OPEN:
            return await self._end_open(run, by, reason)
        until = self._clock.monotonic() + wait_s
        while run.state in RESUMABLE:
            ended = await self._end_undriven(run, by, reason)
            if ended is not None:
                return ended
            if not asked:
                await self._ask(run, by, reason)
                asked = True
            self._leases.stopping.stop(run_id)
            if self._clock.monotonic() >= until:
                return run
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK_S)
            run = await self._own(run_id, by)
        if asked and not _by_calls(run):  # it may have ended before it could hear of that
            await self._store.revive(RUN_SWITCH + run_id)
        return run

    async def _own(self, run_id: str, by: Principal) -> RunRow:
        run = await self._store.run(run_id)
        while run is None and self._leases.stopping.drives(run_id, by.tenant):  # its first record is to come
            self._leases.stopping.stop(run_id)
            await asyncio.sleep(_FIRST_LOOK_S)
            run = await self._store.run(run_id)
        if run is None or run.tenant != by.tenant:
            raise UsageError(f"There is no run {run_id[:80]!r} of {by.tenant}. See: gerbang runs list")
        return run

    async def _ask(self, run: RunRow, by: Principal, reason: str) -> None:
        kills = (self._switch(run, by, reason),)
        await write(self._store, Batch(kills=kills, events=[self._asked(run, by, reason)]))

    def _switch(self, run: RunRow, by: Principal, reason: str) -> Kill:
        return Kill(RUN_SWITCH + run.run_id, by.user, reason, self._clock.now())

    def _asked(self, run: RunRow, by: Principal, reason: str) -> NewEvent:
        body = CancelAsked(run.run_id, by.user, by.tenant, reason, self._clock.now())
        return event("run.cancel_asked", run.run_id, body)

    async def _end_open(self, run: RunRow, by: Principal, reason: str) -> RunRow:
        """End a run that its caller drives call by call: its switch stays on, whoever makes the next one."""
        session = self._recovery.session(run)
        await self._ask(run, by, reason)
        planned = await withdraw_open(self._store, self._clock, session, _note(by))
        batch, ended = self._end(session, run, "", [proposal_of(row) for row in planned], run.steps)
        batch.events.append(await self._finished(session, ended))
        await write(self._store, batch)
        return ended

    async def _end_undriven(self, run: RunRow, by: Principal, reason: str) -> RunRow | None:
        """End a run that nobody drives. None: somebody does, or a call of it is still at work."""
        if self._leases.stopping.drives(run.run_id, run.tenant):
            return None
        session = self._recovery.session(run)
        if not self._store.immediate and not await self._leases.take(session):
            return None
        try:
            fresh = await self._store.run(run.run_id)
            if fresh is None or fresh.state not in RESUMABLE:
                return fresh
            calls = await self._store.open_calls(run.run_id)
            if await self._recovery.at_work(calls):
                return None
            return await self._close(session, fresh, calls, by, reason)
        finally:
            await self._leases.let_go(session)

    async def _close(
        self, session: RunSession, run: RunRow, calls: list[CallRow], by: Principal, reason: str
    ) -> RunRow | None:
        progress = await self._progress(run)
        # a call that was left waiting may be made again by its run: the switch of such a run stays on
        kills = (self._switch(run, by, reason),) if _by_calls(run) else ()
        await write(
            self._store, Batch(events=[self._asked(run, by, reason)], kills=kills, lease=session.lease)
        )
        planned = await withdraw_open(self._store, self._clock, session, _note(by))
        if not await self._recovery.close_sent(session, [row for row in calls if row not in planned]):
            return None
        if progress is None:
            answer, steps = "", run.steps
            left = [proposal_of(row) for row in planned]
        else:
            answer, steps = session.texts.cancelled, progress.answers
            left = _unanswered(progress)
        batch, ended = self._end(session, run, answer, left, steps)
        batch.events.append(await self._finished(session, ended))
        batch.lease = session.lease
        if not kills:
            batch.revives = (session.switch,)
        return ended if (await write(self._store, batch)).written else None

    async def _progress(self, run: RunRow) -> Progress | None:
        """Return how far the run of an agent got; None for one that keeps no conversation."""
        try:
            return await progress_of(self._store, run)
        except UsageError:
            return None

    def _end(
        self, session: RunSession, run: RunRow, answer: str, left: list[Proposal], steps: int
    ) -> tuple[Batch, RunRow]:
        now, error = self._clock.now(), refusals.not_sent()
        ended = replace(run, state=RunState.CANCELLED, updated_at=now, answer=answer, steps=steps)
        batch = Batch(runs=[ended])
        for proposal in left:
            batch.events.append(cut_off(session.principal, proposal, error, now))
        return batch, ended

    async def _finished(self, session: RunSession, ended: RunRow) -> NewEvent:
        calls = len(await self._store.calls(ended.run_id))
        answer = session.memory.marks.of(ended.answer.encode())
        body = RunFinished(ended.run_id, ended.state, ended.steps, calls, answer, ended.updated_at)
        return event("run.finished", ended.run_id, body)


def _by_calls(run: RunRow) -> bool:
    """Whether callers make the calls of the run, not an agent: they could make one again after its end."""
    return not run.prompt and not run.model


def _unanswered(progress: Progress) -> list[Proposal]:
    """Return the calls of the last answer that have no record which ends them."""
    left = []
    for proposal in progress.proposals:
        row = progress.rows.get(proposal.ordinal)
        waits = row is None or row.state in (CallState.PLANNED, CallState.CANCELLED)
        if waits and proposal.call_id not in progress.closed:
            left.append(proposal)
    return left


def _note(by: Principal) -> str:
    return f"the run was cancelled by {by.user}"
