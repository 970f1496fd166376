"""The approval machine as one table: pending, then granted or refused; granted, then used."""

from enum import StrEnum
from typing import Final

from gerbang.values.canonical import digest


class ApprovalState(StrEnum):
    """Where a request stands."""

    PENDING = "pending"
    GRANTED = "granted"
    REFUSED = "refused"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    USED = "used"


class ApprovalEvent(StrEnum):
    """What can happen to a request."""

    APPROVE = "approve"
    REFUSE = "refuse"
    TIME_OUT = "time_out"
    CANCEL = "cancel"
    USE = "use"


TRANSITIONS: Final[dict[tuple[ApprovalState, ApprovalEvent], ApprovalState]] = {
    (ApprovalState.PENDING, ApprovalEvent.APPROVE): ApprovalState.GRANTED,
    (ApprovalState.PENDING, ApprovalEvent.REFUSE): ApprovalState.REFUSED,
    (ApprovalState.PENDING, ApprovalEvent.TIME_OUT): ApprovalState.EXPIRED,
    (ApprovalState.PENDING, ApprovalEvent.CANCEL): ApprovalState.CANCELLED,
    (ApprovalState.GRANTED, ApprovalEvent.USE): ApprovalState.USED,
    (ApprovalState.GRANTED, ApprovalEvent.TIME_OUT): ApprovalState.EXPIRED,
}


def advance(state: ApprovalState | str, event: ApprovalEvent) -> ApprovalState | None:
    """Return the next state, or None when the event is not possible in this one."""
    return TRANSITIONS.get((ApprovalState(state), event))


def binding(*, key: str, arguments: bytes, contract: str, policy_version: str) -> str:
    """Return the digest that ties an approval to exactly one call, its arguments, contract and policy."""
    return digest(["approval", key, arguments.decode(), contract, policy_version])
