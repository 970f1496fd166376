"""A caller that is cancelled: each of its calls has one record that ends it, on every store."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gerbang as g
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
