"""The time of a store that several machines share: what one writes down of times, the others compare."""

from typing import Final

from gerbang.ports import Clock, Store

_SLOW_S: Final = 1.0
"""An answer that took longer than this says little; one from before is better."""
_OLD_S: Final = 60.0
_VERY_OLD_S: Final = 600.0


class StoreTime:
    """A clock that follows the store's, as this machine's clocks run on from what the store told last.

    It is right to half of the time that the store took to answer. When the machine's clock is set back it
    goes on by the monotonic one; set forward, it is ahead until the store tells its time again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.monotonic = clock.monotonic
        self._wall = 0.0  # what is to be added to the machine's clock
        self._passed = float("-inf")  # and to its monotonic one
        self._told_at = float("-inf")

    def now(self) -> float:
        """Return seconds since the epoch."""
        return max(self._clock.now() + self._wall, self.monotonic() + self._passed)

    @property
    def is_old(self) -> bool:
        """True when the store should be asked again."""
        return self.monotonic() - self._told_at > _OLD_S

    def told(self, at: float, asked: float) -> None:
        """Learn the store's time `at`, which it told between the monotonic time `asked` and now."""
        now = self.monotonic()
        if now - asked > _SLOW_S and now - self._told_at < _VERY_OLD_S:
            return
        at += (now - asked) / 2
        self._wall, self._passed, self._told_at = at - self._clock.now(), at - now, now

    async def ask(self, store: Store) -> None:
        """Ask the store. Raises StoreError."""
        asked = self.monotonic()
        self.told(await store.time(), asked)


async def following(clock: Clock, store: Store) -> Clock:
    """Return the clock, or one that follows the store's where that may differ. Raises StoreError."""
    if not store.has_own_clock:
        return clock
    made = clock if isinstance(clock, StoreTime) else StoreTime(clock)
    await made.ask(store)
    return made
