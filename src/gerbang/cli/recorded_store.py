"""The store that commands read records from, and the run of it that is meant."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from gerbang.adapters.stores import open_store, shown_address
from gerbang.cli import street
from gerbang.cli.meant import run_id_of
from gerbang.cli.safe_text import one_line
from gerbang.config import Settings
from gerbang.errors import UsageError
from gerbang.ports import Store

T = TypeVar("T")


def with_store(settings: Settings, work: Callable[[Store], Awaitable[T]]) -> T:
    """Open the store of the settings for a piece of work. Raises UsageError when there is none yet."""
    if not street.store_exists(settings):
        raise UsageError(
            f"Nothing is recorded in {shown_address(settings.store)} yet. Name another store with --store."
        )

    async def opened() -> T:
        store = open_store(street.store_url(settings, create=False), seal=settings.seal)
        await store.open()
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(opened())


async def known_run(store: Store, given: str) -> str:
    """Return the id of the run that is meant, or of another chain of events. Raises UsageError."""
    for name in (given, await run_id_of(store, given)):
        if await store.events(name, limit=1):
            return name
    raise UsageError(f"There is no run {one_line(given, 80)} on record. See: gerbang runs list")
