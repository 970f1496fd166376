"""Worker threads for blocking tools. A thread that outlives its call's time-out is counted, not killed.

The threads are daemons, so a tool that never returns cannot keep the process from ending.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from gerbang.limits import MAX_LATE_THREADS, MAX_SYNC_THREADS


class TooManyLate(RuntimeError):
    """No further blocking tool is started: too many outlived their time-out, or no thread can be had."""


class _Job:
    """A function on its way to a thread. `future` gets its result, in the loop that asked for it."""

    __slots__ = ("context", "function", "future", "loop")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.context = contextvars.copy_context()

    def run(self) -> None:
        try:
            value, error = self.context.run(self.function), None
        except BaseException as raised:  # carried to the waiting task, whatever it is
            value, error = None, raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(_settle, self.future, value, error)


class SyncPool:
    """Runs blocking functions for the event loop."""

    def __init__(self, size: int = MAX_SYNC_THREADS, max_late: int = MAX_LATE_THREADS) -> None:
        self._size = size
        self._max_late = max_late
        self._jobs: deque[_Job] = deque()
        self._wake = threading.Condition()
        self._threads = 0
        self._idle = 0
        self.late = 0
        self._closed = False

    def submit(self, function: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Return a future of the function's result. Raises TooManyLate."""
        if self.late >= self._max_late:
            raise TooManyLate
        job = _Job(function)
        with self._wake:
            self._jobs.append(job)
            if len(self._jobs) <= self._idle:  # a thread that was woken counts as idle until it has its job
                self._wake.notify()
            elif self._threads < self._size:
                self._start_thread()
        return job.future

    def _start_thread(self) -> None:
        self._threads += 1
        try:
            threading.Thread(target=self._work, name="gerbang-tool", daemon=True).start()
        except RuntimeError:  # the system has no more threads: those that run take the job when they can
            self._threads -= 1
            if not self._threads:
                self._jobs.pop()
                raise TooManyLate from None

    def abandon(self, future: "asyncio.Future[Any]", on_late: Callable[[Any], None] | None = None) -> bool:
        """Count the call as late until its thread comes back; `on_late` then gets the future.

        A function that no thread has begun yet is dropped: it never runs, its future is cancelled, it does
        not count as late, and the answer is False.
        """
        with self._wake:
            queued = next((job for job in self._jobs if job.future is future), None)
            if queued is not None:
                self._jobs.remove(queued)
        if queued is not None:
            future.cancel()
            if on_late is not None:
                on_late(future)
            return False
        self.late += 1

        def back(done: "asyncio.Future[Any]") -> None:
            self.late -= 1
            if not done.cancelled():
                done.exception()  # seen, so that nothing is logged about it
            if on_late is not None:
                on_late(done)

        future.add_done_callback(back)
        return True

    def close(self) -> None:
        """Let idle threads end. Running ones end when their tool does."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._jobs:
                    if self._closed:
                        self._threads -= 1
                        return
                    self._idle += 1
                    self._wake.wait()
                    self._idle -= 1
                job = self._jobs.popleft()
            job.run()
            del job


def _settle(future: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration) or not isinstance(error, Exception):  # they steer who waits
        future.set_exception(RuntimeError(f"the tool raised {type(error).__name__}"))
    else:
        future.set_exception(error)
