"""The methods of a store that are one commit each, or one read after the other: the same for every store."""

from collections.abc import AsyncIterator, Awaitable

from gerbang.values.record import Batch, Committed, EventRow, Hold, Kill, Lease, Pin


class Switches:
    """Kill switches, leases and pins by way of `commit`, and events one by one by way of `events`.

    `unsealing` is set by who opens what a sealed store gives; without it such a store is not opened.
    """

    unsealing = False
    has_own_clock = False

    def commit(self, batch: Batch) -> Awaitable[Committed]:
        """Write a batch."""
        raise NotImplementedError

    async def events(self, run_id: str, *, after: int = 0, limit: int = 10_000) -> list[EventRow]:
        """Return a run's events with a sequence above `after`."""
        raise NotImplementedError

    async def kills(self) -> list[Kill]:
        """Return the kill switches that are on, by target."""
        raise NotImplementedError

    async def stream(self, run_id: str, *, after: int = 0, page: int = 1000) -> AsyncIterator[EventRow]:
        """Yield a run's events one by one, `page` of them in memory at a time."""
        while rows := await self.events(run_id, after=after, limit=page):
            for row in rows:
                yield row
            after = rows[-1].seq

    async def lease(self, run_id: str, holder: str, ttl_s: float) -> Lease | None:
        """Take a run's lease, or extend it when the holder has it. None: another holds it."""
        return (await self.commit(Batch(hold=Hold(run_id, holder, ttl_s)))).held

    async def renew(self, lease: Lease, ttl_s: float) -> Lease | None:
        """Extend a lease, past its end too when nobody took it. None: it is another's, or given back."""
        hold = Hold(lease.run_id, lease.holder, ttl_s)
        return (await self.commit(Batch(lease=(lease.run_id, lease.fence), hold=hold))).held

    async def release(self, lease: Lease) -> None:
        """Give a lease back. A lease that is another's by now stays as it is."""
        hold = Hold(lease.run_id, lease.holder, 0)
        await self.commit(Batch(lease=(lease.run_id, lease.fence), hold=hold))

    async def kill(self, target: str, by: str, reason: str, at: float) -> None:
        """Turn a kill switch on: from the return on no commit whose `stops` name it writes anything."""
        await self.commit(Batch(kills=(Kill(target, by, reason, at),)))

    async def revive(self, target: str) -> bool:
        """Turn a kill switch off; False when it was not on."""
        if all(kill.target != target for kill in await self.kills()):
            return False
        await self.commit(Batch(revives=(target,)))
        return True

    async def pin(self, name: str, digest: str, by: str, at: float) -> None:
        """Record that a definition is approved in the form that has this digest. Replaces an earlier pin."""
        await self.commit(Batch(pins=(Pin(name, digest, by, at),)))
