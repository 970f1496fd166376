"""What this process knows of the kill switches. The store has the last word: it looks at them itself in the
transaction that would record a call, so what is known here only has to be quick, and may be out of date.
"""

from collections.abc import Awaitable, Callable, Iterable

from gerbang.errors import UsageError


class Stops:
    """The switches that are on, as far as is known here.

    `here` are those that were turned on in this process and are not on record yet: they hold all the same.
    """

    def __init__(self) -> None:
        self.on: frozenset[str] = frozenset()
        self.here: frozenset[str] = frozenset()
        self.off_soon: frozenset[str] = frozenset()
        self.renew: Callable[[], Awaitable[object]] = _nobody_can_tell

    def of(self, names: Iterable[str]) -> bool:
        """Tell whether one of the switches that a call goes by is on."""
        return not self.on.isdisjoint(names)

    def after_turns(self, names: Iterable[str]) -> bool:
        """Tell the same as it will be when the turns that are under way are on record."""
        return not (self.on - self.off_soon).isdisjoint(names)


async def _nobody_can_tell() -> None:
    raise UsageError("These switches belong to no store.")
