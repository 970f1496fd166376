"""From when on "it has not happened" is an answer: what was sent may be on its way, or being worked on."""

from typing import Final

import msgspec
from msgspec import Struct

from gerbang.ports import Store
from gerbang.runtime.body import GRACE_S
from gerbang.runtime.process import is_gone, is_here
from gerbang.runtime.stored import read_stored
from gerbang.values import CallError, Contract
from gerbang.values.record import CallRow, CallState

_BY_A_PROXY: Final = ("HTTP 502 ", "HTTP 503 ", "HTTP 504 ")
"""How answers begin that may be those of somebody in between, while the target itself is at work."""


class Sending(Struct, frozen=True):
    """The newest attempt of a call, as its run's events tell of it. Times are seconds since the epoch.

    `process` sent it and `began` says when; nothing of it is sent after `until`. `over` is when that process
    recorded what came of it; None: it did not.
    """

    process: str = ""
    began: float = 0.0
    until: float = 0.0
    over: float | None = None


class _Noted(Struct, frozen=True):
    """What is looked up of an event."""

    call_id: str = ""
    process: str = ""
    started_at: float = 0.0
    deadline_at: float = 0.0
    finished_at: float = 0.0


async def sending_of(store: Store, row: CallRow) -> Sending:
    """Return how a call was sent. Raises StoreError."""
    found = Sending()
    async for event in store.stream(row.run_id):
        if event.kind not in ("call.dispatched", "call.retried", "call.finished"):
            continue
        try:
            said = msgspec.json.decode(event.body, type=_Noted)
        except msgspec.MsgspecError:
            continue  # not one of ours; `audit verify` says so
        if said.call_id != row.call_id:
            continue
        if event.kind == "call.finished":
            found = Sending(found.process, found.began, found.until, said.finished_at)
        else:
            found = Sending(said.process, said.started_at, said.deadline_at)
    return found


def is_at_work(row: CallRow, sending: Sending, now: float, timeout_s: float) -> bool:
    """Tell whether somebody may still be at work on a call that is DISPATCHED. `now` is the store's time."""
    over = sending.until or row.updated_at + timeout_s
    return now < over + GRACE_S and not is_gone(sending.process)


def settles_at(row: CallRow, contract: Contract, sending: Sending, *, blocks: bool) -> float | None:
    """Return from when on a probe's "no" counts, in seconds since the epoch; None: never, as things are.

    `blocks`: the tool's calls run in threads. Nobody can end a thread: while its process lives, or may live
    on another machine, it may act at any time. Of a process elsewhere a contract that says how long its
    target takes to settle is believed.
    """
    error = read_stored(row.result)[1] if row.state == CallState.UNCERTAIN else None
    own = None if contract.probe is None else contract.probe.settles_s
    returned = sending.over is not None and _has_returned(error)
    goes_on = blocks and not returned and not is_gone(sending.process)
    if goes_on and (own is None or is_here(sending.process)):
        return None
    if sending.over is not None:
        over = sending.over
    else:  # whoever sent it had as long, and a coroutine a moment more to clean up
        over = (sending.until or (sending.began or row.updated_at) + contract.timeout_s) + GRACE_S
    if own is not None:
        return over + own
    return over if sending.over is not None and _has_answered(error) else over + contract.timeout_s


def _has_returned(error: CallError | None) -> bool:
    """Tell whether the tool itself came to an end: what was recorded is not merely that nobody waited."""
    return error is None or not (error.error_code == "TOOL_TIMEOUT" or error.error_type == "cancelled")


def _has_answered(error: CallError | None) -> bool:
    """Tell whether the target has answered the call: then it is not at work on it any more."""
    if error is None or error.error_type != "upstream_error":
        return False
    return not error.message.startswith(_BY_A_PROXY)
