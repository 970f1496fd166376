"""The calls that this process is working on, by key: who waits for one, and whose task it is."""

import asyncio
from typing import Any, Final
from weakref import WeakKeyDictionary

from gerbang.ports import Store

_Busy = dict[str, list[asyncio.Future[None]]]
_SHARED: Final[WeakKeyDictionary[Store, _Busy]] = WeakKeyDictionary()


class InFlight:
    """Which keys are being worked on, and who waits for that. One instance for a gate. `owners` are the tasks
    of this gate that do, by key.

    A store in memory is this process's alone, and nothing in it tells a call that another gate is at work on
    from one that was cut off: the gates of such a store know of each other here.
    """

    def __init__(self, store: Store) -> None:
        self.owners: dict[str, asyncio.Task[Any] | None] = {}
        self._busy: _Busy = _SHARED.setdefault(store, {}) if store.immediate else {}

    def __contains__(self, key: str) -> bool:
        return key in self._busy

    def begin(self, key: str) -> None:
        """The running task works on the key from now on."""
        self.owners[key] = asyncio.current_task()
        self._busy[key] = []

    def end(self, key: str) -> None:
        """Nobody works on the key any more: whoever waited for that goes on."""
        del self.owners[key]
        for waiter in self._busy.pop(key):
            if not waiter.done():
                waiter.set_result(None)

    async def join(self, key: str) -> None:
        """Wait until nobody works on the key."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy[key].append(waiter)
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
