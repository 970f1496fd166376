"""The kill switch: in force in this process at once, in every other one as soon as it is on record."""

import asyncio
import contextlib
import re
from collections.abc import Callable, Coroutine
from typing import Any, Final

from gerbang.errors import UsageError
from gerbang.ports import Clock, Store
from gerbang.runtime.bodies import PolicySwapped, SwitchTurned, event
from gerbang.runtime.requests import said_text
from gerbang.runtime.stops import Stops
from gerbang.runtime.writing import write
from gerbang.values import Principal
from gerbang.values.principal import MAX_NAME
from gerbang.values.record import RUN_SWITCH, Batch, Kill
from gerbang.values.text import clean_text

_TARGET: Final = re.compile(rf"all|(?:tool|group):[^\x00-\x1f]{{1,500}}|tenant:(?s:.){{1,{MAX_NAME}}}")
SWITCH_RUN: Final = "switches"
"""The chain of events that every turn of a switch is recorded in."""


class Switches:
    """The kill switches of a gateway's store."""

    def __init__(self, store: Store, clock: Clock, stops: Stops) -> None:
        self._store = store
        self._clock = clock
        self._stops = stops
        stops.renew = self.refresh
        self._writing: set[asyncio.Task[None]] = set()
        self._turns: dict[str, asyncio.Task[None]] = {}  # the newest of each target

    def kill(self, target: str, by: Principal, reason: str) -> "asyncio.Future[None]":
        """Turn a switch on. Raises UsageError for a target that names nothing."""
        _check(target)
        stops = self._stops
        stops.on |= {target}
        stops.here |= {target}
        stops.off_soon -= {target}
        at = self._clock.now()
        kill = Kill(target, by.user, said_text(str(reason)), at)
        turned = _turned("switch.killed", target, by, kill.reason, at)
        return self._turn(target, Batch(kills=(kill,), events=[turned]), self._recorded)

    def revive(self, target: str, by: Principal, reason: str = "") -> "asyncio.Future[None]":
        """Turn a switch off, here as soon as it is off on record. Calls that begin later wait for that."""
        _check(target)
        self._stops.off_soon |= {target}
        turned = _turned("switch.revived", target, by, said_text(str(reason)), self._clock.now())
        return self._turn(target, Batch(revives=(target,), events=[turned]), self._revived)

    def policy_turned(self, kind: str, old: str, new: str) -> None:
        """Record that the policy was swapped, or that a bad one was not. Called by the policy itself."""
        body = PolicySwapped(SWITCH_RUN, old, new, self._clock.now())
        with contextlib.suppress(RuntimeError):  # no event loop runs here: there is nobody who could write
            self._begin(self._write(Batch(events=[event(kind, SWITCH_RUN, body)])))

    async def _write(self, batch: Batch) -> None:
        await write(self._store, batch)

    async def refresh(self) -> list[Kill]:
        """Learn what the store says when the turns that are under way are on record, and return it."""
        if self._writing:
            await asyncio.wait(self._writing)
        kills = [kill for kill in await self._store.kills() if not kill.target.startswith(RUN_SWITCH)]
        self._stops.on = self._stops.here.union(kill.target for kill in kills)
        return kills

    def _turn(self, target: str, batch: Batch, done: Callable[[str], None]) -> "asyncio.Future[None]":
        """Have a turn written. Only the newest turn of a target changes what is known of it."""

        async def written() -> None:
            try:
                await write(self._store, batch)
                if self._turns[target] is task:
                    done(target)
            finally:
                if self._turns[target] is task:
                    del self._turns[target]
                    self._stops.off_soon -= {target}

        task = self._turns[target] = self._begin(written())
        return task

    def _recorded(self, target: str) -> None:
        self._stops.here -= {target}

    def _revived(self, target: str) -> None:
        self._stops.on -= {target}
        self._stops.here -= {target}

    def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return task

    async def aclose(self) -> None:
        """Finish what is being written."""
        if self._writing:
            await asyncio.wait(self._writing)


def is_switch(target: Any) -> bool:
    """Tell whether a text names a switch: `all`, `tool:NAME`, `group:NAME` or `tenant:NAME`."""
    return type(target) is str and clean_text(target) == target and _TARGET.fullmatch(target) is not None


def _check(target: Any) -> None:
    if not is_switch(target):
        raise UsageError("A kill switch is called all, tool:NAME, group:NAME or tenant:NAME.")


def _turned(kind: str, target: str, by: Principal, reason: str, at: float) -> Any:
    return event(kind, SWITCH_RUN, SwitchTurned(SWITCH_RUN, target, by.user, by.tenant, reason, at))
