"""States of a call's effect, one table. Nothing leaves a terminal state except by resolving `UNCERTAIN`."""

from enum import StrEnum
from typing import Final

from gerbang.values.record import CallState


class LedgerEvent(StrEnum):
    """What can happen to a call."""

    DISPATCH = "dispatch"
    SUCCEED = "succeed"
    FAIL = "fail"
    LOSE_TRACK = "lose_track"
    CANCEL = "cancel"
    REFUSE = "refuse"
    LEARN_HAPPENED = "learn_happened"
    LEARN_NOT_HAPPENED = "learn_not_happened"


TRANSITIONS: Final[dict[tuple[CallState, LedgerEvent], CallState]] = {
    (CallState.PLANNED, LedgerEvent.DISPATCH): CallState.DISPATCHED,
    (CallState.PLANNED, LedgerEvent.CANCEL): CallState.CANCELLED,
    (CallState.PLANNED, LedgerEvent.REFUSE): CallState.REFUSED,
    (CallState.DISPATCHED, LedgerEvent.DISPATCH): CallState.DISPATCHED,
    (CallState.DISPATCHED, LedgerEvent.SUCCEED): CallState.SUCCEEDED,
    (CallState.DISPATCHED, LedgerEvent.FAIL): CallState.FAILED,
    (CallState.DISPATCHED, LedgerEvent.LOSE_TRACK): CallState.UNCERTAIN,
    (CallState.UNCERTAIN, LedgerEvent.LEARN_HAPPENED): CallState.RESOLVED_SUCCEEDED,
    (CallState.UNCERTAIN, LedgerEvent.LEARN_NOT_HAPPENED): CallState.RESOLVED_FAILED,
}

TERMINAL: Final = frozenset(
    {
        CallState.SUCCEEDED,
        CallState.FAILED,
        CallState.UNCERTAIN,
        CallState.RESOLVED_SUCCEEDED,
        CallState.RESOLVED_FAILED,
        CallState.CANCELLED,
        CallState.REFUSED,
    }
)


class IllegalTransition(RuntimeError):
    """The runtime tried a step that the table does not have: a defect, never a user's mistake."""


def advance(state: CallState | str, event: LedgerEvent) -> CallState:
    """Return the next state. Raises IllegalTransition."""
    target = TRANSITIONS.get((CallState(state), event))
    if target is None:
        raise IllegalTransition(f"{state} has no transition for {event}")
    return target
