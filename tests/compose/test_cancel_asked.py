"""A run that is asked to end at any point of its way: by the gateway that drives it, or by another one."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.testing import memory_store
from gerbang.values.record import RUN_SWITCH
from tests.compose.test_cancel import SCRIPT, TURNS, SlowModel, check, person
from tests.runtime.street import ALLOW_ALL, Effects, bodies, others, run, toolbox

BOSS = g.Principal("boss")


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("where", ["memory", "beside", "here", "elsewhere"])
def test_a_run_that_is_asked_to_end_at_any_point(turns: int, where: str, tmp_path: Path) -> None:
    effects = Effects()
    in_memory = where in ("memory", "beside")
    url: Any = memory_store() if in_memory else f"sqlite:{tmp_path / 's.db'}"

    async def work() -> None:
        driver = g.Gateway(tools=toolbox(effects), store=url, policy=ALLOW_ALL, approver=person)
        async with driver:
            asker = g.Gateway(store=url) if where in ("beside", "elsewhere") else driver
            async with asker if asker is not driver else asyncio.Lock():
                driving = asyncio.create_task(g.Agent(SlowModel(SCRIPT), driver).run("x", run_id="r"))
                for _ in range(turns):
                    await asyncio.sleep(0)
                asked: str | None = None
                try:
                    asked = (await asker.cancel_run("r", by=BOSS)).state
                except g.UsageError:  # its first record is still to come
                    assert where == "elsewhere" or turns == 0
                result = await driving
                assert others() == set()
                assert result.status == (asked or "completed")
                assert [one for one in await asker.store.kills() if one.target.startswith(RUN_SWITCH)] == []
            row = await driver.store.run("r")
            assert row is not None
            assert (row.state, row.answer) == (result.status, result.answer)
            records = await bodies(driver.store, "r")
            assert [one["status"] for one in records if one["kind"] == "run.finished"] == [row.state]
            await check(driver, effects, "r")

    run(work())
