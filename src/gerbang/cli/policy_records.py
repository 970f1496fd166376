"""Recorded runs as the replay of policies needs them: what was decided on each call, and on what."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from gerbang.audit.commitments import SALT_BYTES, Commitments
from gerbang.policy import basis
from gerbang.policy.history import CallStatus
from gerbang.policy.replay import Recorded
from gerbang.values.record import ERASED, CallRow, CallState, EventRow, RunRow

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
_ASKED: Final = {"approval.requested": "ask"}
_SENT: Final = "call.dispatched"
_MOVES: Final = frozenset({_SENT, "call.finished", "call.resolved"})
_READS_OUTSIDE: Final = "read_external"


def recorded(run: RunRow, events: Iterable[EventRow], calls: Iterable[CallRow]) -> list[Recorded]:
    """Return the calls of a run on which policy decided, in the order of the decisions.

    What policy saw is what was kept with the call. In records of earlier versions, which kept nothing, it is
    put together from the run, its events and its calls; then parts are guessed, and `whole` says so.
    """
    rows = _Rows(run, calls)
    told = [(event.kind, _place(body), body) for event in events if (body := msgspec.json.decode(event.body))]
    sent = {place for kind, place, _ in told if kind == _SENT}
    started: dict[str, Any] = {}
    found: dict[tuple[str, str, str], Recorded] = {}
    since: list[tuple[int, CallStatus]] = []
    places: dict[tuple[str, str], int] = {}
    outside = False
    for kind, place, body in told:
        if kind == "run.started":
            started = body
        if place in places and kind in _MOVES:
            status = _STATUS.get(body.get("state", ""))
            if status is not None:
                since.append((places[place], status))
                outside = outside or (status == "ok" and body.get("risk_class") == _READS_OUTSIDE)
            continue
        decision = _DECIDED.get(body.get("policy_decision", "")) or _ASKED.get(kind)
        denied = decision == "deny"
        name = (*place, str(body.get("input_hash", "")) if denied else "made")
        if decision is None or name in found or not body.get("reasons"):
            continue
        if kind in _ASKED and place in sent:
            continue  # it was decided on once more, when the approval was used: that is what is kept
        row = rows.of(place, denied, body)
        if not denied:
            places[place] = len(found)
        whole = rows.seen(row, body)
        found[name] = Recorded(
            run.run_id,
            place[1],
            body["tool_name"],
            decision,
            tuple(body["reasons"]),
            whole or _put_together(run, started, body, outside),
            None if row is None or run.salt == ERASED else msgspec.json.decode(row.arguments),
            "running" if kind == _SENT else None,
            whole is not None,
            tuple(since),
            place[0],
        )
        since.clear()
    return list(found.values())


def _place(body: dict[str, Any]) -> tuple[str, str]:
    return str(body.get("step_id", "")), str(body.get("call_id", ""))


class _Rows:
    """The rows of a run's calls by their place, and the facts of tools that were kept with one of them."""

    def __init__(self, run: RunRow, calls: Iterable[CallRow]) -> None:
        self._run = run
        self._marks = Commitments(run.salt) if len(run.salt) == SALT_BYTES else None
        self._made: dict[tuple[str, str], CallRow] = {}
        self._denied: dict[tuple[str, str], list[CallRow]] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        for row in calls:
            place = (row.step_id, row.call_id)
            if row.is_denial:
                self._denied.setdefault(place, []).append(row)
            else:
                self._made[place] = row
            kept = basis.read(row.policy_input)
            facts = None if kept is None else basis.tool_of(kept)
            if facts is not None:
                self._facts[str(facts.get("contract"))] = facts

    def of(self, place: tuple[str, str], denied: bool, body: dict[str, Any]) -> CallRow | None:
        """Return the row of the call that an event speaks of."""
        if not denied:
            return self._made.get(place)
        rows = self._denied.get(place, [])
        made = self._made.get(place)
        if not rows:  # denied when its approval was to be used: the row that held its key
            return made if made is not None and made.state == CallState.REFUSED else None
        if self._marks is None or not body.get("input_hash"):
            return rows[-1]
        return next((row for row in rows if self._marks.of(row.arguments) == body["input_hash"]), None)

    def seen(self, row: CallRow | None, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the document that policy decided on, None when it was not kept."""
        kept = None if row is None else basis.read(row.policy_input)
        facts = None if kept is None else self._facts.get(str(body.get("contract")))
        if kept is None or facts is None:
            return None
        return basis.record_of(kept, facts, self._run.user, self._run.tenant, self._run.run_id)


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
