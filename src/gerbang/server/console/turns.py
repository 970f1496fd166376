"""Long work on the event loop in small parts, so that calls and runs go on meanwhile."""

import asyncio
from typing import Final

_PART: Final = 100


class Turns:
    """Lets others run after so many steps; a store in memory never does that by itself."""

    def __init__(self) -> None:
        self._left = _PART

    async def step(self) -> None:
        """Count one step."""
        self._left -= 1
        if not self._left:
            self._left = _PART
            await asyncio.sleep(0)
