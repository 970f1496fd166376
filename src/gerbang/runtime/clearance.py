"""The last look before an effect: whether this process may still begin it, asked just before the first byte.

The intent is on record by then, and the process may have slept since. Another one that goes on with the call
waits until the lease and the time of the call are over; so nothing may be sent after either.
"""

import asyncio
import concurrent.futures

from gerbang.ports import Clock
from gerbang.runtime.admission import Admission
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Ticket


class Clearance:
    """For one call; implements `gerbang.values.call.Clearance`.

    `seconds` are those that the call may take, counted from before its intent was written. The wall clock
    counts as well as the monotonic one, which stands still while a machine sleeps.
    """

    __slots__ = ("__weakref__", "_admission", "_clock", "_loop", "_over", "_over_at", "_session", "_stops")

    def __init__(
        self,
        session: RunSession,
        ticket: Ticket,
        admission: Admission,
        clock: Clock,
        *,
        began: float,
        at: float,
        seconds: float,
    ) -> None:
        self._session = session
        self._admission = admission
        self._clock = clock
        self._stops = (*ticket.plan.stops, session.stop)
        self._over, self._over_at = began + seconds, at + seconds
        self._loop = asyncio.get_running_loop()

    def lacks(self) -> str:
        """Return the code of what stands against sending now; empty for nothing."""
        stops = self._admission.stops
        if stops.on and stops.of(self._stops):
            return "KILL_SWITCH"
        now, at, session = self._clock.monotonic(), self._clock.now(), self._session
        if now >= self._over or at >= self._over_at:
            return "DEADLINE"
        return "" if now < session.lease_until and at < session.lease_until_at else "RUN_TAKEN_OVER"

    async def ask(self) -> str:
        """Return the same, having asked the store for more of a lease that has run out unseen."""
        code, renew = self.lacks(), self._session.renew
        if code == "RUN_TAKEN_OVER" and renew is not None and await renew():
            code = self.lacks()
        return code

    def ask_from_thread(self) -> str:
        """Return what `ask` does, to a thread that may wait for the event loop."""
        code = self.lacks()
        if code != "RUN_TAKEN_OVER" or self._here():
            return code
        asking = self.ask()
        try:
            found = asyncio.run_coroutine_threadsafe(asking, self._loop)
        except RuntimeError:  # the loop is closed
            asking.close()
            return code
        try:
            return found.result(max(0.0, self._over - self._clock.monotonic()))
        except (TimeoutError, concurrent.futures.CancelledError):
            found.cancel()
            return code

    def _here(self) -> bool:
        """Tell whether this is the event loop's own thread, which must not wait for itself."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False
