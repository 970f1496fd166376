"""A clock that is turned back, and an outcome that comes back when the run is another's."""

import asyncio
from pathlib import Path

import pytest

import gerbang as g
from gerbang.testing import ManualClock, ScriptedModel
from tests.runtime.street import ALLOW_ALL, bodies, run


@pytest.mark.parametrize("taken", [False, True])
def test_a_machine_that_slept(tmp_path: Path, taken: bool) -> None:
    """Its monotonic clock stood still meanwhile, so its lease looks good. The last look asks the store."""
    began, awake = asyncio.Event(), asyncio.Event()
    effects: list[str] = []

    @g.tool(name="slow.v1", risk="write_internal", timeout_s=600)
    async def slow(context: g.CallContext) -> str:
        """Take its time before it sends anything."""
        began.set()
        await awake.wait()
        await context.confirm()
        effects.append("slow")
        return "done"

    async def work() -> None:
        address, clock = f"sqlite:{tmp_path / 's.db'}", ManualClock()
        async with (
            g.Gateway(tools=[slow], store=address, policy=ALLOW_ALL, clock=clock) as one,
            g.Gateway(tools=[slow], store=address, policy=ALLOW_ALL, clock=clock) as two,
        ):
            agent = g.Agent(ScriptedModel([[("slow.v1", {})], "Over."]), one)
            driving = asyncio.create_task(agent.run("Go.", run_id="run_1"))
            await began.wait()
            clock.set_back(-60)
            if taken:
                done = await g.Agent(ScriptedModel(["Over."]), two).resume("run_1")
                assert done.status == "completed"
            awake.set()
            assert (await driving).status == ("cancelled" if taken else "completed")
            (row,) = await two.store.calls("run_1")
            assert row.state == ("RESOLVED_FAILED" if taken else "SUCCEEDED")

    run(work())
    assert effects == ([] if taken else ["slow"])


@pytest.mark.parametrize("back_s", [0.0, 3600.0])
@pytest.mark.parametrize(
    ("fails", "state", "status"),
    [(False, "RESOLVED_SUCCEEDED", "success"), (True, "RESOLVED_FAILED", "error")],
)
def test_a_lease_and_what_comes_back_after_it(
    tmp_path: Path, back_s: float, fails: bool, state: str, status: str
) -> None:
    began, waiting = asyncio.Event(), asyncio.Event()
    effects: list[str] = []

    @g.tool(name="slow.v1", risk="write_internal")
    async def slow() -> str:
        """Take its time."""
        effects.append("slow")
        began.set()
        await waiting.wait()
        if fails:
            raise g.ToolError("It was full.", effect="none")
        return "done"

    async def work() -> None:
        address, clock = f"sqlite:{tmp_path / 's.db'}", ManualClock()
        async with (
            g.Gateway(tools=[slow], store=address, policy=ALLOW_ALL, clock=clock) as one,
            g.Gateway(tools=[slow], store=address, policy=ALLOW_ALL, clock=clock) as two,
        ):
            first = g.Agent(ScriptedModel([[("slow.v1", {})], "Over."]), one)
            other = g.Agent(ScriptedModel(["Over."]), two)
            driving = asyncio.create_task(first.run("Go.", run_id="run_1"))
            await began.wait()
            clock.set_back(back_s)
            with pytest.raises(g.UsageError, match="driven by another"):
                await other.resume("run_1")
            clock.advance(31 + back_s)
            done = await other.resume("run_1")
            (call,) = done.calls
            assert (done.status, call.error is not None and call.error.error_code) == (
                "completed",
                "EFFECT_UNKNOWN",
            )
            waiting.set()
            assert (await driving).status == "cancelled"  # it was not its own to end
            (row,) = await two.store.calls("run_1")
            assert (row.state, effects) == (state, ["slow"])
            records = await bodies(two.store, "run_1")
            kinds = [record["kind"] for record in records]
            assert kinds[-3:] == ["model.answered", "run.finished", "call.resolved"]
            assert kinds.count("call.lost") == 1
            assert "call.finished" not in kinds
            assert records[-1]["status"] == status

    run(work())
