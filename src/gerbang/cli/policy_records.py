"""Recorded runs as the replay of policies needs them: what was decided on each call, and on what."""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from gerbang.policy.history import CallStatus
from gerbang.policy.replay import Recorded
from gerbang.values.record import CallRow, CallState, EventRow, RunRow

_DECIDED: Final = {
    "approved_by_policy": "allow",
    "approved_by_person": "ask",
    "needs_approval": "ask",
    "denied_by_policy": "deny",
}
_STATUS: Final[dict[str, CallStatus]] = {
    CallState.SUCCEEDED: "ok",
    CallState.RESOLVED_SUCCEEDED: "ok",
    CallState.FAILED: "error",
    CallState.RESOLVED_FAILED: "error",
    CallState.UNCERTAIN: "uncertain",
    CallState.DISPATCHED: "running",
}
_READS_OUTSIDE: Final = "read_external"


def recorded(run: RunRow, events: Iterable[EventRow], calls: Iterable[CallRow]) -> list[Recorded]:
    """Return the calls of a run on which policy decided, in the order of the decisions.

    What policy saw is put together from the run, its events and its calls. Calls that were not run have no
    roles, scopes and facts on record: those are taken to be empty, and `whole` says so.
    """
    rows = {(row.step_id, row.call_id): row for row in calls}
    started: dict[str, Any] = {}
    found: dict[tuple[str, str], Recorded] = {}
    outside = False
    for event in events:
        body = orjson.loads(event.body)
        if event.kind == "run.started":
            started = body
            continue
        place = (body.get("step_id", ""), body.get("call_id", ""))
        decision = _DECIDED.get(body.get("policy_decision", ""))
        if decision is None or place in found or not body.get("reasons"):
            continue
        row = rows.get(place)
        whole = _kept(row, body)
        status = None if row is None else _STATUS.get(row.state)
        found[place] = Recorded(
            run.run_id,
            place[1],
            body["tool_name"],
            decision,
            tuple(body["reasons"]),
            whole or _put_together(run, started, body, outside),
            None if row is None else orjson.loads(row.arguments),
            status,
            whole is not None or bool(body.get("process")),
        )
        outside = outside or (status == "ok" and body.get("risk_class") == _READS_OUTSIDE)
    return list(found.values())


def _kept(row: CallRow | None, body: dict[str, Any]) -> dict[str, Any] | None:
    kept = getattr(row, "policy_input", b"")
    if kept:
        record: dict[str, Any] = orjson.loads(kept)
        return record
    said = body.get("policy_input")
    return said if isinstance(said, dict) else None


def _put_together(
    run: RunRow, started: dict[str, Any], body: dict[str, Any], outside: bool
) -> dict[str, Any] | None:
    if not body.get("risk_class"):
        return None
    return {
        "tool": {
            "name": body["tool_name"],
            "risk_class": body["risk_class"],
            "contract": body.get("contract", ""),
        },
        "actor": {
            "user": run.user,
            "tenant": run.tenant,
            "agent": body.get("agent_id"),
            "roles": body.get("roles", []),
            "scopes": body.get("scopes", []),
        },
        "facts": body.get("facts", {}),
        "purpose": started.get("purpose"),
        "intent": started.get("intent"),
        "run": {"id": run.run_id, "step": body.get("step_id", "")},
        "taint": {"run": outside},
        "time": body.get("started_at") or body.get("finished_at") or run.started_at,
        "repaired": body.get("repaired", False),
        "coerced": bool(body.get("coerced")),
    }
