"""One open store for several gateways, and an eye on what is written to it."""

from collections.abc import Callable
from typing import Any, cast

from gerbang.ports import Store
from gerbang.values.event import NewEvent
from gerbang.values.record import Batch, Committed

Observer = Callable[[list[NewEvent]], None]
"""Gets the events of a batch once they are durable. Must be quick, and must not raise."""


class SharedStore:
    """Passes everything on to a store; opening and closing it is its owner's, not a gateway's.

    What the observer sees is what the audit chain holds: the figures of a server come from its records.
    """

    def __init__(self, store: Store, observer: Observer) -> None:
        self._store = store
        self._observer = observer
        self._commit = store.commit
        self.immediate = store.immediate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def open(self) -> None:
        """Leave it open: its owner has opened it."""

    async def close(self) -> None:
        """Leave it open: its owner closes it."""

    async def commit(self, batch: Batch) -> Committed:
        """Write the batch, then show its events to the observer. Raises StoreError."""
        committed = await self._commit(batch)
        if committed.seq and batch.events:
            self._observer(batch.events)
        return committed


def shared(store: Store, observer: Observer) -> Store:
    """Return the store as gateways may have it."""
    return cast("Store", SharedStore(store, observer))
