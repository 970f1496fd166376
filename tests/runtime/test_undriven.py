"""Calls of runs that a program drives itself, whose process was killed and never comes back."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.audit import chain
from gerbang.testing import ManualClock
from tests.runtime.street import ALLOW_ALL, bodies, run
from tests.runtime.test_recovery import CASES, kill, tools


async def until_found(*gates: g.Gateway) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Recover again and again, side by side, until something was found; return it."""
    while True:
        parts = await asyncio.gather(*(gate.recover() for gate in gates))
        found = [(one.state, one.calls) for part in parts for one in part]
        if found:
            return found
        await asyncio.sleep(0.1)


@pytest.mark.parametrize(("tool", "when", "wanted"), CASES)
def test_a_call_that_nobody_comes_back_for(
    tool: str, when: str, wanted: list[tuple[str, str]], durable: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.touch()
    kill(durable, log, tool, when, "r")
    before = log.read_text()

    async def work() -> None:
        async with (
            g.Gateway(tools=tools(log), store=durable, policy=ALLOW_ALL) as one,
            g.Gateway(tools=tools(log), store=durable, policy=ALLOW_ALL) as two,
        ):
            assert await until_found(one, two) == [("open", tuple(wanted))]
            assert await one.recover() == []
            row = await two.store.run("r")
            assert row is not None
            assert row.state == "open"
            assert await two.store.sent() == []
            assert chain.verify(await two.store.events("r")) is None
            lost = [body for body in await bodies(one.store, "r") if body["kind"] == "call.lost"]
            assert len(lost) == 1

    run(work())
    assert log.read_text() == before  # nothing was sent again


def test_what_a_living_process_is_at_work_on_is_left_alone(durable: str) -> None:
    inside, go_on = asyncio.Event(), asyncio.Event()

    @g.tool(name="slow.write.v1", risk="draft")
    async def slow() -> str:
        """Take long."""
        inside.set()
        await go_on.wait()
        return "done"

    async def work() -> None:
        async with (
            g.Gateway(tools=[slow], store=durable) as gate,
            g.Gateway(tools=[slow], store=durable) as other,
        ):
            call = asyncio.create_task(gate.call("slow.write.v1", {}, run_id="r"))
            await inside.wait()
            for one in (gate, other, other):
                assert await one.recover() == []
            go_on.set()
            assert (await call).status == "ok"
            assert await other.store.sent() == []

    run(work())


def keyed(seen: list[str], dies: bool) -> list[Any]:
    @g.tool(name="mail.send.v1", risk="external_communication", honours_key=True, timeout_s=5)
    async def send(name: str, context: g.CallContext) -> str:
        """Send."""
        seen.append(context.idempotency_key)
        if dies:
            await asyncio.Event().wait()
        return "sent"

    return [send]


@pytest.mark.parametrize("returns", [True, False])
def test_what_its_caller_may_send_again_is_left_to_it_for_an_hour(tmp_path: Path, returns: bool) -> None:
    """The target honours the key: made again it is sent again, with the same key. Nobody else does that."""
    seen: list[str] = []
    address, clock = f"sqlite:{tmp_path / 'store.db'}", ManualClock()

    async def cut_off() -> None:
        gate = g.Gateway(tools=keyed(seen, True), store=address, policy=ALLOW_ALL, clock=clock)
        await gate.__aenter__()
        call = asyncio.create_task(gate.call("mail.send.v1", {"name": "ana"}, run_id="r"))
        while not seen:
            await asyncio.sleep(0.01)
        await gate.store.close()  # from here on nothing of it is recorded any more
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    async def work() -> None:
        await cut_off()
        clock.advance(60)
        async with g.Gateway(tools=keyed(seen, False), store=address, policy=ALLOW_ALL, clock=clock) as gate:
            assert await gate.recover() == []
            if returns:
                again = await gate.call("mail.send.v1", {"name": "ana"}, run_id="r")
                assert (again.status, again.value) == ("ok", "sent")
            clock.advance(3600)
            found = [(one.state, one.calls) for one in await gate.recover()]
            assert found == ([] if returns else [("open", (("mail.send.v1", "UNCERTAIN"),))])
            assert await gate.store.sent() == []

    run(work())
    assert len(seen) == (2 if returns else 1)
    assert len(set(seen)) == 1


def test_a_tool_that_is_not_known_here_is_left_to_who_knows_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    address, clock = f"sqlite:{tmp_path / 'store.db'}", ManualClock()
    kill(address, log, "notes.read.v1", "before", "r")

    async def work() -> None:
        clock.advance(1e9)
        async with g.Gateway(store=address, clock=clock) as gate:
            (row,) = await gate.store.sent()
            assert [(one.state, one.calls) for one in await gate.recover()] == [
                ("open", (("notes.read.v1", "UNCERTAIN"),))
            ]
            assert row.tool == "notes.read.v1"
        async with g.Gateway(store=address) as gate:
            assert await gate.recover() == []

    run(work())
