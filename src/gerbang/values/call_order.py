"""Which row of a call may be written over which: the ledger's table, held by the stores as well."""

from gerbang.values.record import FREE_STATES, CallRow, CallState

FOLLOWS = frozenset(
    {
        (CallState.PLANNED, CallState.DISPATCHED),
        (CallState.PLANNED, CallState.CANCELLED),
        (CallState.PLANNED, CallState.REFUSED),
        (CallState.DISPATCHED, CallState.DISPATCHED),
        (CallState.DISPATCHED, CallState.SUCCEEDED),
        (CallState.DISPATCHED, CallState.FAILED),
        (CallState.DISPATCHED, CallState.UNCERTAIN),
        (CallState.UNCERTAIN, CallState.RESOLVED_SUCCEEDED),
        (CallState.UNCERTAIN, CallState.RESOLVED_FAILED),
    }
)
"""Which state of a call's row may be written over which: the ledger's table, held by the stores as well.

A write that comes too late, from a process that knew an older row, stands against its whole batch.
"""


def follows(former: CallRow, row: CallRow) -> bool:
    """Tell whether a row may be written over the one that stands: of the same attempt, or of a later one."""
    if (former.state, row.state) not in FOLLOWS:
        return False
    return row.attempt == former.attempt or (
        row.state == CallState.DISPATCHED and row.attempt > former.attempt
    )


def frees(holder: CallRow, claim: CallRow) -> bool:
    """Tell whether the row that holds a key gives way to a claim.

    It does when its effect is known not to have happened, and when it only holds the key for the very
    approval that the claim uses: two users of one approval then meet here, and the second is refused.
    """
    if holder.state in FREE_STATES:
        return True
    held = holder.state == CallState.PLANNED and holder.approval_id is not None
    return held and claim.state == CallState.DISPATCHED and claim.approval_id == holder.approval_id
