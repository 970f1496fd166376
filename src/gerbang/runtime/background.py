"""Tasks that go on beside the work of whoever began them, and end with it."""

import asyncio
import contextlib
from typing import Any


async def end(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task, if there is one, and return when it is over. Raises what it raises, if not that."""
    if task is not None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
