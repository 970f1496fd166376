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
    """So many tools outlived their time-out that no further blocking tool is started."""


class SyncPool:
    """Runs blocking functions for the event loop."""

    def __init__(self, size: int = MAX_SYNC_THREADS, max_late: int = MAX_LATE_THREADS) -> None:
        self._size = size
        self._max_late = max_late
        self._jobs: deque[Callable[[], None]] = deque()
        self._wake = threading.Condition()
        self._threads = 0
        self._idle = 0
        self.late = 0
        self._closed = False

    def submit(self, function: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Return a future of the function's result. Raises TooManyLate."""
        if self.late >= self._max_late:
            raise TooManyLate
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def job() -> None:
            try:
                value, error = context.run(function), None
            except BaseException as raised:  # carried to the waiting task, whatever it is
                value, error = None, raised
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_settle, future, value, error)

        with self._wake:
            self._jobs.append(job)
            if self._idle:
                self._wake.notify()
            elif self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._work, name="gerbang-tool", daemon=True).start()
        return future

    def abandon(self, future: "asyncio.Future[Any]", on_late: Callable[[Any], None] | None = None) -> None:
        """Count the call as late until its thread comes back; `on_late` then gets the future."""
        self.late += 1

        def back(done: "asyncio.Future[Any]") -> None:
            self.late -= 1
            if not done.cancelled():
                done.exception()  # seen, so that nothing is logged about it
            if on_late is not None:
                on_late(done)

        future.add_done_callback(back)

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
            job()
            del job


def _settle(future: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration | KeyboardInterrupt | SystemExit | asyncio.CancelledError):
        future.set_exception(RuntimeError(f"the tool raised {type(error).__name__}"))
    else:
        future.set_exception(error)
