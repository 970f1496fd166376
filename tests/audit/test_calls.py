"""What the record of a call says, whatever became of it: every member that is known has its value."""

import asyncio
import json
from typing import Any

import pytest

import gerbang as g
from gerbang.audit.calls import calls_of

ALWAYS = ("run_id", "step_id", "call_id", "user", "tool_name", "risk_class", "policy_decision", "status")
OF_VALID = ("contract", "policy_version", "input_hash", "input_redacted", "started_at", "finished_at")


@g.tool(name="bank.pay.v1", risk="transactional", natural_key=("invoice",))
async def pay(invoice: str, cents: int) -> str:
    """Pay an invoice. Returns `paid`."""
    return "paid"


ANA, BO, EVE = g.Principal("ana"), g.Principal("bo", roles={"boss"}), g.Principal("eve", roles={"clerk"})
ARGUMENTS = {"invoice": "7", "cents": 500}


async def _granted(gate: g.Gateway) -> None:
    waiting = await gate.call("bank.pay.v1", ARGUMENTS, run_id="first", principal=ANA)
    assert waiting.approval_id is not None
    await gate.approve(waiting.approval_id, by=BO)
    for _ in range(2):  # neither says anything of the call
        with pytest.raises(g.UsageError):
            await gate.approve(waiting.approval_id, by=EVE)
    await gate.call("bank.pay.v1", ARGUMENTS, run_id="first", principal=ANA)


async def _again(gate: g.Gateway) -> None:
    await _granted(gate)
    assert (await gate.call("bank.pay.v1", ARGUMENTS, run_id="r", principal=ANA)).replayed


async def _reused(gate: g.Gateway) -> None:
    await _granted(gate)
    await gate.call("bank.pay.v1", ARGUMENTS | {"cents": 1}, run_id="r", principal=ANA)


async def _refused(gate: g.Gateway) -> None:
    waiting = await gate.call("bank.pay.v1", ARGUMENTS, run_id="r", principal=ANA)
    assert waiting.approval_id is not None
    await gate.refuse(waiting.approval_id, by=BO)
    await gate.call("bank.pay.v1", ARGUMENTS, run_id="r", principal=ANA)


async def _refused_again(gate: g.Gateway) -> None:
    await _refused(gate)
    await gate.call("bank.pay.v1", ARGUMENTS, run_id="r", principal=ANA)


WAYS: list[tuple[Any, dict[str, Any]]] = [
    (_again, {"kind": "call.replayed", "policy_decision": "approved_by_person", "status": "success"}),
    (_reused, {"kind": "call.refused", "error_code": "KEY_REUSED", "status": "error"}),
    (_refused, {"kind": "call.refused", "error_code": "APPROVER_REFUSED", "approver": "bo"}),
    (
        _refused_again,
        {"kind": "call.refused", "error_code": "APPROVER_REFUSED", "policy_decision": "refused"},
    ),
]


async def _records(gate: g.Gateway, run_id: str) -> list[dict[str, Any]]:
    return list(calls_of(await gate.store.events(run_id)))


@pytest.mark.parametrize(("way", "want"), WAYS, ids=[way.__name__ for way, _ in WAYS])
def test_a_call_that_did_not_run_has_a_whole_record(way: Any, want: dict[str, Any]) -> None:
    async def work() -> None:
        async with g.Gateway([pay]) as gate:
            await way(gate)
            last = (await _records(gate, "r"))[-1]
            assert {key: last[key] for key in want} == want
            missing = [key for key in (*ALWAYS, *OF_VALID) if not last[key]]
            assert missing == []
            if last["kind"] == "call.replayed":
                assert last["output_hash"]
                assert last["cost_units"] == 0  # it was paid for when it ran

    asyncio.run(work())


def test_who_approved_and_when_is_not_what_somebody_tried_later() -> None:
    async def work() -> None:
        async with g.Gateway([pay]) as gate:
            await _granted(gate)
            events = {event.kind: event for event in await gate.store.events("first")}
            assert "approval.attempted" in events
            (record,) = await _records(gate, "first")
            approval = await gate.store.approval(record["approval_id"])
            assert approval is not None
            assert (record["approver"], record["approver_roles"]) == ("bo", ["boss"])
            assert record["requested_at"] == approval.created_at
            assert record["requested_at"] <= record["approved_at"] <= record["started_at"]
            granted = json.loads(events["approval.granted"].body)
            assert record["approved_at"] == granted["finished_at"]

    asyncio.run(work())
