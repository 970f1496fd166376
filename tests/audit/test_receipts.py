"""Receipts verify at the highest level of the format, and its own scenarios come out right at our gate."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from agentboundary import _schema  # type: ignore[import-untyped]
from agentboundary.conformance import check_conformance  # type: ignore[import-untyped]
from agentboundary.runtime import Implementation, RuntimeOutcome, _apply_inject  # type: ignore[import-untyped]
from agentboundary.validator import validate_receipt  # type: ignore[import-untyped]

import gerbang as g
from gerbang import __version__
from gerbang.audit.calls import calls_of
from gerbang.audit.receipts import hash_of, receipt
from gerbang.values.record import CallRow

SCENARIOS = sorted((Path(_schema.__file__).parent / "_data" / "scenarios").glob("*.yaml"))
HIGHEST = 3
"""The package's level 4 checks nothing yet; see below for what its drafts say of it."""
_RULES = {"allow": "allow", "deny": "deny", "require-approval": "ask", "escalate": "ask"}


@g.tool(name="github.merge", risk="write_external")
def merge(ref: str, sha: str) -> str:
    """Merge a commit. Returns `done`."""
    return "done"


@g.tool(name="spring.service.mutation", risk="write_external")
def mutate(claim_id: int, status: str, payout_cents: int) -> str:
    """Change a claim. Returns `done`."""
    return "done"


@g.tool(name="stripe.refund", risk="write_external")
def refund(charge_id: str, amount_cents: int, reason: str) -> str:
    """Pay a charge back. Returns `done`."""
    return "done"


async def at_the_gate(action: dict[str, Any], setup: dict[str, Any]) -> RuntimeOutcome:
    """Make the scenario's action a call of ours, and the record of the call a receipt."""
    capability, arguments = action["tool"]["capability"], action["arguments"]

    rules = [
        {
            "id": policy["name"],
            "match": {"tool": policy["capabilities"]},
            "decision": _RULES[policy["rule"]],
            "reason": "SCENARIO",
        }
        for policy in setup["policies"]
    ]
    who = g.Principal("ana", agent=action["actor"]["id"])
    async with g.Gateway([merge, mutate, refund], policy=g.Policy.from_rules(rules)) as gate:
        result = await gate.call(capability, arguments, principal=who, run_id="r")
        for approval in setup.get("approvals", ()):
            assert result.approval_id is not None
            await gate.approve(result.approval_id, by=g.Principal(approval["approver"]["id"]))
            result = await gate.call(capability, arguments, principal=who, run_id="r")
        rows = {row.call_id: row for row in await gate.store.calls("r")}
        made = [made_of(call, rows) for call in calls_of(await gate.store.events("r"))]
    decision = {"ok": "allow", "pending": "escalate", "error": "deny"}[result.status]
    found = made[-1]
    assert found is not None
    return RuntimeOutcome(decision, found, arguments)


def made_of(call: dict[str, Any], rows: dict[str, CallRow]) -> dict[str, Any] | None:
    row = rows.get(call["call_id"])
    code = call.get("arguments_hash") or (None if row is None else hash_of(orjson.loads(row.arguments)))
    if code is None:
        return None
    return receipt(call, code, model="m", store="s", environment="prod", version=__version__)


class OurGate(Implementation):  # type: ignore[misc]
    def attempt(self, action: dict[str, Any], *, setup: dict[str, Any]) -> RuntimeOutcome:
        outcome = asyncio.run(at_the_gate(action, setup))
        made = outcome.receipt
        for change in action.get("inject", ()):
            made = _apply_inject(made or {}, change)
        return RuntimeOutcome(outcome.decision, made, outcome.arguments)


def value_at(receipt: dict[str, Any], path: str) -> Any:
    found: Any = receipt
    for part in path.split("."):
        found = found[part]
    return found


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_of_the_format(path: Path) -> None:
    scenario = yaml.safe_load(path.read_text("utf-8"))
    expect = scenario["expect"]
    outcome = OurGate().attempt(scenario["action"], setup=scenario["setup"])
    assert outcome.receipt is not None
    assert (validate_receipt(outcome.receipt) == []) == expect["receipt_must_validate"]
    if "decision" in expect:
        assert outcome.decision == expect["decision"]
    checks = check_conformance(outcome.receipt, HIGHEST, arguments=outcome.arguments)
    failed = {check.code for check in checks if check.severity == "fail"}
    assert failed >= set(expect.get("failures_must_include", ()))
    if "failures_must_include" not in expect:
        assert failed == set()
        for wanted in expect.get("assertions", ()):
            assert value_at(outcome.receipt, wanted["field"]) == wanted["equals"]


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 10


