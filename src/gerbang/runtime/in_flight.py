"""The calls that this process is working on, by key: who waits for one, and whose task it is."""

import asyncio
from typing import Any


class InFlight:
    """Which keys are being worked on. One instance for a gate. `owners` are the tasks that do, by key."""

    def __init__(self) -> None:
        self.owners: dict[str, asyncio.Task[Any] | None] = {}
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self.owners

    def begin(self, key: str) -> None:
        """The running task works on the key from now on."""
        self.owners[key] = asyncio.current_task()

    def end(self, key: str) -> None:
        """Nobody works on the key any more: whoever waited for that goes on."""
        del self.owners[key]
        if key not in self._waiting:
            return
        for waiter in self._waiting.pop(key):
            if not waiter.done():
                waiter.set_result(None)

    async def join(self, key: str) -> None:
        """Wait until nobody works on the key."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(waiter)
        await waiter

    async def finish(self, seconds: float) -> None:
        """Wait so long for all of it to end."""
        running = self._tasks()
        if running:
            await asyncio.wait(running, timeout=seconds)

    def cancel(self) -> None:
        """Cancel all of it."""
        for task in self._tasks():
            task.cancel()

    def _tasks(self) -> set[asyncio.Task[Any]]:
        own = asyncio.current_task()
        return {task for task in self.owners.values() if task is not None and task is not own}
