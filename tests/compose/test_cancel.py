"""Cancelled anywhere: no task is left, every record is whole, nothing ran without its record."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gerbang as g
from gerbang.testing import ScriptedModel
from gerbang.values.model import ModelEvent, ModelRequest
from tests.runtime.street import ALLOW_ALL, TERMINAL, Effects, bodies, others, run, toolbox

SCRIPT: list[Any] = [
    [("docs.read.v1", {"name": "r1", "turns": 3})],
    [
        ("docs.read.v1", {"name": "r2", "turns": 4}),
        ("docs.read.v1", {"name": "r3"}),
        ("docs.write.v1", {"name": "w1", "turns": 3}),
        ("docs.store.v1", {"name": "s1"}),
        ("rm_rf", {}),
        ("docs.read.v1", {"name": "r4"}),
    ],
    [("bank.transfer.v1", {"invoice": "7", "amount": 5})],
    "Done.",
]
TURNS = [*range(0, 60, 2), *range(60, 200, 11)]


class SlowModel(ScriptedModel):
    """The script, with points to be cancelled at before, between and after the events."""

    async def answer(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        await asyncio.sleep(0)
        async for event in super().answer(request):
            yield event
            await asyncio.sleep(0)


async def person(request: g.ApprovalRequest) -> bool:
    for _ in range(3):
        await asyncio.sleep(0)
    return True


async def check(gate: g.Gateway, effects: Effects, run_id: str) -> None:
    """What holds of a run wherever it was stopped."""
    records = await bodies(gate.store, run_id)
    rows = {row.call_id: row for row in await gate.store.calls(run_id)}
    started = [record["call_id"] for record in records if record["kind"] == "call.dispatched"]
    ended = [record["call_id"] for record in records if record["kind"] in TERMINAL]
    assert len(ended) == len(set(ended)), "two terminal records"
    assert set(started) <= set(ended), "a call without an end"
    assert all(rows[call_id].state not in ("PLANNED", "DISPATCHED") for call_id in started)
    proposed = sum(len(record["calls"]) for record in records if record["kind"] == "model.answered")
    assert len(ended) == proposed, "every proposal has its terminal record"
    recorded = {str(value) for row in rows.values() for value in msgspec.json.decode(row.arguments).values()}
    for entry in effects.log:
        assert entry.lstrip("+-").removeprefix("paid ").split()[0] in recorded, "an effect without a record"
    assert len(effects.log) == len(set(effects.log)), "an effect twice"


class CancelAt:
    """Drives a coroutine and cancels its task when it waits for the n-th time."""

    def __init__(self, work: Coroutine[Any, Any, Any], at: int) -> None:
        self._work = work
        self._at = at
        self.waits = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self._work.__await__()
        step: Callable[[Any], Any] = inner.send
        argument: Any = None
        while True:
            try:
                future = step(argument)
            except StopIteration as done:
                return done.value
            if self.waits == self._at:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            self.waits += 1
            try:
                argument = yield future
                step = inner.send
            except BaseException as error:
                step, argument = inner.throw, error


async def _driven(driver: CancelAt) -> Any:
    return await driver


def test_a_run_that_is_cancelled_wherever_it_waits(url: str, tmp_path: Path) -> None:
    """Every single await of the run's own task, one after the other, until it completes."""

    async def work(at: int) -> int | None:
        effects = Effects()
        address = url if url == "memory:" else f"sqlite:{tmp_path / str(at)}.db"
        async with g.Gateway(
            tools=toolbox(effects), store=address, policy=ALLOW_ALL, approver=person
        ) as gate:
            driver = CancelAt(g.Agent(SlowModel(SCRIPT), gate).run("x"), at)
            try:
                result = await asyncio.create_task(_driven(driver))
            except asyncio.CancelledError:
                result = None
            assert others() == set()
        async with gate:  # opened again: what was queued when it was cancelled is written
            for row in await gate.store.runs():
                records = await bodies(gate.store, row.run_id)
                assert records[-1]["kind"] == "run.finished"
                assert row.state == records[-1]["status"]
                assert row.state in ("cancelled", "completed")
                await check(gate, effects, row.run_id)
        if driver.waits > at:
            return at + 1
        assert result is not None
        assert (result.status, result.answer) == ("completed", "Done.")
        return None

    at: int | None = 0
    while at is not None:
        at = run(work(at))


@pytest.mark.parametrize("turns", TURNS)
def test_a_run_that_is_cancelled_at_any_point(turns: int, url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=ALLOW_ALL, approver=person) as gate:
            task = asyncio.create_task(g.Agent(SlowModel(SCRIPT), gate).run("x"))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            try:
                result = await task
            except asyncio.CancelledError:
                result = None
            assert others() == set()
        async with gate:
            runs = await gate.store.runs()
            for row in runs:
                assert row.state in ("cancelled", "completed")
                records = await bodies(gate.store, row.run_id)
                assert records[-1]["kind"] == "run.finished"
                assert records[-1]["status"] == row.state
                await check(gate, effects, row.run_id)
            if result is not None:
                assert (result.status, result.answer) == ("completed", "Done.")
            assert runs or turns == 0 or not effects.log

    run(work())


@pytest.mark.parametrize("turns", TURNS[::5])
def test_a_run_that_is_cancelled_twice(turns: int, url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=ALLOW_ALL, approver=person) as gate:
            task = asyncio.create_task(g.Agent(SlowModel(SCRIPT), gate).run("x"))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            for _ in range(50):
                await asyncio.sleep(0)
        async with gate:
            for row in await gate.store.runs():
                assert row.state in ("cancelled", "completed")
                records = await bodies(gate.store, row.run_id)
                assert [record["kind"] for record in records].count("run.finished") == 1
                assert not [call for call in await gate.store.calls(row.run_id) if call.state == "DISPATCHED"]

    run(work())


@pytest.mark.parametrize("events", range(24))
def test_a_stream_that_is_left_early(events: int, url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with g.Gateway(tools=toolbox(effects), store=url, policy=ALLOW_ALL, approver=person) as gate:
            stream = g.Agent(SlowModel(SCRIPT), gate).stream("x")
            seen = 0
            async for _ in stream:
                seen += 1
                if seen > events:
                    break
            await stream.aclose()  # type: ignore[attr-defined]  # it is an async generator
            assert others() == set()
        async with gate:
            for row in await gate.store.runs():
                assert row.state in ("cancelled", "completed")
                await check(gate, effects, row.run_id)

    run(work())


def test_a_stream_that_is_left_without_closing_it(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url) as gate:
            async for event in g.Agent(SlowModel(SCRIPT), gate).stream("x"):
                if isinstance(event, g.ToolCalled):
                    break
            for _ in range(400):
                await asyncio.sleep(0.001)
                (row,) = await gate.store.runs()
                if row.state == "cancelled" and not others():
                    break
            assert row.state == "cancelled"

    run(work())


def test_the_gateway_closes_under_a_running_agent(url: str) -> None:
    """Whoever closes the store under a run is told; nothing runs without its record."""
    effects = Effects()

    async def work() -> None:
        gate = g.Gateway(tools=toolbox(effects), store=url, policy=ALLOW_ALL)
        await gate.__aenter__()
        task = asyncio.create_task(g.Agent(SlowModel(SCRIPT), gate).run("x"))
        while "-r1" not in effects.log:
            await asyncio.sleep(0)
        await gate.aclose()
        with pytest.raises((g.StoreError, g.UsageError)):
            await task
        assert "+w1" not in effects.log
        assert "s1" not in effects.log

    run(work())
