"""Approvals when several people, tasks and processes meet."""

import asyncio
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ManualClock, ScriptedModel
from tests.runtime.street import Effects, bodies, code, endings, run, toolbox

BOSS = g.Principal(user="boss")
OTHER = g.Policy.from_rules(
    [{"id": "any", "match": {"tool": "docs.*"}, "decision": "ask", "reason": "DOCS_ASK"}]
)


async def send(gate: g.Gateway, step: int = 1, to: str = "ana", **options: Any) -> g.Result:
    return await gate.call("mail.send.v1", {"to": to}, run_id="r", step_id=step, **options)


async def pending(gate: g.Gateway) -> str:
    waiting = (await send(gate)).approval_id
    assert waiting is not None
    return waiting


def test_two_gateways_use_one_grant_once(durable: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with (
            g.Gateway(tools=toolbox(effects), store=durable) as one,
            g.Gateway(tools=toolbox(effects), store=durable) as two,
        ):
            waiting = await pending(one)
            await two.approve(waiting, by=BOSS)
            results = await asyncio.gather(send(one), send(two), send(one), send(two))
            assert effects.log == ["mail ana"]
            assert {code(result) for result in results} <= {"ok", "EFFECT_UNKNOWN"}
            assert (await send(two)).replayed

    run(work())


def test_an_edit_that_is_not_json_is_refused_and_the_request_stays(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            waiting = await pending(gate)
            for arguments in ({"to": float("nan")}, {"to": object()}, {"to": "\ud800"}):
                with pytest.raises(g.UsageError, match="JSON"):
                    await gate.approve(waiting, by=BOSS, arguments=arguments)
            row = await gate.store.approval(waiting)
            assert row is not None
            assert row.state == "pending"

    run(work())


def test_a_cancelled_question_is_asked_again(url: str) -> None:
    effects = Effects()
    asked: list[str] = []

    async def approver(request: g.ApprovalRequest) -> bool:
        asked.append(request.approval_id)
        if len(asked) == 1:
            await asyncio.Event().wait()
        return True

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver) as gate:
            task = asyncio.create_task(send(gate))
            while not asked:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await send(gate)).status == "ok"

    run(work())
    assert len(set(asked)) == 2
    assert effects.log == ["mail ana"]


def test_approvals_of_many_runs_do_not_mix(url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:
            waiting = {}
            for number in range(5):
                result = await gate.call("mail.send.v1", {"to": f"u{number}"}, run_id=f"r{number}")
                waiting[number] = result.approval_id
            assert len(set(waiting.values())) == 5
            chosen = waiting[3]
            assert chosen is not None
            await gate.approve(chosen, by=BOSS)
            states = [
                (await gate.call("mail.send.v1", {"to": f"u{number}"}, run_id=f"r{number}")).status
                for number in range(5)
            ]
            assert states == ["pending", "pending", "pending", "ok", "pending"]

    run(work())
    assert effects.log == ["mail u3"]


@pytest.mark.parametrize("second", ["approve", "refuse"])
def test_two_decisions_at_once_are_one(second: str, durable: str) -> None:
    async def work() -> None:
        async with (
            g.Gateway(tools=toolbox(Effects()), store=durable) as one,
            g.Gateway(tools=toolbox(Effects()), store=durable) as two,
        ):
            waiting = await pending(one)
            outcomes = await asyncio.gather(
                one.approve(waiting, by=BOSS), getattr(two, second)(waiting, by=BOSS), return_exceptions=True
            )
            errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
            assert [type(error) for error in errors] == [g.UsageError]
            (said,) = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
            row = await one.store.approval(waiting)
            assert row is not None
            assert row.state == said.state
            kinds = [body["kind"] for body in await bodies(one.store, "r")]
            assert sum(kind in ("approval.granted", "approval.refused") for kind in kinds) == 1

    run(work())


def test_a_refusal_from_elsewhere_beats_a_yes_that_comes_later(url: str) -> None:
    effects = Effects()
    asked: asyncio.Queue[str] = asyncio.Queue()
    answer = asyncio.Event()

    async def approver(request: g.ApprovalRequest) -> bool:
        asked.put_nowait(request.approval_id)
        await answer.wait()
        return True

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver) as gate:
            task = asyncio.create_task(send(gate))
            await gate.refuse(await asked.get(), by=BOSS, reason="not today")
            answer.set()
            result = await task
            assert code(result) == "APPROVER_REFUSED"
            assert "not today" in result.for_model
            assert await endings(gate.store, "r") == {result.call_id: 1}
            (row,) = await gate.store.approvals()
            assert (row.state, row.decided_by) == ("refused", "boss")

    run(work())
    assert effects.log == []


def test_a_yes_that_comes_too_late_is_none(url: str) -> None:
    effects = Effects()
    clock = ManualClock()

    def approver(request: g.ApprovalRequest) -> bool:
        clock.advance(86_400)
        return True

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, approver=approver, clock=clock) as gate:
            result = await send(gate)
            assert code(result) == "APPROVAL_TIMEOUT"
            assert await endings(gate.store, "r") == {result.call_id: 1}

    run(work())
    assert effects.log == []


def test_an_edited_approval_is_stale_too_when_the_policy_changes(durable: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=durable) as gate:
            await gate.approve(await pending(gate), by=BOSS, arguments={"to": "bob"})
        async with g.Gateway(tools=toolbox(effects), store=durable, policy=OTHER) as gate:
            assert code(await send(gate)) == "APPROVAL_STALE"

    run(work())
    assert effects.log == []


def test_an_edit_may_need_the_same_mending_as_a_models_call(url: str) -> None:
    """A person writes "5" where the schema wants 5, as people do in a form."""
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url) as gate:

            async def pay() -> g.Result:
                return await gate.call("bank.transfer.v1", {"invoice": "7", "amount": 9}, run_id="r")

            waiting = (await pay()).approval_id
            assert waiting is not None
            await gate.approve(waiting, by=BOSS, arguments={"invoice": "7", "amount": "5"})
            assert (await pay()).value == "paid 7"

    run(work())
    assert effects.log == ["paid 7 5"]


def test_an_approver_that_never_answers_ends_with_the_run(url: str) -> None:
    async def approver(request: g.ApprovalRequest) -> bool:
        await asyncio.Event().wait()
        return True

    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url, approver=approver) as gate:
            model = ScriptedModel([[("mail.send.v1", {"to": "ana"}), ("docs.read.v1", {"name": "a"})], "x"])
            result = await g.Agent(model, gate, deadline_s=0.1).run("x")
            assert result.status == "budget"
            assert len(result.calls) == 2
            ended = await endings(gate.store, result.run_id)
            assert set(ended.values()) == {1}
            assert len(ended) == 2
            (approval,) = await gate.store.approvals()
            assert approval.state == "cancelled"
            (mail,) = [row for row in await gate.store.calls(result.run_id) if row.tool == "mail.send.v1"]
            assert mail.state == "CANCELLED"

    run(work())
