"""A caller that is cancelled: each of its calls has one record that ends it, on every store."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from tests.runtime.street import Effects, run

ALLOW = [{"id": "all", "match": {"tool": "notes.*"}, "decision": "allow", "reason": "YES"}]
LOOK = {"name": "exists", "options": {"reader": "note", "subject": ["text"]}}


class World:
    """A reader that answers when it is let, and tools that say what they did."""

    def __init__(self) -> None:
        self.effects = Effects()
        self.reading = asyncio.Event()
        self.answer = asyncio.Event()

        @g.tool(name="notes.save.v1", risk="write_internal", validators=[LOOK])
        async def save(text: str) -> str:
            """Save a note."""
            self.effects(text)
            return "saved"

        @g.tool(name="notes.read.v1", risk="read_internal")
        async def read(text: str) -> str:
            """Read a note."""
            return "milk"

        self.tools: list[Any] = [save, read]

    async def note(self, subject: dict[str, Any], who: g.Principal) -> bool:
        self.reading.set()
        await self.answer.wait()
        return True

    def open(self, store: str) -> g.Gateway:
        policy = g.Policy.from_rules(ALLOW)
        return g.Gateway(self.tools, policy=policy, store=store, readers={"note": self.note})


async def ends_of(gate: g.Gateway, run_id: str) -> Counter[tuple[str, str]]:
    """Return the events that end calls, as (kind, error code)."""
    found: Counter[tuple[str, str]] = Counter()
    for event in await gate.store.events(run_id):
        if event.kind in ("call.refused", "call.finished"):
            found[event.kind, msgspec.json.decode(event.body).get("error_code", "")] += 1
    return found


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path}/cut.db"


@pytest.mark.parametrize("named", [True, False])
def test_a_call_that_is_cancelled_while_it_is_looked_up(store: str, named: bool) -> None:
    async def story() -> None:
        world = World()
        async with world.open(store) as gate:
            place = {"run_id": "r"} if named else {}
            call = asyncio.ensure_future(gate.call("notes.save.v1", {"text": "hi"}, **place))  # type: ignore[arg-type]
            await world.reading.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            (row,) = await gate.store.runs()
            assert row.state == ("open" if named else "cancelled")
            assert await ends_of(gate, row.run_id) == {("call.refused", "RUN_CANCELLED"): 1}
            if named:  # the place is free again
                world.answer.set()
                assert (await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")).value == "saved"
        assert world.effects.log == (["hi"] if named else [])

    run(story())


def test_calls_of_one_answer_that_are_cancelled_together(store: str) -> None:
    async def story() -> None:
        world = World()
        calls = [("notes.read.v1", {"text": "a"}), *(("notes.save.v1", {"text": text}) for text in "bc")]
        async with world.open(store) as gate:
            task = asyncio.ensure_future(gate.call_many(calls, run_id="r"))
            await world.reading.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            ends = await ends_of(gate, "r")
            assert sum(ends.values()) == 3
            assert ends["call.refused", "RUN_CANCELLED"] >= 2
        assert world.effects.log == []

    run(story())


def test_a_call_that_waits_for_a_person_goes_on_waiting(store: str) -> None:
    async def story() -> None:
        world = World()
        world.answer.set()
        policy = g.Policy.from_rules([{**ALLOW[0], "decision": "ask"}])
        calls = [("notes.save.v1", {"text": "a"}), ("notes.save.v1", {"text": "b"})]
        async with g.Gateway(world.tools, policy=policy, store=store, readers={"note": world.note}) as gate:
            held = await gate.call_many(calls[:1], run_id="r")
            world.answer.clear()
            world.reading.clear()
            task = asyncio.ensure_future(gate.call_many(calls, run_id="r"))
            await world.reading.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert held[0].approval_id is not None
            row = await gate.store.approval(held[0].approval_id)
            assert row is not None
            assert row.state == "pending"
            assert await ends_of(gate, "r") == {("call.refused", "RUN_CANCELLED"): 1}

    run(story())


def test_a_gateway_that_closes_cancels_without_an_error_of_the_store(store: str) -> None:
    async def story() -> None:
        world = World()
        gate = world.open(store)
        async with gate:
            call = asyncio.ensure_future(gate.call("notes.save.v1", {"text": "hi"}, run_id="r"))
            await world.reading.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert world.effects.log == []

    run(story())


ASK = [{**ALLOW[0], "decision": "ask"}]


async def lapsed(gate: g.Gateway, run_id: str) -> None:
    """Check that a call that a person agreed to is over, once, and that its grant is of no use any more."""
    (row,) = await gate.store.calls(run_id)
    assert row.approval_id is not None
    approval = await gate.store.approval(row.approval_id)
    assert approval is not None
    assert (row.state, approval.state) == ("CANCELLED", "expired")
    assert "RUN_CANCELLED" in approval.note
    assert await ends_of(gate, run_id) == {("call.refused", "RUN_CANCELLED"): 1}


@pytest.mark.parametrize("when", ["taken up", "looked up again", "waits for its turn"])
def test_a_call_that_is_cancelled_between_the_grant_and_the_sending(store: str, when: str) -> None:
    async def story() -> None:
        world, saving, go_on = World(), asyncio.Event(), asyncio.Event()

        @g.tool(name="notes.turn.v1", risk="write_internal", concurrency=1)
        async def turn(text: str) -> str:
            """Take turns."""
            saving.set()
            await go_on.wait()
            world.effects(text)
            return "saved"

        tools, policy = [*world.tools, turn], g.Policy.from_rules(ASK)
        at_once = when != "taken up"

        def approver(_: g.ApprovalRequest) -> bool:
            world.answer.clear()
            world.reading.clear()
            return True

        people: dict[str, Any] = {"approver": approver} if at_once else {}
        async with g.Gateway(
            tools, policy=policy, store=store, readers={"note": world.note}, **people
        ) as gate:
            world.answer.set()
            name, other = "notes.save.v1", None
            if when == "taken up":
                waiting = await gate.call(name, {"text": "hi"}, run_id="r")
                assert waiting.approval_id is not None
                await gate.approve(waiting.approval_id, by=g.Principal("boss"))
                world.answer.clear()
                world.reading.clear()
            elif when == "waits for its turn":
                name = "notes.turn.v1"
                other = asyncio.ensure_future(gate.call(name, {"text": "other"}, run_id="other"))
                await saving.wait()
            call = asyncio.ensure_future(gate.call(name, {"text": "hi"}, run_id="r"))
            while not [row for row in await gate.store.approvals(run_id="r") if row.state == "granted"]:
                await asyncio.sleep(0.01)
            if other is None:
                await world.reading.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await lapsed(gate, "r")
            if other is not None:
                go_on.set()
                assert (await other).status == "ok"
            assert world.effects.log == ([] if other is None else ["other"])

    run(story())


def test_after_that_the_same_call_is_asked_about_anew(store: str) -> None:
    async def story() -> None:
        world = World()
        policy, boss = g.Policy.from_rules(ASK), g.Principal("boss")
        async with g.Gateway(world.tools, policy=policy, store=store, readers={"note": world.note}) as gate:
            world.answer.set()
            first = await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")
            assert first.approval_id is not None
            await gate.approve(first.approval_id, by=boss)
            world.answer.clear()
            world.reading.clear()
            call = asyncio.ensure_future(gate.call("notes.save.v1", {"text": "hi"}, run_id="r"))
            await world.reading.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await lapsed(gate, "r")
            world.answer.set()
            again = await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")
            assert (again.status, again.approval_id == first.approval_id) == ("pending", False)
            assert world.effects.log == []
            assert again.approval_id is not None
            await gate.approve(again.approval_id, by=boss)
            assert (await gate.call("notes.save.v1", {"text": "hi"}, run_id="r")).value == "saved"
        assert world.effects.log == ["hi"]

    run(story())


def test_an_agent_that_is_cancelled_between_the_grant_and_the_sending(store: str) -> None:
    async def story() -> None:
        world = World()

        def approver(_: g.ApprovalRequest) -> bool:
            world.answer.clear()
            world.reading.clear()
            return True

        async with g.Gateway(
            world.tools,
            policy=g.Policy.from_rules(ASK),
            store=store,
            readers={"note": world.note},
            approver=approver,
        ) as gate:
            world.answer.set()
            agent = g.Agent(ScriptedModel([[("notes.save.v1", {"text": "hi"})], "Over."]), gate)
            driving = asyncio.ensure_future(agent.run("Go.", run_id="r"))
            while not [row for row in await gate.store.approvals(run_id="r") if row.state == "granted"]:
                await asyncio.sleep(0.01)
            await world.reading.wait()
            driving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await driving
            await lapsed(gate, "r")
        assert world.effects.log == []

    run(story())
