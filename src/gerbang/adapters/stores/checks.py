"""What can stand against a batch besides its keys: switches, leases, limits. One set of rules for all stores.

`Checks` holds what a store knows of them while it writes: it asks its source for what it has not seen, keeps
what changes, and says which keys have to be written out. Times are microseconds, except those of leases.
"""

import math
from typing import Final, Protocol

from gerbang.adapters.stores.store_clock import MICRO, StoreClock
from gerbang.values.record import Committed, Hold, Kill, Lease, Limited, Pin, Spend, Take

KEPT: Final = 8192
"""Rows that are kept in memory of a store that has them on disk."""
PRUNE_EVERY: Final = 4096
"""Transactions that draw on limits between two removals of rows that say no more than their absence."""
_SLACK: Final = 1e-9  # sums of fractions: three times 0.1 is not more than 0.3


class Asked(Protocol):
    """The part of a batch that is checked here."""

    stops: tuple[str, ...]
    lease: tuple[str, int] | None
    takes: tuple[Take, ...]
    spends: tuple[Spend, ...]
    hold: Hold | None
    kills: tuple[Kill, ...]
    revives: tuple[str, ...]
    pins: tuple[Pin, ...]


def asks(batch: Asked) -> bool:
    """Tell whether a batch has anything to check or to set here."""
    return bool(
        batch.stops
        or batch.lease
        or batch.takes
        or batch.spends
        or batch.hold
        or batch.kills
        or batch.revives
        or batch.pins
    )


def only_stops(batch: Asked) -> bool:
    """Tell whether switches are all that a batch asks about: where none is on, it is free."""
    return not (
        batch.lease or batch.takes or batch.spends or batch.hold or batch.kills or batch.revives or batch.pins
    )


class Source(Protocol):
    """Where rows come from that are not in memory yet. Called inside the writing transaction."""

    def floor(self) -> int:
        """Return the latest time that a process has told."""
        ...

    def last_fence(self) -> int:
        """Return the newest fencing number."""
        ...

    def kills(self) -> dict[str, Kill]:
        """Return the switches that are on."""
        ...

    def lease(self, run_id: str) -> Lease | None:
        """Return a run's lease."""
        ...

    def rate(self, key: str) -> int | None:
        """Return the time at which a rate limit is full again."""
        ...

    def spent(self, key: str, span: int) -> tuple[int, float] | None:
        """Return the beginning of a budget's window and what was spent in it."""
        ...


