"""Approvals when several people, tasks and processes meet."""

import asyncio
from typing import Any

import pytest

import gerbang as g
from tests.runtime.street import Effects, code, run, toolbox

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