@g.tool(name="bank.pay.v1", risk="transactional")
def pay(to: str, amount: float) -> str:
    """Pay. Returns `paid`."""
    if to == "nobody":
        raise RuntimeError("no such account")
    return "paid"


PAY = g.Policy.from_rules(
    [
        {
            "id": "eve",
            "match": {"tool": "bank.pay.v1", "arguments": {"to": "eve"}},
            "decision": "deny",
            "reason": "NOT_HER",
        },
        {"id": "pay", "match": {"tool": "bank.pay.v1"}, "decision": "ask", "reason": "PAYMENT"},
    ]
)
WAYS: list[tuple[str, str, str, str, str]] = [
    ("granted", "ana", "require-approval", "success", ""),
    ("granted, and it fails", "nobody", "require-approval", "failure", "INTERNAL"),
    ("granted, changed", "ana", "require-approval", "success", ""),
    ("granted, made again", "ana", "escalate", "blocked", "REPLAYED"),
    ("refused", "ana", "escalate", "blocked", "APPROVER_REFUSED"),
    ("waits", "ana", "escalate", "blocked", ""),
    ("denied", "eve", "deny", "blocked", "NOT_HER"),
]
"""What becomes of a payment, to whom, and what its last receipt says: decision, execution, error."""


async def pay_in(gate: g.Gateway, way: str, to: str) -> None:
    async def call() -> g.Result:
        return await gate.call("bank.pay.v1", {"to": to, "amount": 50.0}, run_id="r")

    waiting = await call()
    if waiting.approval_id is None:
        return
    boss = g.Principal("boss")
    if way.startswith("granted"):
        other = {"to": to, "amount": 49.5} if "changed" in way else None
        await gate.approve(waiting.approval_id, by=boss, arguments=other)
        await call()
    if "again" in way:
        await call()
    if way == "refused":
        await gate.refuse(waiting.approval_id, by=boss)
        await call()


@pytest.mark.parametrize(("way", "to", "decision", "status", "code"), WAYS, ids=[one[0] for one in WAYS])
def test_receipts_do_not_contradict_themselves(
    way: str, to: str, decision: str, status: str, code: str
) -> None:
    """What the drafts of the next version call level 4, as far as one emitter's receipts show it."""

    async def work() -> None:
        async with g.Gateway([pay], policy=PAY) as gate:
            await pay_in(gate, way, to)
            rows = {row.call_id: row for row in await gate.store.calls("r")}
            found = [made_of(call, rows) for call in calls_of(await gate.store.events("r"))]
            version = gate.policy.version
        made = [one for one in found if one is not None]
        assert len(made) == len(found)
        last = made[-1]
        assert (last["policy"]["decision"], last["execution"]["status"]) == (decision, status)
        assert last["execution"].get("error_code", "") == code
        for one in made:
            assert check_conformance(one, HIGHEST) == check_conformance(made[0], HIGHEST)
            assert one["execution"]["completed_at"] >= one["issued_at"] > "2026"
            if one["policy"]["decision"] in ("deny", "escalate"):
                assert one["execution"]["status"] == "blocked"
            if one["policy"]["decision"] == "require-approval":
                assert one["approval"]["approver"]["id"] == "boss"
                assert one["approval"]["approved_at"] <= one["issued_at"]
            assert one["policy"]["version"] == version
        assert len({one["receipt_id"] for one in made}) == len(made)
        assert [one["execution"]["status"] for one in made].count("success") <= 1
        executed = 49.5 if "changed" in way else 50  # a canonical text has no 50.0
        if decision != "escalate":
            assert last["arguments_hash"] == hash_of({"to": to, "amount": executed})

    asyncio.run(work())
