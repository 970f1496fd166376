"""A run's events told call by call: one record with all that is known of a call, in the events' names."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from gerbang.values.record import CallState, EventRow

NAMES: Final[dict[str, Any]] = {
    "run_id": "",
    "step_id": "",
    "call_id": "",
    "agent_id": None,
    "user": "",
    "tool_name": "",
    "risk_class": "",
    "input_hash": "",
    "input_redacted": "",
    "policy_decision": "",
    "policy_version": "",
    "contract": "",
    "approval_id": None,
    "approver": None,
    "attempt": 0,
    "started_at": 0.0,
    "finished_at": 0.0,
    "status": "",
    "error_code": "",
    "output_hash": "",
    "cost_units": 0.0,
    "latency_ms": 0.0,
}
"""What every record has, and what stands where nothing is known."""
ENDS: Final = frozenset(
    {"call.finished", "call.lost", "call.refused", "call.replayed", "call.resolved", "call.previewed"}
)
"""Kinds of event that say how a call ended. `call.lost` says that nobody knows, `call.resolved` how."""
_APPROVAL: Final = "approval."
_RESOLVED: Final = "call.resolved"
_SENT: Final = frozenset({"call.finished", "call.lost"})
_OF_FATE: Final = frozenset({_RESOLVED, "call.lost"})
"""Kinds of event whose reasons are not the decision's: they tell how somebody knows, or who has to look."""
_ONCE: Final = {"cost_units": 0.0, "latency_ms": 0.0}
_NOTHING: Final = "approval.attempted"
"""Somebody wanted to decide and could not: it says nothing of the call."""
_OF_APPROVAL: Final = frozenset({"state", "started_at", "finished_at", "error_code", "approver"})
_DECIDED: Final = frozenset({"approval.voted", "approval.granted", "approval.refused"})
"""Members that say something else in an event of an approval than in one of a call."""
_KEPT: Final = 4_096


class Calls:
    """Takes the events of one run in order, and gives a call's record when its end is told.

    Of calls that have no end yet the newest 4,096 are remembered, and as many of those whose fate nobody
    knows. `left()` gives the former. What resolves a call is told with all that was known of it.
    """

    def __init__(self) -> None:
        self._open: dict[str, dict[str, Any]] = {}
        self._unsure: dict[str, dict[str, Any]] = {}

    def take(self, event: EventRow) -> dict[str, Any] | None:
        """Take in an event; return the record of the call that it ends. Raises msgspec.MsgspecError."""
        asks = event.kind.startswith(_APPROVAL)
        if event.kind == _NOTHING or not (asks or event.kind.startswith("call.")):
            return None
        body: dict[str, Any] = msgspec.json.decode(event.body)
        name = str(body.get("call_id", ""))
        record = self._open.get(name)
        if record is None:
            record = _keep(self._open, name, dict(NAMES))
        if event.kind == _RESOLVED:  # how it ended is told anew, and its cost stands where it was sent
            record.update(self._unsure.pop(name, record) | {"error_code": "", "effect": "", **_ONCE})
        record["seq"], record["kind"] = event.seq, event.kind
        if event.kind in _OF_FATE and "reasons" in body:
            body["fate"] = body.pop("reasons")
        if asks:
            record["approval_state"] = body.get("state", "")
            record["policy_decision"] = record["policy_decision"] or "needs_approval"
            record["requested_at"] = body.get("started_at", 0.0)
            if body.get("approver") and event.kind in _DECIDED:
                record["approver"], record["approved_at"] = body["approver"], body.get("finished_at", 0.0)
            body = {key: value for key, value in body.items() if key not in _OF_APPROVAL}
        record.update({key: value for key, value in body.items() if value or key not in record})
        if event.kind in _SENT and record.get("state") == CallState.UNCERTAIN:
            _keep(self._unsure, name, dict(record))  # what became of it may be told later
        return self._open.pop(name) if event.kind in ENDS else None

    def left(self) -> Iterator[dict[str, Any]]:
        """Yield the records of calls whose end is not told."""
        yield from self._open.values()


def _keep(records: dict[str, dict[str, Any]], name: str, record: dict[str, Any]) -> dict[str, Any]:
    records[name] = record
    if len(records) > _KEPT:
        del records[next(iter(records))]
    return record


def calls_of(events: Iterable[EventRow]) -> Iterator[dict[str, Any]]:
    """Yield the records of a run's calls, as they end, then those that have no end."""
    calls = Calls()
    for event in events:
        record = calls.take(event)
        if record is not None:
            yield record
    yield from calls.left()
