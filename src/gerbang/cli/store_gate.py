"""A gateway without tools: what people may do to a store, and nothing can be called through it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from gerbang import Gateway, Principal
from gerbang.adapters.stores import shown_address
from gerbang.cli import street
from gerbang.config import Settings
from gerbang.errors import UsageError

T = TypeVar("T")
_LONGEST: Final = 512


def at_store(settings: Settings, work: Callable[[Gateway], Awaitable[T]]) -> T:
    """Do the work on the store of the settings. Raises UsageError when there is none yet."""
    if not street.store_exists(settings):
        raise UsageError(f"There is no store at {shown_address(settings.store)} yet. Name it with --store.")

    async def opened() -> T:
        address = street.store_url(settings, create=False)
        async with Gateway(store=address, policy=None, seal=settings.seal) as gate:
            return await work(gate)

    return asyncio.run(opened())


def person(user: str, tenant: str, roles: list[str] | None) -> Principal:
    """Return who does it. Raises UsageError."""
    for option, name in (("--as", user), ("--tenant", tenant)):
        if not name.strip() or len(name) > _LONGEST:
            raise UsageError(f"{option} takes a name of 1 to {_LONGEST} characters.")
    return Principal(user, tenant, roles=roles or ())
