"""A call that waits in the store until somebody decides: once, for exactly what they saw."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ManualClock
from tests.runtime.street import ALLOW_ALL, Effects, bodies, code, endings, run, toolbox

BOSS = g.Principal(user="boss")
DAY_S = 86_400


async def send(gate: g.Gateway, step: int = 1, to: str = "ana", **options: Any) -> g.Result:
    return await gate.call("mail.send.v1", {"to": to}, run_id="r", step_id=step, **options)


def test_pending_then_approved_then_run_once(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            waiting = await send(gate)
            assert (waiting.status, waiting.value, waiting.error) == ("pending", None, None)
            assert waiting.approval_id is not None
            assert "approval" in waiting.for_model
            again = await send(gate)
            assert (again.status, again.approval_id) == ("pending", waiting.approval_id)
            assert effects.log == []
            approval = await gate.approve(waiting.approval_id, by=BOSS)
            assert (approval.state, approval.decided_by) == ("granted", "boss")
            assert effects.log == []
            done = await send(gate)
            assert (done.status, done.value, done.approval_id) == ("ok", "sent to ana", waiting.approval_id)
            assert (await send(gate)).replayed
            used = await gate.store.approval(waiting.approval_id)
            assert used is not None
            assert (used.state, used.decided_by, used.decided_at) == ("used", "boss", approval.decided_at)
            records = await bodies(gate.store, "r")
            assert [record["kind"] for record in records] == [
                "approval.requested",
                "approval.granted",
                "call.dispatched",
                "call.finished",
                "call.replayed",
            ]
            dispatched = records[2]
            assert dispatched["policy_decision"] == "approved_by_person"
            assert (dispatched["approval_id"], dispatched["approver"]) == (waiting.approval_id, "boss")

    run(work())
    assert effects.log == ["mail ana"]


def test_pending_then_refused(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            waiting = await send(gate)
            assert waiting.approval_id is not None
            await gate.refuse(waiting.approval_id, by=BOSS, reason="no mail today")
            result = await send(gate)
            assert code(result) == "APPROVER_REFUSED"
            assert "no mail today" in result.for_model
            assert code(await send(gate, 2)) == "APPROVER_REFUSED"
            assert len(await gate.store.approvals()) == 1

    run(work())
    assert effects.log == []


def test_pending_then_edited(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            waiting = await send(gate)
            assert waiting.approval_id is not None
            await gate.approve(waiting.approval_id, by=BOSS, arguments={"to": "bob"})
            result = await send(gate)
            assert result.value == "sent to bob"
            assert "bob" in result.for_model

    run(work())
    assert effects.log == ["mail bob"]


def test_a_decision_is_made_once(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            waiting = (await send(gate)).approval_id
            assert waiting is not None
            await gate.approve(waiting, by=BOSS)
            for decide in (gate.approve, gate.refuse):
                with pytest.raises(g.UsageError, match="already"):
                    await decide(waiting, by=BOSS)
            await send(gate)
            with pytest.raises(g.UsageError, match="already"):
                await gate.approve(waiting, by=BOSS)

    run(work())


def test_only_the_own_tenant_decides(url: str) -> None:
    async def work() -> None:
        acme = g.Principal(user="ana", tenant="acme")
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            waiting = (await send(gate, principal=acme)).approval_id
            assert waiting is not None
            for decide in (gate.approve, gate.refuse):
                with pytest.raises(g.UsageError, match="no approval"):
                    await decide(waiting, by=g.Principal(user="ana", tenant="evil"))
                with pytest.raises(g.UsageError, match="no approval"):
                    await decide("apr_none", by=acme)
            row = await gate.store.approval(waiting)
            assert row is not None
            assert row.state == "pending"

    run(work())


@pytest.mark.parametrize("granted", [False, True], ids=["pending", "granted"])
def test_an_approval_expires(granted: bool, url: str) -> None:
    effects = Effects()
    clock = ManualClock()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, clock=clock) as gate:
            waiting = (await send(gate)).approval_id
            assert waiting is not None
            if granted:
                await gate.approve(waiting, by=BOSS)
            clock.advance(DAY_S)
            if not granted:
                with pytest.raises(g.UsageError, match="expired"):
                    await gate.approve(waiting, by=BOSS)
            result = await send(gate)
            assert code(result) == "APPROVAL_TIMEOUT"
            assert result.error is not None
            assert result.error.error_type == "approval_expired"
            row = await gate.store.approval(waiting)
            assert row is not None
            assert row.state == "expired"

    run(work())
    assert effects.log == []


def test_a_granted_call_still_runs_a_second_before_it_expires() -> None:
    effects = Effects()
    clock = ManualClock()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), clock=clock) as gate:
            waiting = (await send(gate)).approval_id
            assert waiting is not None
            await gate.approve(waiting, by=BOSS)
            clock.advance(DAY_S - 1)
            assert (await send(gate)).status == "ok"

    run(work())
    assert effects.log == ["mail ana"]


def test_a_changed_policy_makes_an_approval_stale(durable: str) -> None:
    effects = Effects()
    other = g.Policy.from_rules(
        [{"id": "any", "match": {"tool": "docs.*"}, "decision": "ask", "reason": "DOCS_ASK"}]
    )

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=durable) as gate:
            waiting = (await send(gate)).approval_id
            assert waiting is not None
            await gate.approve(waiting, by=BOSS)
        async with g.Gateway(tools=toolbox(effects), store=durable, policy=other) as gate:
            result = await send(gate)
            assert code(result) == "APPROVAL_STALE"
            assert await endings(gate.store, "r") == {result.call_id: 1}
            assert (await send(gate)).status == "pending"  # asked anew

    run(work())
    assert effects.log == []


def test_a_changed_contract_makes_an_approval_stale(durable: str) -> None:
    effects = Effects()

    @g.tool(name="mail.send.v1", risk="external_communication")
    async def to_everybody(to: str, text: str = "") -> str:
        """Send a mail to everybody."""
        effects("everybody")
        return "sent"

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=durable) as gate:
            waiting = (await send(gate)).approval_id
            assert waiting is not None
            await gate.approve(waiting, by=BOSS)
        async with g.Gateway(tools=[to_everybody], store=durable) as gate:
            assert code(await send(gate)) == "APPROVAL_STALE"

    run(work())
    assert effects.log == []


def test_what_the_policy_denies_now_is_denied_though_it_was_approved(durable: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=durable) as gate:
            waiting = (await send(gate)).approval_id
            assert waiting is not None
            await gate.approve(waiting, by=BOSS)
        async with g.Gateway(
            tools=toolbox(effects), store=durable, policy=g.Policy.shipped("read-only")
        ) as gate:
            assert code(await send(gate)) == "READ_ONLY"
        async with g.Gateway(tools=toolbox(effects), store=durable, policy=None) as gate:
            assert code(await send(gate)) == "NO_POLICY"

    run(work())
    assert effects.log == []


def test_an_approval_is_for_its_very_arguments(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            waiting = (await send(gate)).approval_id
            assert waiting is not None
            await gate.approve(waiting, by=BOSS)
            assert code(await send(gate, to="eve")) == "KEY_REUSED"
            assert (await send(gate, 2, to="eve")).status == "pending"

    run(work())
    assert effects.log == []


def test_a_pending_call_survives_a_restart(durable: str, tmp_path: Path) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=durable) as gate:
            waiting = (await send(gate)).approval_id
            assert waiting is not None
        async with g.Gateway(tools=[], store=durable) as clerk:
            (found,) = await clerk.store.approvals(state="pending")
            assert found.approval_id == waiting
            assert "ana" in found.preview
            await clerk.approve(waiting, by=BOSS)
        async with g.Gateway(tools=toolbox(effects), store=durable) as gate:
            assert (await send(gate)).value == "sent to ana"

    run(work())
    assert effects.log == ["mail ana"]


def test_transactional_asks_even_when_a_rule_allows_everything(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=ALLOW_ALL) as gate:
            result = await gate.call("bank.transfer.v1", {"invoice": "7", "amount": 5})
            assert result.status == "pending"
            assert result.decision is not None
            assert result.decision.reasons[0] == "FLOOR_TRANSACTIONAL"

    run(work())
    assert effects.log == []


@pytest.mark.parametrize("approved_first", [False, True], ids=["asked at once", "approved before"])
def test_one_approval_is_one_effect_though_the_call_is_made_at_once_again(
    approved_first: bool, url: str
) -> None:
    effects = Effects()
    asked: list[str] = []

    async def approver(request: g.ApprovalRequest) -> bool:
        asked.append(request.approval_id)
        for _ in range(5):
            await asyncio.sleep(0)
        return True

    async def work() -> None:
        chosen = None if approved_first else approver
        async with g.Gateway(tools=toolbox(effects), store=url, approver=chosen) as gate:
            if approved_first:
                waiting = (await send(gate)).approval_id
                assert waiting is not None
                await gate.approve(waiting, by=BOSS)
            results = await asyncio.gather(*(send(gate) for _ in range(4)))
            assert effects.log == ["mail ana"]
            assert [result.value for result in results] == ["sent to ana"] * 4
            assert sum(not result.replayed for result in results) == 1

    run(work())
    assert len(asked) == (0 if approved_first else 1)
