"""A gateway that lets nothing through: what people may do to a store."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from gerbang import Gateway, Principal
from gerbang.adapters.stores import shown_address
from gerbang.cli import street
from gerbang.config import Settings
from gerbang.errors import UsageError

T = TypeVar("T")
_LONGEST: Final = 512


def at_store(settings: Settings, work: Callable[[Gateway], Awaitable[T]], tools: Sequence[Any] = ()) -> T:
    """Do the work on the store of the settings. `tools` are those whose contracts are to be at hand. Raises
    UsageError when there is no store yet.
    """
    if not street.store_exists(settings):
        raise UsageError(f"There is no store at {shown_address(settings.store)} yet. Name it with --store.")

    async def opened() -> T:
        address = street.store_url(settings, create=False)
        async with Gateway(tools, store=address, policy=None, seal=settings.seal) as gate:
            return await work(gate)

    return asyncio.run(opened())


def person(user: str, tenant: str, roles: list[str] | None) -> Principal:
    """Return who does it. Raises UsageError."""
    for option, name in (("--as", user), ("--tenant", tenant)):
        if not name.strip() or len(name) > _LONGEST:
            raise UsageError(f"{option} takes a name of 1 to {_LONGEST} characters.")
    return Principal(user, tenant, roles=roles or ())
