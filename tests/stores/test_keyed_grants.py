"""A call that goes by its caller's key, or its natural one, and its grant: one call, one end."""

import asyncio
from typing import Any

import pytest

import gerbang as g
from gerbang.values.record import RunState

from .helpers import run

ASK = [{"id": "ask", "match": {"tool": "notes.*"}, "decision": "ask", "reason": "ASK"}]
LOOK = {"name": "exists", "options": {"reader": "note", "subject": ["text"]}}
ANA, BO, BOSS = g.Principal("ana", "acme"), g.Principal("bo", "acme"), g.Principal("boss", "acme")


class World:
    """A reader that answers when it is let, and tools that say what they did."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.reading = asyncio.Event()
        self.answer = asyncio.Event()
        self.answer.set()

        @g.tool(name="notes.save.v1", risk="write_internal", validators=[LOOK])
        async def save(text: str) -> str:
            """Save a note."""
            self.log.append(text)
            return "saved"

        @g.tool(name="notes.own.v1", risk="write_internal", validators=[LOOK], natural_key=("text",))
        async def own(text: str, more: str = "") -> str:
            """Save the one note of this text."""
            self.log.append(text)
            return "saved"

        self.tools: list[Any] = [save, own]

    async def note(self, subject: dict[str, Any], who: g.Principal) -> bool:
        self.reading.set()
        await self.answer.wait()
        return True

    def open(self, store: str) -> g.Gateway:
        return g.Gateway(
            self.tools, policy=g.Policy.from_rules(ASK), store=store, readers={"note": self.note}
        )

    async def granted(self, gate: g.Gateway, how: dict[str, Any]) -> g.Result:
        """Make a call that waits, and have it approved."""
        waiting = await gate.call(**how)
        assert waiting.approval_id is not None
        await gate.approve(waiting.approval_id, by=BOSS)
        return waiting

    async def cut_off(self, gate: g.Gateway, how: dict[str, Any]) -> None:
        """Make a call and cancel it while it is looked up."""
        self.answer.clear()
        self.reading.clear()
        call = asyncio.ensure_future(gate.call(**how))
        await self.reading.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        self.answer.set()


def calling(tool: str = "notes.save.v1", **more: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": {"text": "hi"}, "principal": ANA, **more}


KEYED, NATURAL = calling(key="k"), calling("notes.own.v1")
LAPSES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("a key, no run", KEYED, KEYED),
    ("a key, a run, another step", {**KEYED, "run_id": "r"}, {**KEYED, "run_id": "r", "step_id": 2}),
    ("a key, a run, the same step", {**KEYED, "run_id": "r"}, {**KEYED, "run_id": "r"}),
    ("a natural key, no run", NATURAL, NATURAL),
    (
        "a natural key, a run, another step",
        {**NATURAL, "run_id": "r"},
        {**NATURAL, "run_id": "r", "step_id": 2},
    ),
    ("no key, the same place", calling(run_id="r"), calling(run_id="r")),
]
STAYS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("another key", KEYED, {**KEYED, "key": "other"}),
    ("other arguments", KEYED, {**KEYED, "arguments": {"text": "ho"}}),
    ("another user with the same key", KEYED, {**KEYED, "principal": BO}),
    ("another user, a natural key", NATURAL, {**NATURAL, "principal": BO}),
    ("an agent of the user", KEYED, {**KEYED, "principal": g.Principal("ana", "acme", agent="bot")}),
    ("another purpose", KEYED, {**KEYED, "purpose": "play"}),
    ("another run", {**KEYED, "run_id": "r"}, {**KEYED, "run_id": "r2"}),
    ("a run, asked for in none", KEYED, {**KEYED, "run_id": "r"}),
    ("other arguments, a natural key", NATURAL, {**NATURAL, "arguments": {"text": "hi", "more": "x"}}),
    ("no key, no run", calling(), calling()),
]
"""How the call is made first, and how it is made again and then cancelled."""


@pytest.mark.parametrize(("case", "first", "again"), LAPSES, ids=[case[0] for case in LAPSES])
def test_whoever_is_cancelled_gives_up_their_own_grant(
    url: str, case: str, first: dict[str, Any], again: dict[str, Any]
) -> None:
    async def main() -> None:
        world = World()
        async with world.open(url) as gate:
            waiting = await world.granted(gate, first)
            await world.cut_off(gate, again)
            approval = await gate.store.approval(str(waiting.approval_id))
            assert approval is not None
            assert (approval.state, "RUN_CANCELLED" in approval.note) == ("expired", True)
            held = await gate.store.call(approval.key)
            assert held is not None
            assert held.state == "CANCELLED"
            states = {row.state for row in await gate.store.runs()}
            assert states == {RunState.OPEN if "run_id" in first else RunState.CANCELLED}
            fresh = await gate.call(**again)  # the key is free: it is asked for anew
            assert fresh.status == "pending"
            assert fresh.approval_id not in (None, waiting.approval_id)
        assert world.log == []

    run(main())


@pytest.mark.parametrize(("case", "first", "other"), STAYS, ids=[case[0] for case in STAYS])
def test_a_grant_of_another_call_is_left_alone(
    url: str, case: str, first: dict[str, Any], other: dict[str, Any]
) -> None:
    async def main() -> None:
        world = World()
        async with world.open(url) as gate:
            waiting = await world.granted(gate, first)
            await world.cut_off(gate, other)
            approval = await gate.store.approval(str(waiting.approval_id))
            assert approval is not None
            assert approval.state == "granted"
            if case != "no key, no run":  # nobody could come back to that
                assert (await gate.call(**first)).value == "saved"
        assert world.log == ([] if case == "no key, no run" else ["hi"])

    run(main())


def test_a_twin_that_is_cancelled_takes_nothing_from_whoever_is_at_work(url: str) -> None:
    async def main() -> None:
        world = World()
        async with world.open(url) as gate:
            await world.granted(gate, KEYED)
            world.answer.clear()
            world.reading.clear()
            first = asyncio.ensure_future(gate.call(**KEYED))
            await world.reading.wait()
            world.answer.set()  # whoever waits goes on; whoever comes now waits
            world.answer.clear()
            world.reading.clear()
            await world.reading.wait()  # looked up once more: the grant is about to be used
            world.reading.clear()
            twin = asyncio.ensure_future(gate.call(**KEYED))
            await world.reading.wait()
            twin.cancel()
            with pytest.raises(asyncio.CancelledError):
                await twin
            world.answer.set()
            assert (await first).value == "saved"
        assert world.log == ["hi"]

    run(main())


@pytest.mark.parametrize(
    ("decision", "state"), [("approve", "completed"), ("refuse", "denied"), ("cancel", "pending_approval")]
)
@pytest.mark.parametrize("how", [KEYED, NATURAL], ids=["key", "natural key"])
def test_the_run_that_waited_ends_with_its_call(
    url: str, how: dict[str, Any], decision: str, state: str
) -> None:
    async def main() -> None:
        world = World()
        async with world.open(url) as gate:
            waiting = await gate.call(**how)
            await getattr(gate, decision)(waiting.approval_id, by=BOSS)
            again = await gate.call(**how)
            assert again.run_id != waiting.run_id
            row = await gate.store.run(waiting.run_id)
            assert row is not None
            assert row.state == state
            ends = {one.run_id: one.state for one in await gate.store.runs()}
            assert ends[again.run_id] == state

    run(main())
