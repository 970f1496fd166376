"""The clock that leases and limits of a store go by: it never goes back, whatever the machine's does."""

import threading
from typing import Final

from gerbang.adapters.clock import SystemClock
from gerbang.ports import Clock

MICRO: Final = 1_000_000
"""Microseconds in a second; limits are counted in whole ones, so that sums are exact."""


class StoreClock:
    """Follows the wall clock forward; when that is set back, goes on by the monotonic one."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._ahead = 0.0  # what the monotonic clock lacks to the latest time told
        self._lock = threading.Lock()

    def now(self, floor: int = 0) -> int:
        """Return microseconds since the epoch, at least `floor`: what another process has told by now."""
        wall, passed = self._clock.now(), self._clock.monotonic()
        with self._lock:
            told = max(wall, passed + self._ahead, floor / MICRO)
            self._ahead = told - passed
        return max(round(told * MICRO), floor)
