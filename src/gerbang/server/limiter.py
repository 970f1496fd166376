"""Rates by GCRA, in the memory of this process: one number for each key."""

from collections.abc import Callable
from typing import Final

_MAX_KEYS: Final = 50_000


class Limiter:
    """Allows `rate_per_s` requests a second for each name, and `burst` at once. `now` gives seconds."""

    def __init__(self, rate_per_s: float, burst: int, now: Callable[[], float]) -> None:
        self._period = 1.0 / rate_per_s
        self._burst = burst
        self._now = now
        self._due: dict[str, float] = {}

    def take(self, name: str, rate_per_s: float | None = None) -> float:
        """Count one request. Returns 0.0 when it may pass, else the seconds to wait."""
        now = self._now()
        period = self._period if rate_per_s is None else 1.0 / rate_per_s
        due = max(self._due.get(name, 0.0), now)
        waiting = due - now - period * (self._burst - 1)
        if waiting > 0:
            return waiting
        self._due[name] = due + period
        if len(self._due) > _MAX_KEYS:  # names whose time has come are as good as unknown
            self._due = {known: at for known, at in self._due.items() if at > now}
        return 0.0

    def spent(self, name: str) -> float:
        """Return the seconds to wait before a request could pass, without counting one."""
        due = self._due.get(name)
        return 0.0 if due is None else max(0.0, due - self._now() - self._period * (self._burst - 1))
