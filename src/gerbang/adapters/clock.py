"""The clock of the machine."""

import time


class SystemClock:
    """Wall clock and monotonic clock of the operating system."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()
