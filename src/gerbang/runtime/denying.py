"""When a run has been refused as a whole: nothing that it asked for may run, and it has nothing to say."""

from collections.abc import Iterable, Sequence
from typing import Final

from gerbang.runtime.stored import read_stored
from gerbang.values import CallError, Result
from gerbang.values.record import CallRow, CallState, RunState

KILLED: Final = "A kill switch stops every call of the run (KILL_SWITCH)."
"""What is said of a run that a switch on `all`, or on its tenant, has ended."""
_FOR_GOOD: Final = frozenset({"permission_denied", "policy_denied", "approval_denied", "approval_expired"})
_BEFORE_IT_RAN: Final = _FOR_GOOD | {
    "parse_error",
    "unknown_tool",
    "validation_error",
    "semantic_error",
    "rate_limited",
    "budget_exceeded",
}
_NEVER_SENT: Final = frozenset({CallState.PLANNED, CallState.CANCELLED, CallState.REFUSED})


def refused_for_good(results: Sequence[Result]) -> bool:
    """Tell whether policy, permissions or people refused every call of an answer, and there was one."""
    return bool(results) and all(
        result.error is not None and result.error.error_type in _FOR_GOOD for result in results
    )


def ended_as(result: Result) -> RunState:
    """Return how a run of one call ends with this result of it."""
    if result.error is None:
        return RunState.COMPLETED
    if result.error.error_type == "budget_exceeded":
        return RunState.BUDGET
    return RunState.DENIED if refused_for_good((result,)) else RunState.FAILED


def any_ran(results: Iterable[Result]) -> bool:
    """Tell whether a call was let through: it ran, or waits for a person."""
    return any(result.error is None or _ran(result.error) for result in results)


def any_sent(rows: Iterable[CallRow]) -> bool:
    """Tell the same of calls that are on record."""
    return any(row.state not in _NEVER_SENT and _row_ran(row) for row in rows)


def killed(results: Iterable[Result]) -> bool:
    """Tell whether a kill switch stopped a call."""
    return any(result.error is not None and result.error.error_code == "KILL_SWITCH" for result in results)


def _row_ran(row: CallRow) -> bool:
    error = read_stored(row.result)[1] if row.result else None
    return error is None or _ran(error)


def _ran(error: CallError) -> bool:
    return error.effect != "none" or error.error_type not in _BEFORE_IT_RAN
