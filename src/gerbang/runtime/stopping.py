"""Requests to end a run, from whatever process they come: on record at once, heard by whoever drives it.

A request is a switch of the store that is named after the run. While it is on, no commit is written that
would send a call of the run, keep another answer of its model, or end it in another way than cancelled. A
driver need not come to its next commit to hear of it: while anything is driven, the switches are looked at
twice a second.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary, WeakSet

from gerbang.errors import StoreError
from gerbang.ports import Store
from gerbang.runtime.deadlines import Deadlines
from gerbang.runtime.session import RunSession

_LOOK_S: Final = 0.5
_NOBODY: Final = (None, None, 0)


_ALL: Final[WeakKeyDictionary[Store, "WeakSet[Stopping]"]] = WeakKeyDictionary()
"""Those of one store that no other process can open: of its runs some may be driven by other gateways."""


class Stopping:
    """Tells the drivers of one gateway that their run is to end; of a store in memory, those of all."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._all = _ALL.setdefault(store, WeakSet()) if store.immediate else WeakSet["Stopping"]()
        self._all.add(self)
        self._driven: dict[str, tuple[RunSession, Callable[[], None], int]] = {}
        self._deadlines = Deadlines()
        self._alarm: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    def drive(self, session: RunSession, stop: Callable[[], None], seconds: float | None) -> None:
        """Have `stop` called when the run is asked to end, and when its time is up. It is driven here from
        now on. `seconds` None: for as long as it takes.
        """
        alarm = 0 if seconds is None else self._deadlines.add(seconds, stop)
        self._driven[session.run_id] = (session, stop, alarm)
        if self._alarm is None and not self._store.immediate:  # nobody else could ask
            self._alarm = asyncio.get_running_loop().call_later(_LOOK_S, self._beat)

    def leave(self, session: RunSession) -> None:
        """Hear of the run no more."""
        _, _, alarm = self._driven.pop(session.run_id, _NOBODY)
        if alarm:
            self._deadlines.remove(alarm)

    def drives(self, run_id: str, tenant: str) -> bool:
        """Tell whether the run is driven here, for that tenant."""
        found = (one._driven[run_id][0] for one in self._all if run_id in one._driven)
        return any(session.principal.tenant == tenant for session in found)

    def stop(self, run_id: str) -> None:
        """End a run that is driven here."""
        for one in list(self._all):
            session, stop, _ = one._driven.get(run_id, _NOBODY)
            if session is not None and stop is not None and not session.stopping:
                session.ask_to_end()
                stop()

    def _beat(self) -> None:
        self._alarm = None
        if self._driven:
            self._looking = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        with contextlib.suppress(StoreError):  # the next look may do better, and each commit asks by itself
            asked = {kill.target for kill in await self._store.kills()}
            for session, _, _ in list(self._driven.values()):
                if session.switch in asked:
                    self.stop(session.run_id)
        if self._driven and self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(_LOOK_S, self._beat)

    async def aclose(self) -> None:
        """Look no more."""
        self._driven.clear()
        self._deadlines.close()
        if self._alarm is not None:
            self._alarm.cancel()
        if self._looking is not None:
            await asyncio.wait([self._looking])
