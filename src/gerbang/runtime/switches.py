"""The kill switch: in force in this process at once, in every other one as soon as it is on record."""

import asyncio
import contextlib
import re
from collections.abc import Coroutine
from typing import Any, Final

from gerbang.errors import UsageError
from gerbang.ports import Clock, Store
from gerbang.runtime.admission import Admission
from gerbang.runtime.bodies import PolicySwapped, SwitchTurned, event
from gerbang.runtime.writing import write
from gerbang.values import Principal
from gerbang.values.record import Batch, Kill

_TARGET: Final = re.compile(r"all|(?:tool|group|tenant):[^\x00-\x1f]{1,500}")
SWITCH_RUN: Final = "switches"
"""The chain of events that every turn of a switch is recorded in."""


class Switches:
    """The kill switches of a gateway's store."""

    def __init__(self, store: Store, clock: Clock, admission: Admission) -> None:
        self._store = store
        self._clock = clock
        self._admission = admission
        self._writing: set[asyncio.Task[None]] = set()

    def kill(self, target: str, by: Principal, reason: str) -> "asyncio.Future[None]":
        """Turn a switch on. Raises UsageError for a target that names nothing."""
        _check(target)
        self._admission.killed |= {target}
        at = self._clock.now()
        kill = Kill(target, by.user, str(reason)[:500], at)
        return self._write(
            Batch(kills=(kill,), events=[_turned("switch.killed", target, by, kill.reason, at)])
        )

    def revive(self, target: str, by: Principal, reason: str = "") -> "asyncio.Future[None]":
        """Turn a switch off, here as soon as it is off on record."""
        _check(target)
        turned = _turned("switch.revived", target, by, str(reason)[:500], self._clock.now())
        return self._write(Batch(revives=(target,), events=[turned]))

    def policy_turned(self, kind: str, old: str, new: str) -> None:
        """Record that the policy was swapped, or that a bad one was not. Called by the policy itself."""
        body = PolicySwapped(SWITCH_RUN, old, new, self._clock.now())
        with contextlib.suppress(RuntimeError):  # no event loop runs here: there is nobody who could write
            self._write(Batch(events=[event(kind, SWITCH_RUN, body)]))

    async def refresh(self) -> list[Kill]:
        """Learn what the store says, and return it."""
        kills = await self._store.kills()
        self._admission.killed = frozenset(kill.target for kill in kills)
        return kills

    def _write(self, batch: Batch) -> "asyncio.Future[None]":
        async def written() -> None:
            await write(self._store, batch)
            if batch.revives:
                self._admission.killed -= set(batch.revives)

        work: Coroutine[Any, Any, None] = written()
        task = asyncio.ensure_future(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return task

    async def aclose(self) -> None:
        """Finish what is being written."""
        if self._writing:
            await asyncio.wait(self._writing)


def _check(target: Any) -> None:
    if not isinstance(target, str) or not _TARGET.fullmatch(target):
        raise UsageError("A kill switch is called all, tool:NAME, group:NAME or tenant:NAME.")


def _turned(kind: str, target: str, by: Principal, reason: str, at: float) -> Any:
    return event(kind, SWITCH_RUN, SwitchTurned(SWITCH_RUN, target, by.user, by.tenant, reason, at))
