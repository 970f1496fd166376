"""What an approval is good for: this person's call, this effect, once, whoever else shares the store."""

import asyncio

import pytest

import gerbang as g
from tests.runtime.street import code, run

BOSS = g.Principal(user="boss")


def shop() -> tuple[list[str], list[object]]:
    paid: list[str] = []

    @g.tool(name="invoice.pay.v1", risk="transactional", natural_key=("invoice",))
    async def pay(invoice: str, note: str = "") -> str:
        """Pay an invoice."""
        paid.append(f"{invoice} {note}".strip())
        return "paid"

    return paid, [pay]


def test_an_edit_may_not_move_a_call_to_another_effect(url: str) -> None:
    async def work() -> None:
        paid, tools = shop()
        async with g.Gateway(tools=tools, store=url) as gate:
            waiting = await gate.call("invoice.pay.v1", {"invoice": "3"}, run_id="r", step_id=1)
            assert waiting.approval_id is not None
            with pytest.raises(g.UsageError, match="names the effect"):
                await gate.approve(waiting.approval_id, by=BOSS, arguments={"invoice": "1"})
            await gate.approve(waiting.approval_id, by=BOSS, arguments={"invoice": "3", "note": "half"})
            done = await gate.call("invoice.pay.v1", {"invoice": "3"}, run_id="r", step_id=1)
            assert done.status == "ok"
            assert paid == ["3 half"]

    run(work())


def test_an_inline_edit_may_not_either(url: str) -> None:
    async def work() -> None:
        paid, tools = shop()

        def approver(request: g.ApprovalRequest) -> g.ApprovalAnswer:
            return g.ApprovalAnswer("approve", BOSS, arguments={"invoice": "1"})

        async with g.Gateway(tools=tools, store=url, approver=approver) as gate:
            assert code(await gate.call("invoice.pay.v1", {"invoice": "3"})) == "IDENTITY_CHANGED"
            assert paid == []

    run(work())


@pytest.mark.parametrize("bob", [g.Principal("bob"), g.Principal("ana", agent="robot")])
def test_nobody_else_can_use_an_approval(bob: g.Principal, url: str) -> None:
    async def work() -> None:
        paid, tools = shop()
        ana = g.Principal(user="ana")
        async with g.Gateway(tools=tools, store=url) as gate:
            waiting = await gate.call("invoice.pay.v1", {"invoice": "3"}, principal=ana, run_id="a")
            assert waiting.approval_id is not None
            await gate.approve(waiting.approval_id, by=BOSS)
            stolen = await gate.call("invoice.pay.v1", {"invoice": "3"}, principal=bob, run_id="b")
            assert code(stolen) == "APPROVAL_STALE"
            assert paid == []
            mine = await gate.call("invoice.pay.v1", {"invoice": "3"}, principal=ana, run_id="a")
            assert mine.status == "ok"
            assert paid == ["3"]

    run(work())


def test_the_preview_names_who_asks(url: str) -> None:
    async def work() -> None:
        _, tools = shop()
        async with g.Gateway(tools=tools, store=url) as gate:
            ana = g.Principal(user="ana", tenant="acme")
            waiting = await gate.call("invoice.pay.v1", {"invoice": "3"}, principal=ana)
            assert waiting.approval_id is not None
            row = await gate.store.approval(waiting.approval_id)
            assert row is not None
            assert "Asked for: ana (acme)" in row.preview

    run(work())


def test_two_gateways_on_one_store_pay_once(durable: str) -> None:
    async def work() -> None:
        paid, tools = shop()
        calls = ("invoice.pay.v1", {"invoice": "3"})
        async with g.Gateway(tools=tools, store=durable) as one, g.Gateway(tools=tools, store=durable) as two:
            waiting = await one.call(*calls, run_id="r", step_id=1)
            assert waiting.approval_id is not None
            await one.approve(waiting.approval_id, by=BOSS)
            results = await asyncio.gather(
                *(gate.call(*calls, run_id="r", step_id=1) for gate in (one, two, one, two))
            )
            assert paid == ["3"]
            again = await two.call(*calls, run_id="r", step_id=1)
            assert (again.status, again.replayed, again.value) == ("ok", True, "paid")
            assert [result.status for result in results].count("ok") >= 1

    run(work())


def test_closing_waits_for_calls_that_run(url: str) -> None:
    async def work() -> None:
        done: list[int] = []

        @g.tool(name="slow.v1", risk="read_internal")
        async def slow(n: int) -> str:
            """Take a moment."""
            await asyncio.sleep(0.1)
            done.append(n)
            return "done"

        gate = g.Gateway(tools=[slow], store=url)
        await gate.__aenter__()
        tasks = [asyncio.create_task(gate.call("slow.v1", {"n": n})) for n in range(5)]
        await asyncio.sleep(0.02)
        await gate.aclose()
        assert [task.result().status for task in tasks] == ["ok"] * 5
        assert sorted(done) == [0, 1, 2, 3, 4]

    run(work())
