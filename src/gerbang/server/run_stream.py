"""A run's events as server-sent events: the record by its sequence, and what the run says in between."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final

import msgspec

from gerbang.server.identity import Caller
from gerbang.server.live import LiveRun
from gerbang.server.replies import frame
from gerbang.server.run_history import WORKING, own_run
from gerbang.server.schemas import run_view

if TYPE_CHECKING:
    from gerbang.server.service import Service

_ENCODER: Final = msgspec.json.Encoder()
_PAGE: Final = 500
_LOOK_S: Final = 0.5
"""How often a run that another process drives is looked at."""
_BEAT_S: Final = 15.0
_BEAT: Final = b": still here\n\n"


async def frames(
    service: "Service", run_id: str, caller: Caller, live: LiveRun | None, after: int
) -> AsyncGenerator[bytes]:
    """Yield the frames of a run: events of the record after `after`, its messages, `end` when it is over.

    The record is read again whenever the run says something, so that no event waits for a timer; the same
    numbers in the same order come from every process. It ends when the caller's key does.
    """
    tenant = caller.principal.tenant
    service.followers += 1
    said = 0 if live is None or not after else live.last_seq  # who comes back has the text before
    quiet = 0.0
    try:
        while service.still(caller, "runs") is not None:
            ended = live is not None and live.over
            row = await own_run(service.store, run_id, tenant)
            found = await service.store.events(run_id, after=after, limit=_PAGE)
            for event in found:
                after = event.seq
                yield frame(event.kind, event.body, event.seq)
            if live is not None:
                for note in live.since(said):
                    said = note.seq
                    yield frame(note.kind, note.text)
            if len(found) == _PAGE:
                continue
            if ended or (live is None and (row is None or row.state not in WORKING)):
                if row is not None:
                    yield frame("end", _ENCODER.encode(run_view(row, False)))
                return
            if service.stopping.is_set() and live is None:
                return
            if found:
                quiet = 0.0
            waited = await _wait(live, said)
            quiet += waited
            if quiet >= _BEAT_S:
                quiet = 0.0
                yield _BEAT
    finally:
        service.followers -= 1


async def _wait(live: LiveRun | None, said: int) -> float:
    """Wait until the run says more, or for a while. Returns the seconds that counted as silence."""
    if live is None:
        await asyncio.sleep(_LOOK_S)
        return _LOOK_S
    if live.last_seq > said or live.over:
        return 0.0
    try:
        async with asyncio.timeout(_LOOK_S):
            await live.changed()
    except TimeoutError:
        return _LOOK_S
    return 0.0
