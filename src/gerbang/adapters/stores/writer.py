"""The one thread that writes. What waits while a commit is on its way to the disk shares the next one."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol

from gerbang.adapters.stores.prepared import Prepared
from gerbang.errors import StoreError
from gerbang.values.record import Committed

_MAX_GROUP: Final = 512
"""Batches in one transaction: bounds how long another process waits for the lock."""


class _Job:
    """A batch that waits, and who waits for it."""

    __slots__ = ("batch", "future", "loop", "outcome")

    def __init__(self, batch: Prepared) -> None:
        self.batch = batch
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Committed] = self.loop.create_future()
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
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        # A daemon: a program that ends without `close` must not hang. What was acknowledged is on disk.
        self._thread = threading.Thread(target=self._work, name="gerbang-store", daemon=True)
        self._thread.start()

    def submit(self, batch: Prepared) -> asyncio.Future[Committed]:
        """Queue a batch and return the future of its commit. Cancelling it does not undo the batch."""
        job = _Job(batch)
        self._queue.put(job)
        return job.future

    def stop(self) -> None:
        """Write what is queued, close the connection, and return when that is done. Blocks."""
        self._queue.put(None)
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
        job = self._queue.get()
        group: list[_Job] = []
        while job is not None:
            group.append(job)
            if len(group) == _MAX_GROUP:
                return group, True
            try:
                job = self._queue.get_nowait()
            except Empty:
                return group, True
        return group, False

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


def _answer(group: list[_Job]) -> None:
    """Wake those who wait: one call into each event loop, however many wait there."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in group:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, jobs in by_loop.items():
        _call(loop, _complete, jobs)


def _call(loop: asyncio.AbstractEventLoop, work: Callable[..., Any], jobs: list[_Job]) -> None:
    try:
        loop.call_soon_threadsafe(work, jobs)
    except RuntimeError:
        return  # the loop is closed: nobody waits any more, the batches are written all the same


def _complete(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # its caller was cancelled
        if isinstance(job.outcome, Committed):
            job.future.set_result(job.outcome)
        else:
            job.future.set_exception(job.outcome or StoreError("The store gave no answer. Try again."))
