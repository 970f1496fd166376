"""What the replay of policies reads out of a run's records."""

from typing import Any

import orjson

from gerbang.cli.policy_records import recorded
from gerbang.values.record import CallRow, CallState, EventRow, RunRow

RUN = RunRow("r1", "acme", "ana", "completed", 100.0, 200.0)


def event(seq: int, kind: str, **body: Any) -> EventRow:
    return EventRow("r1", seq, kind, orjson.dumps(body), b"")


def row(call: str, state: CallState) -> CallRow:
    return CallRow(f"k{call}", "r1", "step_001", 0, call, "a.b.v1", state, "f", arguments=b'{"n":5}')


def call(seq: int, kind: str, name: str, decision: str, **body: Any) -> EventRow:
    known = {"step_id": "step_001", "tool_name": "a.b.v1", "risk_class": "read_external", "reasons": ["R"]}
    return event(seq, kind, call_id=name, policy_decision=decision, **{**known, **body})


def test_records_that_kept_nothing_are_put_together() -> None:
    events = [
        event(1, "run.started", purpose="support", intent="look"),
        call(
            2,
            "call.dispatched",
            "c1",
            "approved_by_policy",
            started_at=5.0,
            repaired=True,
            process="p",
            roles=["ops"],
            facts={"size": 3},
        ),
        call(3, "call.finished", "c1", "", reasons=[], state="SUCCEEDED"),
        call(4, "approval.requested", "c2", "", risk_class="draft"),
        call(5, "call.dispatched", "c2", "approved_by_person"),
        call(6, "call.refused", "c3", "denied_by_policy", finished_at=7.0),
        call(7, "call.refused", "c4", "refused", reasons=[]),
        call(8, "call.refused", "c5", "denied_by_policy", risk_class=""),
        call(9, "approval.requested", "c6", "", risk_class="draft"),
    ]
    rows = [row("c1", CallState.SUCCEEDED), row("c2", CallState.UNCERTAIN), row("c6", CallState.PLANNED)]
    one, two, three, five, six = recorded(RUN, events, rows)
    assert (one.decision, one.status, one.arguments, one.whole) == ("allow", "running", {"n": 5}, False)
    assert one.record is not None
    assert one.record["actor"] == {
        "user": "ana",
        "tenant": "acme",
        "agent": None,
        "roles": ["ops"],
        "scopes": [],
    }
    assert one.record["facts"] == {"size": 3}
    assert (one.record["purpose"], one.record["time"], one.record["repaired"]) == ("support", 5.0, True)
    assert one.record["taint"] == {"run": False}
    assert (two.decision, two.status, two.since) == ("ask", "running", ((0, "ok"),))
    assert (three.decision, three.status, three.arguments) == ("deny", None, None)
    assert three.record is not None
    assert three.whole is False
    assert three.record["taint"] == {"run": True}
    assert five.record is None
    assert (six.decision, six.status, six.arguments) == ("ask", None, {"n": 5})
