"""Time-outs of many calls on one timer.

A timer for each call costs a heap operation and leaves its cancelled entry behind for as long as the
time-out lasts. Calls end long before their time-out, so one timer for the earliest of them is enough.
"""

import asyncio
from collections.abc import Callable


class Deadlines:
    """Calls `expire` of what is not removed in time. Adding and removing cost the same at any number."""

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[float, Callable[[], None]]] = {}
        self._next = 0
        self._armed = float("inf")
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, seconds: float, expire: Callable[[], None]) -> int:
        """Have `expire` called in so many seconds, unless the returned number is removed before."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # a gateway may be opened again in another loop: the old timer is dead
            self._waiting.clear()
            self._armed, self._timer, self._loop = float("inf"), None, loop
        at = loop.time() + seconds
        self._next += 1
        self._waiting[self._next] = (at, expire)
        if at < self._armed:
            self._arm(loop, at)
        return self._next

    def remove(self, number: int) -> None:
        """Forget one. The timer stays: it finds nothing to do, or the next one."""
        self._waiting.pop(number, None)

    def close(self) -> None:
        """Stop the timer."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._armed = float("inf")

    def _arm(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed = at
        self._timer = loop.call_at(at, self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._armed, self._timer = float("inf"), None
        now = loop.time()
        due = [number for number, (at, _) in self._waiting.items() if at <= now]
        for number in due:
            self._waiting.pop(number)[1]()
        if self._waiting:
            self._arm(loop, min(at for at, _ in self._waiting.values()))
