"""A run that one process drives and another one cancels, over stores that several processes share."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from gerbang.values.record import RUN_SWITCH
from tests.runtime.street import ALLOW_ALL, TERMINAL, bodies, run

BOSS = g.Principal("boss")
AT_STEP = "mail.send.v1"
Agents = Callable[[g.Gateway], g.Agent]


class World:
    """Tools that wait inside until they are let go, and what they did."""

    def __init__(self) -> None:
        self.inside = asyncio.Event()
        self.go_on = asyncio.Event()
        self.done: list[str] = []

    def tools(self) -> list[Any]:
        @g.tool(name="notes.read.v1", risk="read_internal")
        async def read(name: str) -> str:
            """Read a note."""
            if name == "slow":
                self.inside.set()
                await self.go_on.wait()
            self.done.append(f"read {name}")
            return name

        @g.tool(name="mail.send.v1", risk="external_communication")
        async def send(to: str) -> str:
            """Send mail."""
            self.inside.set()
            await self.go_on.wait()
            self.done.append(f"send {to}")
            return to

        return [read, send]


READ, SLOW, SEND = (
    ("notes.read.v1", {"name": "a"}),
    ("notes.read.v1", {"name": "slow"}),
    ("mail.send.v1", {"to": "ana"}),
)
CASES: list[tuple[str, list[Any], dict[str, str]]] = [
    ("a read", [[SLOW], "Over."], {"notes.read.v1": "FAILED"}),
    ("an effect", [[SEND], "Over."], {"mail.send.v1": "UNCERTAIN"}),
    ("others behind it", [[READ], [SEND, READ, SEND], "Over."], {"mail.send.v1": "UNCERTAIN"}),
    ("reads at once", [[READ, SLOW, READ], "Over."], {}),
]
"""What waits when the run is cancelled, the script, and the states of rows by tool (the last row of each)."""


@pytest.mark.parametrize(("script", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_while_a_tool_is_at_work(shared: str, script: list[Any], wanted: dict[str, str]) -> None:
    world = World()

    async def work() -> None:
        async with (
            g.Gateway(tools=world.tools(), store=shared, policy=ALLOW_ALL) as one,
            g.Gateway(store=shared) as two,
        ):
            driving = asyncio.create_task(g.Agent(ScriptedModel(script), one).run("x", run_id="r"))
            await world.inside.wait()
            ended = await two.cancel_run("r", by=BOSS, reason="enough")
            result = await driving
            assert (ended.state, result.status, result.answer) == ("cancelled", "cancelled", ended.answer)
            await check(two, "r")
            rows = {row.tool: row.state for row in await two.store.calls("r")}
            assert {tool: rows[tool] for tool in wanted} == wanted
            asked = [one for one in await bodies(two.store, "r") if one["kind"] == "run.cancel_asked"]
            assert [(one["by"], one["reason"]) for one in asked] == [("boss", "enough")]
            assert "send ana" not in world.done
            assert await two.cancel_run("r", by=BOSS) == ended  # again: it stays as it is

    run(work())


async def check(gate: g.Gateway, run_id: str) -> None:
    """What holds of a cancelled run: every proposal has one end, nothing waits, no switch is left."""
    records = await bodies(gate.store, run_id)
    assert (records[-1]["kind"], records[-1]["status"]) == ("run.finished", "cancelled")
    ended = [record["call_id"] for record in records if record["kind"] in TERMINAL]
    proposed = sum(len(record["calls"]) for record in records if record["kind"] == "model.answered")
    assert (len(ended), len(set(ended))) == (proposed, proposed)
    assert [row.state for row in await gate.store.open_calls(run_id) if row.state != "UNCERTAIN"] == []
    assert await gate.store.approvals(run_id=run_id, state="pending") == []
    assert [kill for kill in await gate.store.kills() if kill.target.startswith(RUN_SWITCH)] == []


def test_while_the_model_thinks(shared: str) -> None:
    thinking = asyncio.Event()

    class Thinker(ScriptedModel):
        async def answer(self, request: Any) -> Any:
            thinking.set()
            await asyncio.Event().wait()
            yield

    async def work() -> None:
        async with g.Gateway(store=shared) as one, g.Gateway(store=shared) as two:
            driving = asyncio.create_task(g.Agent(Thinker(["x"]), one).run("x", run_id="r"))
            await thinking.wait()
            assert (await two.cancel_run("r", by=BOSS)).state == "cancelled"
            assert (await driving).status == "cancelled"
            await check(two, "r")

    run(work())


@pytest.mark.parametrize("approves", [True, False])
def test_while_a_person_is_asked(shared: str, approves: bool) -> None:
    asked, answers = asyncio.Event(), asyncio.Event()

    async def person(request: g.ApprovalRequest) -> bool:
        asked.set()
        await answers.wait()
        return approves

    async def work() -> None:
        world = World()
        async with (
            g.Gateway(tools=world.tools(), store=shared, approver=person) as one,
            g.Gateway(store=shared) as two,
        ):
            driving = asyncio.create_task(g.Agent(ScriptedModel([[SEND], "x"]), one).run("x", run_id="r"))
            await asked.wait()
            assert (await two.cancel_run("r", by=BOSS)).state == "cancelled"
            assert (await driving).status == "cancelled"
            await check(two, "r")
            assert world.done == []

    run(work())


@pytest.mark.parametrize("decided", ["not", "granted", "refused"])
def test_a_run_that_waits_for_an_approval_ends_at_once(url: str, decided: str) -> None:
    async def work() -> None:
        world = World()
        async with g.Gateway(tools=world.tools(), store=url) as gate:
            agent = g.Agent(ScriptedModel([[READ, SEND, READ, SEND], "x"]), gate)
            assert (await agent.run("x", run_id="r")).status == "pending_approval"
            (approval,) = await gate.store.approvals(state="pending")
            if decided == "granted":
                await gate.approve(approval.approval_id, by=BOSS)
            if decided == "refused":
                await gate.refuse(approval.approval_id, by=BOSS)
            assert (await gate.cancel_run("r", by=BOSS, wait_s=0)).state == "cancelled"
            await check(gate, "r")
            with pytest.raises(g.UsageError, match="cancelled"):
                await agent.resume("r")
            assert world.done == ["read a", "read a"]

    run(work())


def test_a_single_call_that_waits_for_an_approval(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=World().tools(), store=url) as gate:
            out = await gate.call("mail.send.v1", {"to": "ana"})
            assert (await gate.cancel_run(out.run_id, by=BOSS)).state == "cancelled"
            records = await bodies(gate.store, out.run_id)
            assert [record["kind"] for record in records if record["kind"] in TERMINAL] == ["call.refused"]
            assert [row.state for row in await gate.store.calls(out.run_id)] == ["CANCELLED"]
            again = await gate.call("mail.send.v1", {"to": "ana"}, run_id=out.run_id, alone=True)
            assert again.error is not None
            assert again.error.error_code == "RUN_CANCELLED"
            assert await gate.store.approvals(run_id=out.run_id, state="pending") == []

    run(work())


def test_a_run_of_a_program_of_its_own(url: str) -> None:
    """Every further call is refused, by whoever makes it, and other runs are not."""

    async def work() -> None:
        async with g.Gateway(tools=World().tools(), store=url) as gate:
            assert (await gate.call(*READ, run_id="r", step_id=1)).status == "ok"
            waits = await gate.call(*SEND, run_id="r", step_id=2)
            assert (waits.status, (await gate.cancel_run("r", by=BOSS)).state) == ("pending", "cancelled")
            assert await gate.store.approvals(run_id="r", state="pending") == []
            for call, step in ((READ, 3), (SEND, 2), (SEND, 4)):  # also where a person would be asked
                again = await gate.call(*call, run_id="r", step_id=step)
                assert again.error is not None
                assert (again.error.error_type, again.error.error_code) == ("cancelled", "RUN_CANCELLED")
            assert await gate.store.approvals(run_id="r", state="pending") == []
            assert (await gate.call(*READ, run_id="other")).status == "ok"
            assert await gate.kills() == []
            await gate.erase("r", by=BOSS)
            assert await gate.store.kills() == []
        if url != "memory:":
            async with g.Gateway(tools=World().tools(), store=url) as gate:
                assert (await gate.cancel_run("other", by=BOSS)).state == "cancelled"
                late = await gate.call(*READ, run_id="other", step_id=9)
                assert late.error is not None
                assert late.error.error_code == "RUN_CANCELLED"

    run(work())


def test_what_cannot_be_cancelled(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=World().tools(), store=url) as gate:
            done = await g.Agent(ScriptedModel(["Done."]), gate).run("x", principal=g.Principal("a", "acme"))
            for who, name in ((BOSS, done.run_id), (g.Principal("a", "acme"), "nobody's")):
                with pytest.raises(g.UsageError, match="There is no run"):
                    await gate.cancel_run(name, by=who)
            row = await gate.cancel_run(done.run_id, by=g.Principal("b", "acme"))
            assert (row.state, row.answer) == ("completed", "Done.")
            assert await gate.store.kills() == []

    run(work())


def test_a_request_that_nobody_waited_for_is_heard_when_the_run_is_taken_up(shared: str) -> None:
    """The one who drove it died; whoever goes on with it finds the request before anything else."""

    async def work() -> None:
        world = World()
        async with g.Gateway(tools=world.tools(), store=shared) as gate:
            agent = g.Agent(ScriptedModel([[SEND], "x"]), gate)
            await agent.run("x", run_id="r")
            (approval,) = await gate.store.approvals(state="pending")
            await gate.approve(approval.approval_id, by=BOSS)
            await gate.store.kill(f"{RUN_SWITCH}r", "boss", "", 0.0)
            assert (await agent.resume("r")).status == "cancelled"
            await check(gate, "r")
            assert world.done == []

    run(work())
