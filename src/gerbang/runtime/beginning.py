"""What begins a run only once, in whatever process: the store has the word, in the commit of its start.

The start says that the run has no record yet. Under a key of the caller's it also takes the one unit that
there ever is of that key: of two that begin runs under it in the same moment, the store lets the first.
"""

from collections.abc import Callable

from gerbang.errors import UsageError
from gerbang.ports import Store
from gerbang.values.record import Batch, Spend


class AlreadyBegun(UsageError):
    """There is such a run, or one under its key: nothing was written and the model was not asked."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"There is a run {run_id[:80]!r} already. A new run needs a new run_id.")


class Beginning:
    """The beginning of a run under a key: `stands` is called when the run's start is on record."""

    def __init__(self, key: str, stands: Callable[[], None]) -> None:
        self._key = key
        self.stands = stands

    def claim(self, batch: Batch) -> None:
        """Have the commit of the batch refused when a run was begun under the key."""
        batch.spends = (*batch.spends, Spend(_unit(self._key), None, 1, 1))


async def is_begun(store: Store, key: str) -> bool:
    """Tell whether a run was begun under the key. Raises StoreError."""
    return await store.spent(_unit(key), None) > 0


def _unit(key: str) -> str:
    return f"begins:{key}"
