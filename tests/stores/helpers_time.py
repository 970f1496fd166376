"""Time that passes: at once for stores that take a clock, really for the one that goes by its server."""

import asyncio

from gerbang.testing import ManualClock


class Passing:
    """Waits. `clock` is what the store is opened with."""

    def __init__(self, url: str) -> None:
        self.clock = ManualClock()
        self._real = url.startswith("postgres")

    async def wait(self, seconds: float) -> None:
        if self._real:
            await asyncio.sleep(seconds)
        self.clock.advance(seconds)
