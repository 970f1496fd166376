"""Running one answer's calls in the order that the batch plan gives."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from gerbang.errors import StoreError
from gerbang.loop.batch import BatchPlan
from gerbang.runtime.gate import Gate
from gerbang.runtime.session import RunSession
from gerbang.values import Proposal, Result

Finished = Callable[[Proposal, Result], None]


async def run_batch(
    gate: Gate,
    session: RunSession,
    proposals: Sequence[Proposal],
    max_parallel: int,
    finished: Finished | None = None,
    known: Mapping[str, Result] | None = None,
) -> list[Result]:
    """Return one result for each proposal, in their order. `known` are those of calls that are over, by id.

    When the task is cancelled, every started call is cancelled and has its record before this returns.
    A StoreError of one call stops the batch: nothing is executed without its record.
    """
    if len(proposals) == 1:
        result = (known or {}).get(proposals[0].call_id) or await gate.call(session, proposals[0])
        if finished is not None:
            finished(proposals[0], result)
        return [result]
    return await _Batch(gate, session, proposals, max_parallel, finished, dict(known or {})).run()


class _Batch:
    def __init__(
        self,
        gate: Gate,
        session: RunSession,
        proposals: Sequence[Proposal],
        max_parallel: int,
        finished: Finished | None,
        known: Mapping[str, Result],
    ) -> None:
        self._known = known
        self._gate = gate
        self._session = session
        self._proposals = proposals
        self._finished = finished
        find = session.catalogue.find
        entries = [find(proposal.name) for proposal in proposals]
        # what names no tool, or cannot be read, runs nothing: it holds nobody up
        reads = [
            entry is None or proposal.fault is not None or entry.contract.risk.is_read
            for entry, proposal in zip(entries, proposals, strict=True)
        ]
        self._plan = BatchPlan(reads, max_parallel)
        self._results: list[Result | None] = [None] * len(proposals)
        self._tasks: dict[asyncio.Future[Result], int] = {}
        self._done: asyncio.Queue[asyncio.Future[Result]] = asyncio.Queue()

    async def run(self) -> list[Result]:
        self._launch(self._plan.start())
        try:
            while self._tasks:
                await self._step()
        except BaseException as ended:
            fault = await self._cancel()
            if fault is not None and not isinstance(ended, StoreError):
                raise fault from ended  # what has no record must not be said to have ended
            raise
        for index in self._plan.held:
            self._keep(index, _held_result(self._session, self._proposals[index]))
        return [result for result in self._results if result is not None]

    async def _step(self) -> None:
        # calls that were launched while another one waits for a person report here too
        task = await self._done.get()
        index = self._tasks.pop(task)
        result = task.result()
        self._keep(index, result)
        self._launch(self._plan.finished(index, pending=result.status == "pending"))

    def _launch(self, indexes: Sequence[int]) -> None:
        for index in indexes:
            task = asyncio.ensure_future(self._call(index))
            self._tasks[task] = index
            task.add_done_callback(self._done.put_nowait)

    def _call(self, index: int) -> Awaitable[Result]:
        known = self._known.get(self._proposals[index].call_id)
        if known is not None:
            return _at_hand(known)
        return self._gate.call(
            self._session, self._proposals[index], waiting=lambda: self._launch(self._plan.waiting(index))
        )

    def _keep(self, index: int, result: Result) -> None:
        self._results[index] = result
        if self._finished is not None:
            self._finished(self._proposals[index], result)

    async def _cancel(self) -> StoreError | None:
        """End what runs. A further cancellation changes nothing: every call must have its record first.
        Returns what kept one of them from having it.
        """
        for task in self._tasks:
            task.cancel()
        while running := [task for task in self._tasks if not task.done()]:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait(running)
        faults = [task.exception() for task in self._tasks if not task.cancelled()]
        return next((fault for fault in faults if isinstance(fault, StoreError)), None)


async def _at_hand(result: Result) -> Result:
    """Give a result that is known already, as a call would."""
    return result


def _held_result(session: RunSession, proposal: Proposal) -> Result:
    """Return the result of a call that waits behind another one's approval."""
    return Result(
        status="pending",
        tool=proposal.name,
        run_id=session.run_id,
        step_id=proposal.step_id,
        call_id=proposal.call_id,
        for_model=session.texts.pending_result,
    )
