"""The one thread that writes. What waits while a commit is on its way to the disk shares the next one."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Final, Protocol

from gerbang.adapters.stores.checks import asks
from gerbang.adapters.stores.prepared import Prepared
from gerbang.adapters.stores.writing import check_bounds, check_text
from gerbang.errors import StoreError
from gerbang.ports import Writing
from gerbang.values.record import Batch, Committed

_MAX_GROUP: Final = 512
"""Batches in one transaction: bounds how long another process waits for the lock."""


class _Job(Writing):
    """A batch on its way, and what came of it."""

    __slots__ = ("batch", "outcome")

    def __init__(self, batch: Prepared) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self.batch = batch
        self.outcome: Committed | StoreError | None = None


class Group(Protocol):
    """Writes groups of batches; used by the writing thread only."""

    def write(self, group: Sequence[Prepared]) -> list[Committed]:
        """Commit all batches that nothing stands against, and answer each. Raising, it wrote none."""
        ...

    def translate(self, fault: Exception) -> StoreError:
        """Return what the callers are told."""
        ...

    def of_one(self, fault: Exception) -> bool:
        """Tell whether one batch of a group may be at fault, so that the others are worth a try."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Writer:
    """Owns the writing connection and its thread."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._waiting: deque[_Job | None] = deque()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._ringing: set[asyncio.AbstractEventLoop] = set()
        # A daemon: a program that ends without `close` must not hang. What was acknowledged is on disk.
        self._thread = threading.Thread(target=self._work, name="gerbang-store", daemon=True)
        self._thread.start()

    def submit(self, batch: Prepared) -> Writing:
        """Queue a batch and return what its caller waits for.

        The thread is woken when the event loop has done what it has at hand: it would only fight with it
        for the interpreter, and what other tasks are about to hand in would miss the group.
        """
        job = _Job(batch)
        self._waiting.append(job)
        loop = job.get_loop()
        if loop not in self._ringing:
            self._ringing.add(loop)
            loop.call_soon(self._ring, loop)
        return job

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ringing.discard(loop)
        if self._bell.empty():  # else the thread has not yet come to what rang before
            self._bell.put(None)

    def stop(self) -> None:
        """Write what is queued, close the connection, and return when that is done. Blocks."""
        self._waiting.append(None)
        self._bell.put(None)
        self._thread.join()

    def _work(self) -> None:
        going = True
        while going:
            group, going = self._take()
            if group:
                self._serve(group)
                _answer(group)
        self._group.close()

    def _take(self) -> tuple[list[_Job], bool]:
        """Wait for a batch, then take all that are there. The second value is False after `stop`."""
        group: list[_Job] = []
        if not self._waiting:
            self._bell.get()
        while self._waiting and len(group) < _MAX_GROUP:
            job = self._waiting.popleft()
            if job is None:
                return group, False
            group.append(job)
        return group, True

    def _serve(self, group: list[_Job]) -> None:
        """Commit the group. When that fails, each batch for itself: one must not fail the others."""
        try:
            committed = self._group.write([job.batch for job in group])
        except Exception as fault:  # whatever a batch did, the thread must go on for the others
            if len(group) > 1 and self._group.of_one(fault):
                for job in group:
                    self._serve([job])
                return
            for job in group:
                job.outcome = self._group.translate(fault)
                if job.outcome is not fault:
                    job.outcome.__cause__ = fault
            return
        for job, outcome in zip(group, committed, strict=True):
            job.outcome = outcome


def hand_in(batch: Batch, writer: Writer | None) -> Writing:
    """Check a batch and give it to the writer of an open store. Who waits is told what is wrong with it."""
    try:
        if writer is None:
            raise StoreError("The store is closed. Open it before recording.")
        check_text(batch)
        if asking := asks(batch):
            check_bounds(batch)
    except StoreError as fault:
        refused = Writing(loop=asyncio.get_running_loop())
        refused.set_exception(fault)
        return refused
    return writer.submit(Prepared(batch, asking))


def _answer(group: list[_Job]) -> None:
    """Wake those who wait: one call into each event loop, however many wait there."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in group:
        by_loop.setdefault(job.get_loop(), []).append(job)
    for loop, jobs in by_loop.items():
        _call(loop, _complete, jobs)


def _call(loop: asyncio.AbstractEventLoop, work: Callable[..., Any], jobs: list[_Job]) -> None:
    try:
        loop.call_soon_threadsafe(work, jobs)
    except RuntimeError:
        return  # the loop is closed: nobody waits any more, the batches are written all the same


def _complete(jobs: list[_Job]) -> None:
    for job in jobs:
        if isinstance(job.outcome, Committed):
            job.set_result(job.outcome)
        else:
            job.set_exception(job.outcome or StoreError("The store gave no answer. Try again."))
