"""A run as a stream of its events."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from gerbang.compose.events import AgentEvent, Finished, RunResult
from gerbang.runtime.background import end

Start = Callable[[Callable[[AgentEvent], None]], Coroutine[Any, Any, RunResult]]
"""Begins a run that tells its events to the function it is given."""


async def streamed(start: Start) -> AsyncGenerator[AgentEvent, None]:
    """Yield a run's events while it runs, `Finished` last. Raises what the run raises.

    Leaving early cancels the run; it is recorded as cancelled when this returns.
    """
    queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
    task = asyncio.create_task(start(queue.put_nowait))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        yield Finished(await task)
    finally:
        if not task.done():
            await end(task)
