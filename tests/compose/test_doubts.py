"""A person says what became of a call that nobody knew the fate of: once, on record, and it counts."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.audit.calls import calls_of
from gerbang.audit.receipts import receipt
from gerbang.errors import UsageError
from tests.cli.test_audit import command

BO = g.Principal("bo", roles={"ops"})
GO = threading.Event()
SENT: list[str] = []
POLICY = g.Policy.from_rules(
    [{"id": "pay", "match": {"tool": "bank.pay.v1"}, "decision": "allow", "reason": "OK", "auto": True}]
)


@g.tool(name="bank.pay.v1", risk="transactional", sensitive=["card"], cost_units=2)
async def pay(cents: int, card: str) -> str:
    """Pay. Returns what was paid."""
    SENT.append(card)
    if len(SENT) == 1:
        raise g.ToolError("The bank hung up.", error_type="transient_network_error", code="CONNECTION_RESET")
    return f"paid {cents}"


@g.tool(name="bank.pay.v1", risk="transactional", timeout_s=0.05)
def slow(cents: int, card: str) -> str:
    """Pay, in a thread. Returns what was paid."""
    GO.wait(30)
    return f"paid {cents}"


@pytest.fixture(autouse=True)
def _anew() -> None:
    SENT.clear()
    GO.clear()


async def _pay(gate: g.Gateway, run_id: str = "r") -> g.Result:
    return await gate.call("bank.pay.v1", {"cents": 5, "card": "4111-canary"}, run_id=run_id)


@pytest.mark.parametrize("happened", [True, False])
def test_what_a_person_says_counts(url: str, happened: bool) -> None:
    async def work() -> None:
        async with g.Gateway([pay], policy=POLICY, store=url) as gate:
            unsure = await _pay(gate)
            assert unsure.error is not None
            (doubt,) = await gate.uncertain()
            assert (doubt.run_id, doubt.tool, doubt.user, doubt.attempt) == ("r", "bank.pay.v1", "local", 1)
            assert (doubt.risk_class, doubt.error_code) == ("transactional", "CONNECTION_RESET")
            assert doubt.needs_a_person
            assert doubt.sent_at <= doubt.until
            assert json.loads(doubt.arguments) == {"cents": 5, "card": "[redacted]"}
            row = await gate.resolve("r", doubt.call_id, happened=happened, by=BO, reason="I asked the bank")
            assert row.state == ("RESOLVED_SUCCEEDED" if happened else "RESOLVED_FAILED")
            assert await gate.uncertain() == []
            with pytest.raises(UsageError, match="in doubt"):
                await gate.resolve("r", happened=not happened, by=BO)
            again = await _pay(gate)
            assert (again.status, again.replayed, len(SENT)) == ("ok", happened, 1 if happened else 2)
            if happened:
                assert again.value == {"happened": True, "said_by": "bo", "note": "I asked the bank"}
            events = await gate.store.events("r")
            (said,) = [json.loads(event.body) for event in events if event.kind == "call.resolved"]
            assert (said["by"], said["by_roles"], said["reason"]) == ("bo", ["ops"], "I asked the bank")
            assert said["reasons"] == ["SAID_BY_PERSON"]

    asyncio.run(work())


def test_its_record_tells_the_whole_call_and_what_it_cost_once() -> None:
    async def work() -> None:
        async with g.Gateway([pay], policy=POLICY) as gate:
            await _pay(gate)
            await gate.resolve("r", happened=True, by=BO)
            sent, said = calls_of(await gate.store.events("r"))
        assert (sent["state"], said["state"]) == ("UNCERTAIN", "RESOLVED_SUCCEEDED")
        for name in ("risk_class", "contract", "input_hash", "input_redacted", "policy_decision", "user"):
            assert said[name] == sent[name] != ""
        assert (sent["cost_units"], said["cost_units"]) == (2, 0)
        assert (said["status"], said["error_code"], said["effect"]) == ("success", "", "happened")
        made = receipt(said, "a" * 64, model="", store="s", environment="dev", version="1")
        assert (made["policy"]["decision"], made["execution"]["status"]) == ("allow", "success")

    asyncio.run(work())


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"by": g.Principal("bo", "other")}, "no run"),
    ({"by": g.Principal("bo", agent="bot")}, "not an agent"),
    ({"call_id": "call_none"}, "in doubt"),
    ({"run_id": "none"}, "no run"),
    ({"happened": "yes"}, "True or False"),
]


@pytest.mark.parametrize(("change", "text"), WRONG, ids=[text for _, text in WRONG])
def test_what_is_not_taken(change: dict[str, Any], text: str) -> None:
    async def work() -> None:
        async with g.Gateway([pay], policy=POLICY) as gate:
            await _pay(gate)
            given: dict[str, Any] = {"run_id": "r", "call_id": None, "happened": True, "by": BO, **change}
            with pytest.raises(UsageError, match=text):
                await gate.resolve(given.pop("run_id"), given.pop("call_id"), **given)
            assert [row.state for row in await gate.store.calls("r")] == ["UNCERTAIN"]

    asyncio.run(work())


def test_while_it_is_at_work_nobody_can_say_that_it_has_not_happened() -> None:
    async def work() -> None:
        async with g.Gateway([slow], policy=POLICY) as gate:
            await _pay(gate)
            with pytest.raises(UsageError, match="at work"):
                await gate.resolve("r", happened=False, by=BO)
            GO.set()
            while [row.state for row in await gate.store.calls("r")] != ["RESOLVED_SUCCEEDED"]:
                await asyncio.sleep(0.01)  # what came of it is known by itself
            with pytest.raises(UsageError, match="in doubt"):
                await gate.resolve("r", happened=True, by=BO)

    asyncio.run(work())


def test_two_who_say_it_at_once_do_not_both_count() -> None:
    async def work() -> None:
        async with g.Gateway([pay], policy=POLICY) as gate:
            await _pay(gate)
            said = await asyncio.gather(
                *(gate.resolve("r", happened=word, by=BO) for word in (True, False)), return_exceptions=True
            )
            assert [isinstance(one, UsageError) for one in said].count(True) == 1
            kinds = [event.kind for event in await gate.store.events("r")]
            assert kinds.count("call.resolved") == 1

    asyncio.run(work())


def test_on_the_command_line(tmp_path: Path) -> None:
    store = ("--store", "sqlite:d.db")

    async def work() -> None:
        async with g.Gateway([pay], policy=POLICY, store=f"sqlite:{tmp_path / 'd.db'}") as gate:
            await _pay(gate, "paid")

    asyncio.run(work())
    listed = command(tmp_path, "runs", "uncertain", "--json", *store)
    (doubt,) = listed.json
    assert (listed.code, doubt["run_id"], doubt["needs_a_person"]) == (0, "paid", True)
    assert "4111" not in command(tmp_path, "runs", "uncertain", *store).out
    unsaid = command(tmp_path, "runs", "resolve", "paid", *store)
    assert (unsaid.code, "--happened or --not-happened" in unsaid.err) == (2, True)
    done = command(
        tmp_path, "runs", "resolve", "pa", doubt["call_id"], "--happened", "--as", "bo", "--json", *store
    )
    assert (done.code, done.json["state"], done.json["by"]) == (0, "RESOLVED_SUCCEEDED", "bo")
    assert command(tmp_path, "runs", "resolve", "paid", "--happened", *store).code == 2
    assert "by=bo" in command(tmp_path, "runs", "show", "paid", *store).out
    assert command(tmp_path, "audit", "verify", *store).code == 0
