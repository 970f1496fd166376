"""What is exported of a call whose fate nobody knew: why it was allowed stays, and that it was sent."""

from typing import Any

import msgspec
import pytest

from gerbang.audit.calls import calls_of
from gerbang.audit.receipts import receipt
from gerbang.values.record import EventRow

NAMES = {"run_id": "r", "step_id": "step_001", "call_id": "c", "tool_name": "bank.pay.v1"}
SENT = ("call.dispatched", {"policy_decision": "approved_by_policy", "reasons": ["SMALL"], "attempt": 1})
LOST = (
    "call.lost",
    {"state": "UNCERTAIN", "status": "error", "error_code": "EFFECT_UNKNOWN", "reasons": ["NEEDS_A_PERSON"]},
)
AGAIN = ("call.refused", {"policy_decision": "refused", "error_code": "EFFECT_UNKNOWN", "reasons": ["SMALL"]})
PROBED = ("call.resolved", {"state": "RESOLVED_SUCCEEDED", "status": "success", "reasons": ["PROBED"]})
ASKED = ["NEEDS_A_PERSON"]

CASES: list[tuple[str, list[Any], list[tuple[Any, ...]]]] = [
    ("lost", [SENT, LOST], [("approved_by_policy", ["SMALL"], ASKED, "failure", "EFFECT_UNKNOWN")]),
    (
        "asked for again",
        [SENT, LOST, AGAIN],
        [
            ("approved_by_policy", ["SMALL"], ASKED, "failure", "EFFECT_UNKNOWN"),
            ("refused", ["SMALL"], None, "blocked", "EFFECT_UNKNOWN"),
        ],
    ),
    (
        "found out",
        [SENT, LOST, PROBED],
        [
            ("approved_by_policy", ["SMALL"], ASKED, "failure", "EFFECT_UNKNOWN"),
            ("approved_by_policy", ["SMALL"], ["PROBED"], "success", None),
        ],
    ),
]


@pytest.mark.parametrize(("told", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_records_and_receipts(told: list[Any], wanted: list[tuple[Any, ...]]) -> None:
    events = [
        EventRow("r", seq, kind, msgspec.json.encode(NAMES | body), b"")
        for seq, (kind, body) in enumerate(told, 1)
    ]
    found = []
    for call in calls_of(events):
        ended = receipt(call, "0" * 64, store="s", model="", environment="dev", version="0")["execution"]
        decided = (call["policy_decision"], call["reasons"], call.get("fate"))
        found.append((*decided, ended["status"], ended.get("error_code")))
    assert found == wanted
