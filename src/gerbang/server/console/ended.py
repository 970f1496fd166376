"""Sessions that were signed out of: on record in the store, so that they are over in every process.

The record is an event, in a chain for the day on which the session would have ended by itself. Whoever is
shown a session reads what is new in the chain of its day, and nothing of other days.
"""

from typing import Final

import msgspec
from msgspec import Struct

from gerbang.ports import Store
from gerbang.runtime.bodies import event
from gerbang.runtime.writing import write
from gerbang.server.console.session import Session
from gerbang.values.record import Batch

_DAY_S: Final = 86_400
_PAGE: Final = 1_000
_CHAIN: Final = "console.sessions."


class SessionEnded(Struct, frozen=True, gc=False):
    """Somebody signed out of the console. `mark` tells sessions of one key apart."""

    run_id: str
    key_id: str
    mark: str
    until: int
    at: float


class _Day(Struct):
    """What is known of one day's chain: the last event that was read, and the marks of its sessions."""

    seq: int
    marks: set[str]


_DECODER: Final = msgspec.json.Decoder(SessionEnded)


class EndedSessions:
    """The ended sessions of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._days: dict[int, _Day] = {}

    async def add(self, session: Session, now: float) -> None:
        """Let the session open nothing any more, in any process. Raises StoreError."""
        name = _chain(session)
        body = SessionEnded(name, session.key_id, session.mark, session.until, now)
        await write(self._store, Batch(events=[event("session.ended", name, body)]))

    async def has(self, session: Session, now: float) -> bool:
        """Tell whether somebody has signed out of the session. Raises StoreError."""
        today = int(now) // _DAY_S
        for gone in [day for day in self._days if day < today]:
            del self._days[gone]
        day = self._days.setdefault(session.until // _DAY_S, _Day(0, set()))
        while session.mark not in day.marks:
            found = await self._store.events(_chain(session), after=day.seq, limit=_PAGE)
            for row in found:
                day.marks.add(_DECODER.decode(row.body).mark)
                day.seq = max(day.seq, row.seq)
            if len(found) < _PAGE:
                break
        return session.mark in day.marks


def _chain(session: Session) -> str:
    return f"{_CHAIN}{session.until // _DAY_S}"