class Checks:
    """Decides batch after batch. Call `begin` at the start of each transaction."""

    def __init__(self, source: Source, clock: StoreClock, kept: float = math.inf) -> None:
        self._source = source
        self._clock = clock
        self._kept = kept
        self.forget()

    def forget(self) -> None:
        """Forget all: another process has written, or the transaction was undone."""
        self._now: int | None = None
        self._floor: int | None = None
        self._kills: dict[str, Kill] | None = None
        self.leases: dict[str, Lease | None] = {}
        self.rates: dict[str, int | None] = {}
        self.spends: dict[tuple[str, int], tuple[int, float] | None] = {}
        self.fence: int | None = None
        self.settle()

    def settle(self) -> None:
        """Note that what changed is written out."""
        self.changed_kills: dict[str, Kill | None] = {}
        self.changed_pins: dict[str, Pin] = {}
        self.changed_leases: set[str] = set()
        self.changed_rates: set[str] = set()
        self.changed_spends: set[tuple[str, int]] = set()

    def begin(self) -> None:
        """Begin a transaction: it has one time, told when it is first needed."""
        self._now = None
        if len(self.leases) + len(self.rates) + len(self.spends) > self._kept:
            self.forget()

    @property
    def told(self) -> int | None:
        """The time of this transaction, None when nothing needed it."""
        return self._now

    def now(self) -> int:
        """Return the time of this transaction."""
        if self._now is None:
            if self._floor is None:
                self._floor = self._source.floor()
            self._now = self._clock.now(self._floor)
        return self._now

    def decide(self, batch: Asked) -> Committed | Lease | None:
        """Check all and set what the batch sets. Returns a refusal, or the lease that the batch took."""
        return self.barred(batch) or self.draw(batch)

    def barred(self, batch: Asked) -> Committed | None:
        """Return the refusal of a batch that a switch stops or whose writer's lease is gone."""
        if batch.stops:
            kills = self.kills()
            if kills:
                for target in batch.stops:
                    if target in kills:
                        return Committed(stopped=target)
        if batch.lease is not None:
            run_id, fence = batch.lease
            standing = self.standing(run_id)
            if standing is None or standing.fence != fence:
                return Committed(fenced=True)
        return None

    def draw(self, batch: Asked) -> Committed | Lease | None:
        """Draw on the limits and take the lease, or return the refusal; then set what the batch sets."""
        taken, limited = self._take(batch.takes) if batch.takes else ({}, None)
        spent: dict[tuple[str, int], tuple[int, float]] = {}
        if batch.spends:
            spent, poor = self._spend(batch.spends)
            limited = longer(limited, poor)
        if limited is not None:
            return Committed(limited=limited)
        held = None
        if batch.hold is not None:
            held = self._hold(batch.hold)
            if held is None and batch.hold.ttl_s > 0:
                return Committed(fenced=True)
        if taken:
            self.rates.update(taken)
            self.changed_rates.update(taken)
        if spent:
            self.spends.update(spent)
            self.changed_spends.update(spent)
        if batch.kills or batch.revives or batch.pins:
            self._switch(batch)
        return held

    def kills(self) -> dict[str, Kill]:
        """Return the switches that are on."""
        if self._kills is None:
            self._kills = self._source.kills()
        return self._kills

    def standing(self, run_id: str) -> Lease | None:
        """Return a run's lease, past or not."""
        if run_id not in self.leases:
            self.leases[run_id] = self._source.lease(run_id)
        return self.leases[run_id]

    def _switch(self, batch: Asked) -> None:
        kills = self.kills()
        for kill in batch.kills:
            kills[kill.target] = self.changed_kills[kill.target] = kill
        for target in batch.revives:
            if kills.pop(target, None) is not None:
                self.changed_kills[target] = None
        for pin in batch.pins:
            self.changed_pins[pin.name] = pin

    def _hold(self, hold: Hold) -> Lease | None:
        standing = self.standing(hold.run_id)
        now = self.now() / MICRO
        own = standing is not None and standing.holder == hold.holder
        if hold.ttl_s <= 0:
            if own:
                self.leases[hold.run_id] = None
                self.changed_leases.add(hold.run_id)
            return None
        if standing is not None and own:
            fence = standing.fence
        elif standing is not None and standing.expires_at > now:
            return None
        else:
            fence = self._next_fence()
        lease = Lease(hold.run_id, hold.holder, fence, now + hold.ttl_s)
        self.leases[hold.run_id] = lease
        self.changed_leases.add(hold.run_id)
        return lease

    def _next_fence(self) -> int:
        """Numbers are the store's, not the run's: they grow even when a run's lease was given back."""
        if self.fence is None:
            self.fence = self._source.last_fence()
        self.fence += 1
        return self.fence

    def _take(self, takes: tuple[Take, ...]) -> tuple[dict[str, int], Limited | None]:
        now, staged, limited = self.now(), dict[str, int](), None
        for take in takes:
            key = take.key
            full_at = staged.get(key) or self._rate(key) or now
            full_at, over = gcra(take, full_at, now)
            if over <= 0:
                staged[key] = full_at
            else:
                wait = math.ceil(over / 1000) if take.cost <= take.burst else None
                limited = longer(limited, Limited(key, wait))
        return staged, limited

    def _rate(self, key: str) -> int | None:
        if key not in self.rates:
            self.rates[key] = self._source.rate(key)
        return self.rates[key]

    def _spend(
        self, spends: tuple[Spend, ...]
    ) -> tuple[dict[tuple[str, int], tuple[int, float]], Limited | None]:
        now, staged, limited = self.now(), dict[tuple[str, int], tuple[int, float]](), None
        for spend in spends:
            span = span_of(spend.window_s)
            place = (spend.key, span)
            began, amount = window(staged.get(place) or self._spent(place), span, now)
            amount = max(amount + spend.amount, 0.0)
            if spend.amount > 0 and amount > spend.limit + _SLACK * max(1.0, abs(spend.limit)):
                helps = span and spend.amount <= spend.limit
                wait = math.ceil((began + span - now) / 1000) if helps else None
                limited = longer(limited, Limited(spend.key, wait))
            else:
                staged[place] = (began, amount)
        return staged, limited

    def _spent(self, place: tuple[str, int]) -> tuple[int, float] | None:
        if place not in self.spends:
            self.spends[place] = self._source.spent(*place)
        return self.spends[place]


def gcra(take: Take, full_at: int, now: int) -> tuple[int, int]:
    """Return when the limit is full again after the take, and by how much that is too late (0: admitted).

    `full_at` is that time before the take. One that is further off than a whole burst comes from a clock
    that was ahead, or from a larger limit, and is cut to the burst.
    """
    period = round(take.period_s * MICRO)
    burst = period * take.burst
    later = min(max(full_at, now), now + burst) + round(period * take.cost)
    return later, max(later - now - burst, 0)


def span_of(window_s: float | None) -> int:
    """Return a budget's window as it is stored: 0 when it never ends."""
    return 0 if window_s is None else max(round(window_s * MICRO), 1)


def window(standing: tuple[int, float] | None, span: int, now: int) -> tuple[int, float]:
    """Return the beginning of the current window and what was spent in it."""
    began = now - now % span if span else 0
    if standing is None or standing[0] < began:
        return began, 0.0
    return standing


def longer(one: Limited | None, other: Limited | None) -> Limited | None:
    """Return the limit that makes one wait longer."""
    if one is None or other is None:
        return one or other
    if one.retry_after_ms is None or other.retry_after_ms is None:
        return one if one.retry_after_ms is None else other
    return one if one.retry_after_ms >= other.retry_after_ms else other


class Nowhere:
    """The source of a store that holds everything in `Checks` itself."""

    def floor(self) -> int:
        """No other process tells the time."""
        return 0

    def last_fence(self) -> int:
        """None was given."""
        return 0

    def kills(self) -> dict[str, Kill]:
        """None is on."""
        return {}

    def lease(self, run_id: str) -> Lease | None:
        """There is none."""

    def rate(self, key: str) -> int | None:
        """It is full."""

    def spent(self, key: str, span: int) -> tuple[int, float] | None:
        """Nothing."""
