"""The clock of the machine."""

import time


class SystemClock:
    """Wall clock and monotonic clock of the operating system.

    `now` is in seconds since the epoch, `monotonic` in seconds that never go back. Both are the functions
    themselves: they are asked several times in every call.
    """

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
