"""The calls that this process is working on, by key: who waits for one, and whose task it is."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any, Final
from weakref import WeakKeyDictionary

from gerbang.ports import Store

_Busy = dict[str, list[asyncio.Future[None]]]
_SHARED: Final[WeakKeyDictionary[Store, tuple[_Busy, set[str]]]] = WeakKeyDictionary()

_PATIENCE_S: Final = 1.0
"""How long the same call waits for a person's answer to the first, in seconds. Then it is pending as well."""


class InFlight:
    """Which keys are being worked on, and who waits for that. One instance for a gate. `owners` are the tasks
    of this gate that do, by key; `busy` has the keys.

    A store in memory is this process's alone, and nothing in it tells a call that another gate is at work on
    from one that was cut off: the gates of such a store know of each other here.
    """

    def __init__(self, store: Store) -> None:
        self.owners: dict[str, asyncio.Task[Any] | None] = {}
        fresh: tuple[_Busy, set[str]] = ({}, set())
        self._loop: asyncio.AbstractEventLoop | None = None
        self.busy, self._asking = _SHARED.setdefault(store, fresh) if store.immediate else fresh

    def begin(self, key: str) -> None:
        """The running task works on the key from now on."""
        if self._loop is None:  # a gate has one; to ask for it is a system call in older Pythons
            self._loop = asyncio.get_running_loop()
        self.owners[key] = asyncio.current_task(self._loop)
        self.busy[key] = []

    def is_others(self, key: str) -> bool:
        """Tell whether another task than the running one works on the key."""
        return key in self.busy and self.owners.get(key) is not asyncio.current_task()

    def asks(self, key: str) -> bool:
        """Tell whether whoever works on the key waits for a person."""
        return key in self._asking

    @contextlib.contextmanager
    def asking(self, key: str) -> Iterator[None]:
        """Ask a person about the key inside the block. Whoever waits for the work does not wait for long
        then: it may take the person a day.
        """
        if self.is_others(key):
            yield
            return
        timer = asyncio.get_running_loop().call_later(_PATIENCE_S, self._let_go, key)
        try:
            yield
        finally:
            timer.cancel()
            self._asking.discard(key)

    def _let_go(self, key: str) -> None:
        self._asking.add(key)
        for waiter in self.busy.get(key, ()):
            if not waiter.done():
                waiter.set_result(None)

    def end(self, key: str) -> None:
        """Nobody works on the key any more: whoever waited for that goes on."""
        del self.owners[key]
        self._asking.discard(key)
        for waiter in self.busy.pop(key):
            if not waiter.done():
                waiter.set_result(None)

    async def join(self, key: str) -> None:
        """Wait until nobody works on the key, or who does waits for a person."""
        if key in self._asking:
            await asyncio.sleep(0)
        else:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.busy[key].append(waiter)
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
