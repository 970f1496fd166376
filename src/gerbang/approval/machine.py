"""The approval machine as one table: pending, then granted or refused; granted, then used."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from gerbang.values.canonical import digest


class ApprovalState(StrEnum):
    """Where a request stands. It stays `pending` until as many people have agreed as have to."""

    PENDING = "pending"
    GRANTED = "granted"
    REFUSED = "refused"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    USED = "used"


class ApprovalEvent(StrEnum):
    """What can happen to a request. `VOTE` is an agreement that is not yet enough."""

    VOTE = "vote"
    APPROVE = "approve"
    REFUSE = "refuse"
    TIME_OUT = "time_out"
    CANCEL = "cancel"
    USE = "use"


TRANSITIONS: Final[dict[tuple[ApprovalState, ApprovalEvent], ApprovalState]] = {
    (ApprovalState.PENDING, ApprovalEvent.VOTE): ApprovalState.PENDING,
    (ApprovalState.PENDING, ApprovalEvent.APPROVE): ApprovalState.GRANTED,
    (ApprovalState.PENDING, ApprovalEvent.REFUSE): ApprovalState.REFUSED,
    (ApprovalState.PENDING, ApprovalEvent.TIME_OUT): ApprovalState.EXPIRED,
    (ApprovalState.PENDING, ApprovalEvent.CANCEL): ApprovalState.CANCELLED,
    (ApprovalState.GRANTED, ApprovalEvent.USE): ApprovalState.USED,
    (ApprovalState.GRANTED, ApprovalEvent.TIME_OUT): ApprovalState.EXPIRED,
}
"""A grant that can no longer be used, because something that it was bound to has changed, is expired."""


def advance(state: ApprovalState | str, event: ApprovalEvent) -> ApprovalState | None:
    """Return the next state, or None when the event is not possible in this one."""
    return TRANSITIONS.get((ApprovalState(state), event))


def binding(
    *,
    key: str,
    arguments: bytes,
    contract: str,
    policy_version: str,
    asker: str = "",
    run: str = "",
    taint: str = "",
    files: Mapping[str, str] | None = None,
) -> str:
    """Return the digest that ties an approval to exactly one call: who asks for it and in which run, its
    arguments, contract and policy, what the run had read, and the content of the files that it names.
    """
    named = [[name, mark] for name, mark in sorted((files or {}).items())]
    return digest(["approval", key, arguments.decode(), contract, policy_version, asker, run, taint, named])
