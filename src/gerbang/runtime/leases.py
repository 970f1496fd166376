"""The right to drive a run: taken in the store, renewed while the run goes on, given back at its end.

A holder that was paused must not act on a lease that is another's by now. The store checks the fencing number
in every write; just before an effect is sent the holder's own monotonic clock is asked too, with a margin.
"""

import asyncio
import contextlib
import secrets
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

from gerbang.errors import StoreError, UsageError
from gerbang.ports import Clock, Store
from gerbang.runtime.session import RunSession
from gerbang.runtime.stopping import Stopping
from gerbang.runtime.store_time import StoreTime
from gerbang.values.record import Hold, Lease

TTL_S: Final = 30.0
"""How long a lease lasts without being renewed, in seconds."""
_MARGIN_S: Final = 5.0
_BEAT_S: Final = 5.0
_DRIVEN: Final[WeakKeyDictionary[Store, set[str]]] = WeakKeyDictionary()
"""The runs that are driven of a store that no other process can open, whose leases nobody keeps."""


class Leases:
    """The leases that this process holds. A store that no other process can open needs none.

    `stopping` tells those who drive that somebody asks for the run's end.
    """

    def __init__(self, store: Store, clock: Clock, ttl_s: float = TTL_S) -> None:
        self._store = store
        self._clock = clock
        self._ttl_s = ttl_s
        self._margin_s = min(_MARGIN_S, ttl_s / 4)
        self._process = secrets.token_hex(8)
        self._held: dict[str, tuple[Lease, RunSession]] = {}
        # runs that this process drives: two tasks are two drivers as well, and so are two gateways
        self._driven = _DRIVEN.setdefault(store, set()) if store.immediate else set[str]()
        self._alarm: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None
        self.stopping = Stopping(store)

    def begin(self, session: RunSession) -> None:
        """Note that this process drives a new run. Raises UsageError when it does already."""
        if session.run_id in self._driven:
            raise UsageError(f"Run {session.run_id} is being driven already. A new run needs a new run_id.")
        self._driven.add(session.run_id)

    def hold(self, run_id: str) -> Hold | None:
        """Return what takes a new run's lease along in the run's first commit."""
        return None if self._store.immediate else Hold(run_id, self._holder(run_id), self._ttl_s)

    def giving_back(self, run_id: str) -> Hold | None:
        """Return what gives it back in the run's last commit."""
        return Hold(run_id, self._holder(run_id), 0) if run_id in self._held else None

    async def take(self, session: RunSession) -> bool:
        """Take over a run that somebody else has begun, until `let_go`. False: somebody drives it."""
        run_id = session.run_id
        if run_id in self._driven:
            return False
        self._driven.add(run_id)
        try:
            taken = self._store.immediate or await self._taken(session)
        except BaseException:
            self._driven.discard(run_id)
            raise
        if not taken:
            self._driven.discard(run_id)
        return taken

    async def _taken(self, session: RunSession) -> bool:
        asked = self._clock.monotonic()
        lease = await self._store.lease(session.run_id, self._holder(session.run_id), self._ttl_s)
        if lease is not None:
            self.adopt(session, lease, asked)
        return lease is not None

    def adopt(self, session: RunSession, lease: Lease, asked: float) -> None:
        """Keep a lease that was asked for at the monotonic time `asked`."""
        self._told(lease, asked)
        session.lease = (lease.run_id, lease.fence)
        self._count(session, asked)
        session.renew = partial(self._renewed, session)
        self._held[lease.run_id] = (lease, session)
        self._ring()

    def _told(self, lease: Lease, asked: float) -> None:
        """Have the clock learn the store's time, which each lease tells."""
        if isinstance(self._clock, StoreTime):
            self._clock.told(lease.expires_at - self._ttl_s, asked)

    def _count(self, session: RunSession, asked: float) -> None:
        """Note until when nothing stands against sending. While a machine sleeps its monotonic clock stands
        still: the wall clock, which knows of that, counts as well.
        """
        left = self._ttl_s - self._margin_s
        session.lease_until = asked + left
        session.lease_until_at = self._clock.now() - (self._clock.monotonic() - asked) + left

    async def _renewed(self, session: RunSession) -> bool:
        """Extend a lease that came to its end unseen: the process was paused, or the machine too busy.

        False: it is another's by now, or the store does not say.
        """
        held = self._held.get(session.run_id)
        if held is None:
            return False
        asked = self._clock.monotonic()
        try:
            renewed = await self._store.renew(held[0], self._ttl_s)
        except StoreError:
            return False
        if renewed is None:
            session.lease_until = float("-inf")
            self._held.pop(session.run_id, None)
            return False
        self.adopt(session, renewed, asked)
        return self._clock.monotonic() < session.lease_until

    async def let_go(self, session: RunSession) -> None:
        """Drive a run no longer: give a lease back that no commit has given back."""
        self._driven.discard(session.run_id)
        held = self._held.pop(session.run_id, None)
        self._quiet()
        if held is not None:
            with contextlib.suppress(StoreError):  # it runs out by itself
                await self._store.release(held[0])

    def forget(self, session: RunSession) -> None:
        """Drop a lease that a commit has given back."""
        self._held.pop(session.run_id, None)
        self._quiet()

    def _ring(self) -> None:
        """Set the alarm for the next renewal; there is none while nothing is held."""
        if self._alarm is None and self._held:
            seconds = min(_BEAT_S, self._ttl_s / 3)
            self._alarm = asyncio.get_running_loop().call_later(seconds, self._beat)

    def _beat(self) -> None:
        self._alarm = None
        self._renewing = asyncio.ensure_future(self._renew())

    async def _renew(self) -> None:
        for run_id, held in list(self._held.items()):
            if self._held.get(run_id) is not held:  # given back, perhaps taken anew, meanwhile
                continue
            lease, session = held
            asked = self._clock.monotonic()
            try:
                renewed = await self._store.renew(lease, self._ttl_s)
            except StoreError:  # until it runs out, the next beat may do better
                continue
            if self._held.get(run_id) is not held:
                continue
            if renewed is None:  # another's by now
                session.lease_until = float("-inf")
                del self._held[run_id]
            else:
                self._told(renewed, asked)
                self._count(session, asked)
                self._held[run_id] = (renewed, session)
        self._ring()

    async def aclose(self) -> None:
        """Stop renewing, and give back what is still held."""
        held, self._held = list(self._held.values()), {}
        await self.stopping.aclose()
        self._quiet()
        if self._renewing is not None:
            await asyncio.wait([self._renewing])
        self._quiet()
        for lease, _ in held:
            with contextlib.suppress(StoreError):  # it runs out by itself
                await self._store.release(lease)

    def _quiet(self) -> None:
        if self._alarm is not None and not self._held:
            self._alarm.cancel()
            self._alarm = None

    def _holder(self, run_id: str) -> str:
        return f"{self._process}:{run_id}"
